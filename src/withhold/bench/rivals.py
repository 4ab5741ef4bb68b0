"""Other tools for the same audit: two probes, and the attacks of ART.

ART is the Adversarial Robustness Toolbox, an optional package. Its *baseline* attribute inference
attacks correspond to our informed attacker: they learn the attacked column from the other columns
of the table and query no model. They run with ART's own settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import numpy.typing as npt

from withhold.core.errors import UserError

FloatArray = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
# (x_train (n, d), codes_train (n,), x_test (m, d), seed) to a guess (m,) for each test record.
# Every code is a known class (none is -1), and there are two classes or more.
Rival = Callable[[FloatArray, Codes, FloatArray, int], Codes]

# The names ART gives to its models.
ART_MODELS = ("nn", "rf", "gb", "lr", "dt", "knn", "svm")


def logistic_probe(x_train: FloatArray, codes: Codes, x_test: FloatArray, seed: int) -> Codes:
    """Logistic regression on standardised features: the usual probe of a representation."""
    from sklearn.linear_model import LogisticRegression

    train, test = _standardised(x_train, x_test)
    model = LogisticRegression(max_iter=1000, random_state=seed)
    with _without_warnings():
        return np.asarray(model.fit(train, codes).predict(test), np.int64)


def one_mlp(x_train: FloatArray, codes: Codes, x_test: FloatArray, seed: int) -> Codes:
    """scikit-learn's multi-layer perceptron with its defaults, on standardised features."""
    from sklearn.neural_network import MLPClassifier

    train, test = _standardised(x_train, x_test)
    with _without_warnings():  # it warns that 200 epochs were too few; users go on
        return np.asarray(
            MLPClassifier(random_state=seed).fit(train, codes).predict(test), np.int64
        )


def art_baseline(
    model: str, x_train: FloatArray, codes: Codes, x_test: FloatArray, seed: int
) -> Codes:
    """ART's `AttributeInferenceBaseline` with one of `ART_MODELS`, on standardised features.

    ART needs a table that has the attacked attribute as a column: here the last, as an integer. Its
    forest, tree and neighbours learn one column per class. If they name no class, ART answers the
    first one; we leave that as it is.
    """
    try:
        from art.attacks.inference.attribute_inference.baseline import AttributeInferenceBaseline
    except ImportError as error:
        raise missing("adversarial-robustness-toolbox", f"rival 'ART {model}'") from error
    train, test = _standardised(x_train, x_test)
    table = np.column_stack([train, codes.astype(np.float32)])
    with _without_warnings(), _global_seed(seed):
        attack = AttributeInferenceBaseline(model, attack_feature=train.shape[1])
        attack.fit(table)
        return np.asarray(attack.infer(test), np.int64)


RIVALS: dict[str, Rival] = {
    "logistic probe": logistic_probe,
    "one MLP": one_mlp,
    **{f"ART {model}": partial(art_baseline, model) for model in ART_MODELS},
}


def missing(package: str, needed_by: str, *, extra: str = "bench") -> UserError:
    """The error for a package of an extra that is not installed."""
    return UserError(
        f"{needed_by} needs the package {package}: pip install"
        f' "withhold[{extra}]" -c constraints.txt'
    )


def _standardised(train: FloatArray, test: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both scaled by the mean and deviation of the first; a constant feature stays constant."""
    mean, deviation = train.mean(0, np.float64), train.std(0, np.float64)
    # A constant float32 column can have a deviation of a rounding error, which is no scale.
    deviation[deviation <= 1e-6 * np.abs(mean)] = 1.0
    first, second = (((x - mean) / deviation).astype(np.float32) for x in (train, test))
    return first, second


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore warnings about fits that did not converge and about deprecated calls in ART."""
    with warnings.catch_warnings():
        for category in (UserWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        yield


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seed the global generators, which ART's models draw from, and put them back afterwards."""
    import torch

    state = np.random.get_state()
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            np.random.seed(seed)
            yield
    finally:
        np.random.set_state(state)
