"""The certificate of a given release: exact counts, and attacks that must not beat it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.attribute import Attribute
from withhold.certificate.elimination import known_bound, leave_one_out, measured_rates
from withhold.certificate.given import ReleaseTally, release_claim
from withhold.certificate.release_file import AttributeClaims, ReleaseCertificate, ReleasedFile
from withhold.errors import UserError

IntArray = npt.NDArray[np.int64]


def attribute(name: str, codes: IntArray, classes: str = "abcdefgh") -> Attribute:
    return Attribute(name, "categorical", tuple(classes), codes)


def counts_of(s: IntArray, j: IntArray) -> npt.NDArray[np.float64]:
    table = np.zeros((int(s.max()) + 1, int(j.max()) + 1))
    np.add.at(table, (s, j), 1)
    return table


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 7))
def test_batches_and_class_lists_do_not_matter(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    s, j, u = rng.integers(0, 3, 60), rng.integers(0, 5, 60), rng.integers(0, 2, 60)
    s[:2] = [0, 1]
    whole = ReleaseTally(codes=5, suppress=["secret"], preserve=["kept"])
    whole.add(j, {"secret": attribute("secret", s), "kept": attribute("kept", u)})
    parts = ReleaseTally(codes=5, suppress=["secret"], preserve=["kept"])
    for rows in np.array_split(np.arange(60), size):
        # Each batch has a class list of its own, in another order.
        own = {"secret": attribute("secret", 7 - s[rows], "hgfedcba")}
        parts.add(j[rows], {**own, "kept": attribute("kept", u[rows])})
    one, two = whole.claims()["secret"], parts.claims()["secret"]
    assert (one.one, one.floor, one.records) == (two.one, two.floor, two.records)
    assert one.one == pytest.approx(counts_of(s, j).max(axis=0).sum() / 60)


def test_every_rule_from_codes_to_classes_is_within_the_bound() -> None:
    rng = np.random.default_rng(0)
    s, j = rng.integers(0, 3, 500), rng.integers(0, 4, 500)
    claim = release_claim(counts_of(s, j), floor=0.4)
    rules = np.stack(np.meshgrid(*[range(3)] * 4, indexing="ij")).reshape(4, -1).T
    best = max(float((rule[j] == s).mean()) for rule in rules)
    assert claim.one == pytest.approx(best)
    assert claim.one <= claim.linked["5"] <= claim.linked["20"] <= claim.linked["50"] <= 1
    assert claim.known["all-but-one"] == 1.0
    assert claim.measured["all-but-one"] <= 1.0


def test_exact_balance_is_the_floor() -> None:
    counts = np.tile([30.0, 50.0, 20.0], (2, 1))
    claim = release_claim(counts, floor=0.5)
    assert claim.one == 0.5
    assert claim.linked["50"] < 0.51


def test_the_bound_with_known_labels_is_above_every_attack_with_them() -> None:
    """Attackers who know the table, with half of the labels, over random sets of known rows."""
    rng = np.random.default_rng(1)
    s = np.repeat(np.arange(4), 100)
    j = np.tile(np.repeat(np.arange(20), 5), 4)  # hard balance: 5 of each class at each code
    table = counts_of(s, j)
    for share in (0.1, 0.5, 0.9):
        rates = []
        for _ in range(100):
            known = rng.permutation(400)[: round(share * 400)]
            left = np.setdiff1d(np.arange(400), known)
            guess = table - np.pad(counts_of(s[known], j[known]), _missing(table, s, j, known))
            rates.append((guess.argmax(axis=0)[j[left]] == s[left]).mean())
        assert np.mean(rates) <= known_bound(table, share) <= np.mean(rates) + 0.06


def _missing(table: npt.NDArray[np.float64], s: IntArray, j: IntArray, rows: IntArray) -> object:
    rest = (table.shape[0] - 1 - int(s[rows].max()), table.shape[1] - 1 - int(j[rows].max()))
    return ((0, rest[0]), (0, rest[1]))


def test_hard_balance_is_read_by_elimination_and_independent_draws_are_not() -> None:
    rng = np.random.default_rng(2)
    hard = np.full((2, 40), 5.0)
    assert leave_one_out(hard.astype(np.int64)) == 1.0  # the class that is one short
    s = rng.integers(0, 2, 8000)
    drawn = counts_of(s, rng.integers(0, 800, 8000)).astype(np.int64)
    assert leave_one_out(drawn) < 0.56  # rows of one code are guessed alike: 800 cases, not 8,000
    assert measured_rates(hard)["0.9"] > measured_rates(hard)["0.1"]


def test_rows_without_labels_are_counted_and_an_absent_attribute_has_a_reason() -> None:
    tally = ReleaseTally(codes=2, suppress=["secret", "mood"])
    tally.add(np.array([0, 1, 1]), {"secret": attribute("secret", np.array([0, 1, -1]))})
    claims = tally.claims()
    assert (claims["secret"].records, claims["secret"].missing) == (2, 1)
    assert set(claims) == {"secret"}
    assert "no labels of 'mood'" in tally.reasons["mood"]


def test_several_attributes_are_certified_together_too() -> None:
    s, t = np.arange(80) % 2, (np.arange(80) // 2) % 2
    tally = ReleaseTally(codes=4, suppress=["one", "two"])
    tally.add(2 * s + t, {"one": attribute("one", s), "two": attribute("two", t)})
    claims = tally.claims()
    assert list(claims) == ["one", "two", "one,two"]
    assert claims["one,two"].one == 1.0


def test_the_file_reads_back_and_refuses_what_is_damaged() -> None:
    claim = release_claim(np.full((2, 3), 10.0), floor=0.5)
    made = ReleaseCertificate(
        version="0", method="codebook", codes=3,
        release=ReleasedFile(name="r.parquet", sha256="0" * 64, records=60, columns=("x",)),
        attributes={"secret": AttributeClaims(release=claim)},
    )  # fmt: skip
    assert ReleaseCertificate.from_dict(made.to_dict()) == made
    text = made.to_dict()
    text["attributes"]["secret"]["release"]["one"] = 1.5
    with pytest.raises(UserError, match=r"attributes.secret.release.one"):
        ReleaseCertificate.from_dict(text)
    with pytest.raises(UserError, match="schema 1, and 2 is wanted here"):
        ReleaseCertificate.from_dict({"schema": 1})
