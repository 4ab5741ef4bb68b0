"""The floor: what the preserved labels alone give away."""

from __future__ import annotations

import numpy as np
import pytest

from audit.audited import audit
from withhold.audit.measure_attribute import floor
from withhold.audit.split import AttackParts
from withhold.records.attribute import Attribute
from withhold.records.dataset import Dataset


def parts(names) -> AttackParts:
    names = np.asarray(names)
    return AttackParts(*(np.flatnonzero(names == p) for p in ("train", "val", "test")), None)


def binary(name, codes) -> Attribute:
    return Attribute(name, "categorical", ("0", "1"), np.asarray(codes))


def test_a_preserved_label_gives_part_of_the_suppressed_away():
    """60 speakers of two genders: whoever keeps gender cannot hide the speaker below 2/60."""
    speaker = np.tile(np.arange(60), 50)
    columns = {"speaker": speaker, "gender": np.where(speaker < 12, "f", "m")}
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3000, 4)) + 6 * (speaker < 12)[:, None]
    data = Dataset.from_arrays(x, columns).with_split(stratify=["speaker"])
    found = audit(data, data, "speaker", "gender")
    speaker_found = found.attributes["speaker"]
    assert speaker_found.floor == pytest.approx(2 / 60, abs=0.004)
    assert speaker_found.majority == pytest.approx(1 / 60, abs=0.004)
    assert speaker_found.informed.ci[0] <= speaker_found.floor <= speaker_found.informed.ci[1]
    assert found.attributes["gender"].floor == found.attributes["gender"].majority
    assert speaker_found.status != "readable"
    assert found.feasibility.floor["speaker"] == pytest.approx(2 / 60, abs=1e-6)


def test_the_floor_is_fitted_on_train_and_measured_on_test():
    """Labels of train that contradict those of test lead the table astray: then nobody uses it."""
    names = np.array(["train"] * 40 + ["test"] * 40)
    useful = np.tile([0, 1], 40)
    secret = np.where(names == "train", useful, 1 - useful)
    one, two = (
        Attribute(n, "categorical", ("0", "1"), c) for n, c in (("s", secret), ("u", useful))
    )
    assert floor(one, [two], parts(names)) == 0.5
    assert floor(one, [], parts(names)) == 0.5
    alike = Attribute("s", "categorical", ("0", "1"), useful)
    assert floor(alike, [two], parts(names)) == 1.0


def test_floor_with_missing_labels_and_unseen_combinations():
    names = ["train"] * 6 + ["val"] + ["test"] * 5
    #          train               val  test
    secret = ["a", "a", "b", "b", "b", None, "b", "a", "b", "b", None, "b"]
    useful = [0, 0, 1, 1, None, 1, None, 0, 1, 2, 0, None]
    data = Dataset.from_arrays(np.zeros((12, 1)), {"secret": secret, "useful": useful})
    # 0 says a; 1 says b; missing says b; the unseen 2 says the commonest, b. All four are right.
    assert floor(data.attribute("secret"), [data.attribute("useful")], parts(names)) == 1.0


def test_two_preserved_labels_tell_more_than_each():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 2000))
    names = np.array(["train", "val", "test"])[np.arange(2000) % 3]
    secret, one, two = binary("s", a ^ b), binary("a", a), binary("b", b)
    assert floor(secret, [one], parts(names)) == pytest.approx(0.5, abs=0.05)
    assert floor(secret, [one, two], parts(names)) == 1.0


def test_of_several_labels_the_floor_is_the_majority():
    several = Attribute("t", "multilabel", ("x", "y"), np.tile([[1, 0], [1, 1], [1, 0]], (20, 1)))
    names = np.array(["train", "val", "test"])[np.arange(60) // 3 % 3]
    side = binary("o", np.arange(60) % 2)
    assert floor(several, [side], parts(names)) == pytest.approx((1 + 2 / 3) / 2)
