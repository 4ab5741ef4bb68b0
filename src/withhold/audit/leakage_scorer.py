"""A quick estimate of what a release reveals, as a scorer for scikit-learn's searches."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metadata_routing import MetadataRequest

from withhold.core.errors import UserError
from withhold.records.arrays import to_matrix
from withhold.records.dataset import Dataset

Rows = npt.NDArray[np.int64]
_LEAST = 20


def leakage_scorer(attribute: str | None = None, *, seed: int = 0) -> LeakageScorer:
    """A scorer of how little a release reveals of `attribute`: 0 is best, -0.3 is a large leak.

    Use it in `GridSearchCV`, `cross_validate` and the like, with a `Suppressor` or a `Pipeline`
    that contains one. The labels come from the `attributes` that metadata routing passes; without
    a name they come from `y`.

    Notes
    -----
    The score of a fold is -max(0, a - m). The released fold is cut into halves; two small attackers
    (logistic regression, a forest) learn one half and predict the other, both ways. a is the
    accuracy of the better attacker, m that of always naming the commonest class.

    This is an estimate for choosing settings, not an audit. Its attackers are weak, see one fold,
    and ignore people, other columns and linked records. A score of 0 does not mean that nothing
    leaks. Run `withhold.audit` on the release with the chosen settings.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from withhold import Suppressor, leakage_scorer
    >>> from withhold.datasets.worlds import two_attributes
    >>> world = two_attributes(400, 8, separation_suppress=2.0, separation_preserve=2.0, seed=0)
    >>> frame = world.attributes.to_pandas().drop(columns="split")
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     noisy = Suppressor("secret", method="noise").set_fit_request(attributes=True)
    ...     search = GridSearchCV(noisy, {"sigma": [0.1, 30]}, scoring=leakage_scorer("secret"))
    ...     search.fit(world.x, attributes=frame).best_params_
    {'sigma': 30}
    """
    return LeakageScorer(attribute, seed)


class LeakageScorer:
    """The result of `leakage_scorer`: call it with a fitted estimator, features and labels."""

    def __init__(self, attribute: str | None = None, seed: int = 0) -> None:
        self.attribute, self.seed = attribute, seed

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, attributes: Any = None) -> float:
        """The score of one fold."""
        released = to_matrix(_released(estimator, X), "released features")
        codes = self._codes(released, y, attributes)
        known = np.flatnonzero(codes >= 0)
        if len(known) < _LEAST or len(np.unique(codes[known])) < 2:
            raise UserError(
                f"a fold has {len(known):,} labels of '{self.attribute or 'y'}' in"
                f" {len(np.unique(codes[known]))} classes; a leakage score needs {_LEAST:,} in two"
                " or more: use fewer folds, or more records"
            )
        return -max(0.0, _excess(released[known], codes[known], self.seed))

    def __repr__(self) -> str:
        return f"leakage_scorer({self.attribute!r}, seed={self.seed})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Request `attributes`, which contain the labels."""
        request = MetadataRequest(owner=self)
        if self.attribute is not None:
            request.score.add_request(param="attributes", alias=True)
        return request

    def _codes(self, x: npt.NDArray[np.float32], y: Any, attributes: Any) -> Rows:
        if self.attribute is None:
            if y is None:
                raise UserError("name an attribute, leakage_scorer('gender'), or pass y")
            name, labels = "y", {"y": np.asarray(y)}
        elif attributes is None:
            raise UserError(
                f"the labels of '{self.attribute}' were not passed to the scorer, and y is not"
                " used instead: call sklearn.set_config(enable_metadata_routing=True) and pass"
                " attributes=frame (in params= of cross_validate, or to the fit of a search)"
            )
        else:
            frame = attributes.to_frame() if hasattr(attributes, "to_frame") else attributes
            name, labels = self.attribute, frame
        found = Dataset.from_arrays(x, labels, name="the attributes").attribute(name)
        if found.multilabel:
            raise UserError(f"'{name}' has several labels per record; score one of them at a time")
        return found.codes


def _released(estimator: Any, X: Any) -> Any:
    """The output of the suppressor, which may be in the middle of a pipeline."""
    if isinstance(estimator, Pipeline):
        places = [i for i, (_, step) in enumerate(estimator.steps) if hasattr(step, "bundle_")]
        if places:
            return estimator[: places[-1] + 1].transform(X)
    if not hasattr(estimator, "transform"):
        raise UserError(
            f"{type(estimator).__name__} has no transform and no Suppressor in it, so it makes no"
            " release that could be scored"
        )
    return estimator.transform(X)


def _excess(x: npt.NDArray[np.float32], codes: Rows, seed: int) -> float:
    """Accuracy of the better attacker minus that of naming the commonest class."""
    rng = np.random.default_rng([seed, 0x1EA7])
    # Take every other record of each class, in random order, so that both halves have all classes.
    first = np.zeros(len(codes), bool)
    first[np.lexsort((rng.random(len(codes)), codes))[::2]] = True
    attackers = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
        ExtraTreesClassifier(100, min_samples_leaf=3, random_state=seed),
    ]
    best = max(_right(a, x, codes, first) + _right(a, x, codes, ~first) for a in attackers)
    return float(best / len(codes) - np.bincount(codes).max() / len(codes))


def _right(attacker: Any, x: npt.NDArray[np.float32], codes: Rows, learn: Any) -> int:
    if len(np.unique(codes[learn])) < 2:
        return int((codes[~learn] == codes[learn][0]).sum())
    return int((attacker.fit(x[learn], codes[learn]).predict(x[~learn]) == codes[~learn]).sum())
