"""The front door: a scikit-learn transformer over every method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from withhold.bundle import Bundle, load_bundle, save_bundle
from withhold.dataset import Dataset
from withhold.errors import UserError, listing
from withhold.fitting import fit_bundle
from withhold.methods import Journal
from withhold.progress import Progress
from withhold.roles import Roles
from withhold.splits import assign_parts


class _DatasetFirst:
    """A Dataset gives a Dataset; everything else goes to scikit-learn's way.

    Apart from the class below because scikit-learn wraps a `transform` that it finds beside its
    mixin, to make frames of whatever comes out (`set_output`).
    """

    def transform(self: Any, X: Any) -> Any:
        """The release: of a Dataset a Dataset (without suppressed labels), of an array an array."""
        if isinstance(X, Dataset):
            check_is_fitted(self, "bundle_")
            return self.bundle_.release(X)
        return super().transform(X)  # type: ignore[misc]

    def fit_transform(self: Any, X: Any, y: Any = None, *, attributes: Any = None) -> Any:
        """fit, then transform."""
        return self.fit(X, y, attributes=attributes).transform(X)


class _ArrayTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def transform(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self, "bundle_")
        x = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        released: npt.NDArray[Any] = self.bundle_.modifier.transform(_single(x)).astype(x.dtype)
        return released


class Suppressor(_DatasetFirst, _ArrayTransformer):
    """Learn a modifier that hides some attributes and keeps the others.

    Parameters
    ----------
    suppress : names of the attributes to hide. May be left out where `fit` is given `y`, which is
        then what is hidden.
    preserve : names of the attributes to keep, if known.
    method : `codebook`, whose release has a certificate; `mass`, `mass-it`, `pass`, as published;
        or a baseline: `identity`, `constant`, `noise`, `random-substitute`, `leace`.
    config : the method's settings, as a mapping (`{"preset": "audiomnist", "epochs": 30}`).
    seed : decides every draw.
    progress : where to say how far it is, e.g. `withhold.progress.Lines()`; silent by default.
    checkpoints : a folder to resume an interrupted fit from.

    Examples
    --------
    >>> from withhold import Dataset, Suppressor
    >>> from withhold.data.worlds import two_attributes
    >>> world = two_attributes(400, 8, separation_suppress=2.0, separation_preserve=2.0, seed=0)
    >>> data = Dataset.from_arrays(world.x, world.attributes)
    >>> s = Suppressor(suppress=["secret"], preserve=["useful"], method="noise")
    >>> s.fit(data).transform(data).x.shape
    (400, 8)
    """

    def __init__(
        self,
        suppress: Sequence[str] | str | None = None,
        preserve: Sequence[str] | str | None = None,
        method: str = "codebook",
        config: dict[str, Any] | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        checkpoints: str | Path | None = None,
    ) -> None:
        self.suppress = suppress
        self.preserve = preserve
        self.method = method
        self.config = config
        self.seed = seed
        self.progress = progress
        self.checkpoints = checkpoints

    def fit(self, X: Any, y: Any = None, *, attributes: Any = None) -> Suppressor:
        """Fit on a Dataset, or on features X: (n, d) with a frame of attributes.

        Of a Dataset only the training part is used (a split is drawn where it has none); of arrays
        and frames everything is, as scikit-learn's users expect, unless the attributes have a
        column `split`. Without attributes, `y` is what is suppressed; beside them it is left to
        the later steps of a Pipeline.
        """
        if isinstance(X, Dataset):
            if y is not None or attributes is not None:
                raise UserError("a Dataset has its attributes with it; pass no y, no attributes")
            dataset, roles = X, self._roles(None)
            self.n_features_in_ = X.dimension
            if hasattr(self, "feature_names_in_"):  # of an earlier fit on a frame
                del self.feature_names_in_
        else:
            dataset, roles = self._from_arrays(X, y, attributes)
        folder = None if self.checkpoints is None else Path(self.checkpoints)
        self.bundle_: Bundle = fit_bundle(
            dataset,
            roles,
            method=self.method,
            config=self.config,
            seed=self.seed,
            progress=self.progress,
            journal=Journal(folder),
        )
        return self

    def save(self, folder: str | Path) -> None:
        """Write the bundle."""
        check_is_fitted(self, "bundle_")
        save_bundle(self.bundle_, folder)

    @classmethod
    def load(cls, folder: str | Path) -> Suppressor:
        """A fitted suppressor from a bundle."""
        bundle = load_bundle(folder)
        made = cls(
            list(bundle.roles.suppress),
            list(bundle.roles.preserve),
            bundle.method,
            bundle.config,
            bundle.seed,
        )
        made.bundle_ = bundle
        made.n_features_in_ = bundle.modifier.dimension
        return made

    def _roles(self, default: str | None) -> Roles:
        suppress = self.suppress if self.suppress is not None else default
        if suppress is None:
            raise UserError("no attribute to suppress; name one or more: Suppressor(suppress=[…])")
        return Roles.of(suppress, self.preserve or ())

    def _from_arrays(self, X: Any, y: Any, attributes: Any) -> tuple[Dataset, Roles]:
        if attributes is None and y is None:
            raise UserError(
                "requires y to be passed, but the target y is None: pass attributes=frame with a"
                " column for each name in suppress and preserve, or y, which is then suppressed"
            )
        # A single record cannot teach anything about a class.
        x = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        roles = self._roles("y" if attributes is None else None)
        if attributes is None:
            if len(roles.named) > 1:
                raise UserError(
                    f"y is one attribute, and {listing(roles.named)} are named: pass"
                    " attributes=frame with a column for each"
                )
            attributes = {roles.suppress[0]: _labels(y, len(x))}
        elif hasattr(attributes, "to_frame"):  # a pandas or polars series
            attributes = attributes.to_frame()
        dataset = Dataset.from_arrays(_single(x), attributes)
        if dataset.parts is None:
            everything = assign_parts(len(dataset), fractions=(1.0, 0.0, 0.0))
            dataset = dataset.with_column("split", pa.array(everything.tolist()))
        return dataset, roles

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _single(x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """As float32, which everything here works in; refuses what does not fit."""
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    if not np.isfinite(single).all():
        raise UserError("X has values beyond 3.4e38, which float32 cannot hold; rescale it")
    return single


def _labels(y: Any, n: int) -> npt.NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(labels) != n:
        raise UserError(f"y has {len(labels):,} records, X has {n:,}")
    return labels
