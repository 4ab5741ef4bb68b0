"""LEACE: no linear probe sees anything, and what is not linear stays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import PolynomialFeatures

from support import codes, mixed, of_world
from withhold.actions.fit import fit_bundle
from withhold.core.errors import UserError
from withhold.datasets.worlds import full_leak, many_classes, two_attributes, xor
from withhold.methods.modifier import Modifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


def erase(data: Dataset, *names: str) -> Modifier:
    return fit_bundle(data, Roles.of(names), method="leace").modifier


def probe(data: Dataset, modifier: Modifier | None, name: str, *, degree: int = 1) -> float:
    """Accuracy of a linear probe on the records it was fitted on; of a curved one on new ones."""
    scored = data.part("train" if degree == 1 else "test")
    terms = PolynomialFeatures(degree, include_bias=False)
    model = LogisticRegression(max_iter=2000, C=1e3)
    model.fit(*_records(data.part("train"), modifier, name, terms))
    return float(model.score(*_records(scored, modifier, name, terms)))


def _records(
    data: Dataset, modifier: Modifier | None, name: str, terms: PolynomialFeatures
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    known = codes(data, name) >= 0
    x = data.x[known] if modifier is None else modifier.transform(data.x[known])
    return terms.fit_transform(x), codes(data, name)[known]


def test_a_linear_probe_is_at_majority() -> None:
    data = of_world(two_attributes(1000, 8, separation_suppress=2, separation_preserve=2, seed=0))
    modifier = erase(data, "secret")
    assert probe(data, None, "secret") > 0.95
    assert probe(data, modifier, "secret") <= data.part("train").attribute("secret").majority + 0.01
    assert probe(data, modifier, "useful") > 0.95


def test_the_theorem_class_means_coincide() -> None:
    """Linearly guarded where every class has the mean of the whole (Belrose et al., Thm 3.1)."""
    data = of_world(many_classes(900, 12, 5, separation=3, seed=1))
    train = data.part("train")
    x = erase(data, "label").transform(train.x).astype(np.float64)
    means = np.stack([x[codes(train, "label") == c].mean(axis=0) for c in range(5)])
    before = np.stack([train.x[codes(train, "label") == c].mean(axis=0) for c in range(5)])
    assert before.std(axis=0).max() > 0.5
    np.testing.assert_allclose(means, np.broadcast_to(x.mean(axis=0), means.shape), atol=1e-5)


def test_the_order_of_the_classes_does_not_matter() -> None:
    """A class id read as one number would erase one direction only."""
    data = of_world(full_leak(600, 8, 4, seed=2))
    turned = {"0": "2", "1": "0", "2": "3", "3": "1"}
    labels = [turned[v] for v in data.table["label"].to_pylist()]
    other = Dataset.from_arrays(data.x, {"label": labels, "split": data.table["split"]})
    np.testing.assert_allclose(
        erase(data, "label").transform(data.x), erase(other, "label").transform(data.x), atol=1e-4
    )
    assert probe(data, erase(data, "label"), "label") < 0.3


def test_several_attributes_are_erased_at_once() -> None:
    data = mixed(600)
    modifier = erase(data, "secret", "colour", "tags")
    for name in ("secret", "colour"):
        # records without every label took no part, so the means coincide only nearly
        majority = data.part("train").attribute(name).majority
        assert probe(data, None, name) > majority + 0.3
        assert probe(data, modifier, name) <= majority + 0.06


def test_what_is_not_linear_stays() -> None:
    """Only the little that the two classes' means differ by in a sample is taken out."""
    data = of_world(xor(1500, 8, separation=2, seed=0))
    modifier = erase(data, "label")
    assert probe(data, modifier, "label") < 0.51
    assert probe(data, None, "label", degree=2) > 0.9
    assert probe(data, modifier, "label", degree=2) > 0.9


def test_erasing_twice_is_erasing_once() -> None:
    data = of_world(full_leak(600, 8, 4, seed=2))
    modifier = erase(data, "label")
    once = modifier.transform(data.x)
    np.testing.assert_allclose(modifier.transform(once), once, atol=1e-4)


def test_no_record_with_every_label_is_refused() -> None:
    data = mixed()
    half = np.arange(len(data)) % 2 == 0
    one = [None if h else v for h, v in zip(half, "aabb" * 40, strict=True)]
    two = [v if h else None for h, v in zip(half, "aabb" * 40, strict=True)]
    blank = Dataset.from_arrays(data.x, {"one": one, "two": two})
    with pytest.raises(UserError, match="no training record has a label for every suppressed"):
        erase(blank, "one", "two")
