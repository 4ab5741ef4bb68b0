"""The scikit-learn interface: one transformer for every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle, load_bundle, save_bundle
from withhold.core.errors import UserError, listing
from withhold.core.progress import Progress
from withhold.methods import FeatureModifier, Journal, require_kind
from withhold.methods.settings_by_name import flat_settings, with_settings
from withhold.records.arrays import as_pixels, from_tensor, is_tensor, like, like_pixels
from withhold.records.dataset import Dataset
from withhold.records.readers import Samples
from withhold.records.roles import Roles
from withhold.records.samples import Clip
from withhold.records.splits import assign_parts


class _DatasetFirst:
    """Handles Datasets; arrays and frames go to scikit-learn's own code.

    It is separate from the class below because scikit-learn wraps a `transform` that is defined in
    the same class as its mixin, to turn the output into frames (`set_output`).
    """

    def transform(self: Any, X: Any, *, to: Mapping[str, str] | None = None) -> Any:
        """The release, of the same type as X: a Dataset (without suppressed labels), an array, or
        a tensor on the same device. Images are bytes (n, h, w, 3).

        `to` chooses the new class of an attribute that `replace` replaces: {"gender": "female"}.
        """
        if isinstance(X, Dataset):
            check_is_fitted(self, "bundle_")
            return self.bundle_.release(X, to=to)
        _refuse_path(X)
        pixels = as_pixels(X)
        if pixels is not None:
            return like_pixels(X, self._modified(pixels, to))
        if is_tensor(X):
            return like(X, self._transformed(from_tensor(X), to))
        return super().transform(X, to=to)  # type: ignore[misc]

    def fit_transform(self: Any, X: Any, y: Any = None, *, attributes: Any = None) -> Any:
        """Fit, then transform."""
        return self.fit(X, y, attributes=attributes).transform(X)


class _ArrayTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    def transform(self, X: Any, *, to: Mapping[str, str] | None = None) -> npt.NDArray[Any]:
        return self._transformed(X, to)

    def _transformed(self, X: Any, to: Mapping[str, str] | None) -> npt.NDArray[Any]:
        check_is_fitted(self, "bundle_")
        x = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        require_kind(self.bundle_.method, "features", "X")
        modifier = self.bundle_.directed(to).modifier
        released: npt.NDArray[Any] = modifier.transform(_single(x)).astype(x.dtype)
        return released

    def _modified(
        self, pixels: npt.NDArray[np.uint8], to: Mapping[str, str] | None
    ) -> npt.NDArray[np.uint8]:
        """Images (n, h, w, 3) or clips (n, t, h, w, 3), modified."""
        check_is_fitted(self, "bundle_")
        samples = Samples.of_pixels(pixels, pa.table({}))
        require_kind(self.bundle_.method, samples.kind, "X")
        made = self.bundle_.directed(to).modifier.transform(samples.samples)
        return np.stack([s.frames if isinstance(s, Clip) else s.pixels for s in made])


class Suppressor(_DatasetFirst, _ArrayTransformer):
    """Learn a modifier that hides some attributes and keeps the others.

    Parameters
    ----------
    suppress : names of the attributes to suppress. `fit` then needs `attributes` with these
        columns. If it is not set, `fit` suppresses `y`.
    preserve : names of the attributes to keep, if known.
    method : `codebook` or `pass`, which have a certificate; `mass` or `mass-it`, as published;
        or a baseline: `identity`, `constant`, `noise`,
        `random-substitute`, `leace`. For images: `gap` and `replace`; for clips:
        `adversarial`, `spact`, `meta` and `noisy-features`; for images and clips: `blur`,
        `downsample`, `blacken`, `pixelate`; for sounds: `white-noise`, `mask`, `mcadams`.
    config : the method's settings, as a mapping (`{"preset": "audiomnist", "epochs": 30}`). They
        are also parameters by name for `set_params` and a grid search (`suppressor__epochs`).
    seed : the seed of all random choices of the training.
    key : the secret key of the draws and signatures: the path of a file with 32 bytes or 64
        hexadecimal digits, or 32 bytes. By default it is random, so two fits differ in their draws.
        Prefer a file: the `repr` of an estimator shows its parameters.
    progress : where to report progress, e.g. `withhold.core.progress.Lines()`; silent by default.
    checkpoints : a folder from which an interrupted fit resumes.

    Examples
    --------
    >>> from withhold import Dataset, Suppressor
    >>> from withhold.datasets.worlds import two_attributes
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
        key: bytes | str | Path | None = None,
    ) -> None:
        self.suppress = suppress
        self.preserve = preserve
        self.method = method
        self.config = config
        self.seed = seed
        self.progress = progress
        self.checkpoints = checkpoints
        self.key = key

    def fit(self, X: Any, y: Any = None, *, attributes: Any = None) -> Suppressor:
        """Fit on a Dataset, or on features X: (n, d) with a frame of attributes.

        A fit on a Dataset uses only its training part; if it has no split, one is drawn. A fit on
        arrays or frames uses all records, as users of scikit-learn expect, unless the attributes
        have a column `split`.

        The attributes that `suppress` names must be in `attributes`. `y` is for the later steps of
        a Pipeline and is never used in their place. In a Pipeline, route the attributes:
        `sklearn.set_config(enable_metadata_routing=True)`, then
        `Suppressor(…).set_fit_request(attributes=True)` and `pipeline.fit(X, y, attributes=frame)`.
        `y` is suppressed only if `suppress` is not set.
        """
        _refuse_path(X)
        if isinstance(X, Dataset):
            if y is not None or attributes is not None:
                raise UserError("a Dataset already has its attributes; do not pass y or attributes")
            dataset, roles = X, self._roles(None)
            if X.media is None:
                self.n_features_in_ = X.dimension
            if hasattr(self, "feature_names_in_"):  # left by an earlier fit on a frame
                del self.feature_names_in_
        else:
            dataset, roles = self._from_arrays(X, y, attributes)
        folder = None if self.checkpoints is None else Path(self.checkpoints)
        journal = Journal(folder)
        self.bundle_: Bundle = fit_bundle(
            dataset,
            roles,
            method=self.method,
            config=self.config,
            seed=self.seed,
            key=self.key,
            progress=self.progress,
            journal=journal,
        )
        journal.forget_key()
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` the settings of the method, such as `codes=64`."""
        own: dict[str, Any] = super().get_params(deep=deep)
        return {**flat_settings(self.method, self.config), **own} if deep else own

    def set_params(self, **params: Any) -> Suppressor:
        """Set parameters, and settings of the method by name: `set_params(codes=64)`.

        Settings go into `config`. Nested settings are written as `contrastive__epochs=30`. A grid
        search can vary them: `GridSearchCV(pipeline, {"suppressor__codes": [16, 64]})`.
        """
        names = self._get_param_names()
        own = {name: value for name, value in params.items() if name in names}
        super().set_params(**own)
        settings = {name: value for name, value in params.items() if name not in own}
        if settings:
            self.config = with_settings(self.method, self.config, settings, others=names)
        return self

    def save(self, folder: str | Path) -> None:
        """Write the bundle."""
        check_is_fitted(self, "bundle_")
        save_bundle(self.bundle_, folder)

    @classmethod
    def load(cls, folder: str | Path, *, key: bytes | str | Path | None = None) -> Suppressor:
        """A fitted suppressor from a bundle. With `key`, a bundle with another key is refused.

        `folder` may also be the name OWNER/NAME of a bundle in the local cache of the Hugging Face
        hub. Nothing is downloaded.
        """
        bundle = load_bundle(folder, key=key)
        made = cls(
            list(bundle.roles.suppress),
            list(bundle.roles.preserve),
            bundle.method,
            bundle.config,
            bundle.seed,
            key=key,
        )
        made.bundle_ = bundle
        if isinstance(bundle.modifier, FeatureModifier):
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
                " column for each name in suppress and preserve, or pass y and leave suppress"
                " unset to suppress y itself"
            )
        if attributes is None and (self.suppress is not None or self.preserve):
            named = self._roles("y").named
            raise UserError(
                f"the labels of {listing(named)} were not passed, and y is not used in their place:"
                " call fit(X, y, attributes=frame) with a column for each; in a Pipeline, call"
                " sklearn.set_config(enable_metadata_routing=True), use"
                " Suppressor(…).set_fit_request(attributes=True), and pass attributes=frame to the"
                " fit of the Pipeline. To suppress y itself, do not set suppress"
            )
        x: Any = as_pixels(X)
        if x is None:
            if is_tensor(X):
                X = from_tensor(X)
            # Nothing can be learned about a class from a single record.
            x = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
            x = _single(x)
        roles = self._roles("y" if attributes is None else None)
        if attributes is None:
            attributes = {roles.suppress[0]: _labels(y, len(x))}
        elif hasattr(attributes, "to_frame"):  # a pandas or polars series
            attributes = attributes.to_frame()
        return _all_train(Dataset.from_arrays(x, attributes)), roles

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.suppress is None
        tags.non_deterministic = self.key is None  # a random key gives other draws in every fit
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _refuse_path(X: Any) -> None:
    if isinstance(X, str | Path):
        raise UserError(f"read the data first: withhold.Dataset.read('{X}')")


def _all_train(dataset: Dataset) -> Dataset:
    """The dataset with every record in the training part, unless it has a split."""
    if dataset.parts is not None:
        return dataset
    everything = assign_parts(len(dataset), fractions=(1.0, 0.0, 0.0))
    return dataset.with_column("split", pa.array(everything.tolist()))


def _single(x: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """X as float32, which all methods use. Values that do not fit are refused."""
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
