"""The certificate of a given release: exact counts, and attacks that must not beat it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from withhold.certificate.elimination_bound import known_bound, leave_one_out, measured_rates
from withhold.certificate.given_release import ReleaseTally, release_claim
from withhold.certificate.release_file import AttributeClaims, ReleaseCertificate, ReleasedFile
from withhold.core.errors import UserError
from withhold.records.attribute import Attribute, encode

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
    whole = ReleaseTally(suppress=["secret"], preserve=["kept"])
    whole.add(j, {"secret": attribute("secret", s), "kept": attribute("kept", u)})
    parts = ReleaseTally(suppress=["secret"], preserve=["kept"])
    for rows in np.array_split(np.arange(60), size):
        # Each batch has a class list of its own, in another order.
        own = {"secret": attribute("secret", 7 - s[rows], "hgfedcba")}
        parts.add(j[rows], {**own, "kept": attribute("kept", u[rows])})
    one, two = whole.claims()["secret"], parts.claims()["secret"]
    assert (one.one, one.floor, one.records) == (two.one, two.floor, two.records)
    assert one.one == pytest.approx(counts_of(s, 2 * j + u).max(axis=0).sum() / 60)


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
        # The bound is exact here, so the mean of 100 attacks is as often above it as below.
        error = 4 * np.std(rates) / 10
        assert error < 0.03
        assert known_bound(table, 400 - round(share * 400)) == pytest.approx(
            np.mean(rates), abs=error
        )


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
    tally = ReleaseTally(suppress=["secret", "mood"])
    tally.add(np.array([0, 1, 1]), {"secret": attribute("secret", np.array([0, 1, -1]))})
    claims = tally.claims()
    assert (claims["secret"].records, claims["secret"].missing) == (2, 1)
    assert set(claims) == {"secret"}
    assert "no labels of 'mood'" in tally.reasons["mood"]


def test_several_attributes_are_certified_together_too() -> None:
    s, t = np.arange(80) % 2, (np.arange(80) // 2) % 2
    tally = ReleaseTally(suppress=["one", "two"])
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


def test_lists_of_tags_are_counted_alike_in_any_batches() -> None:
    """A tag that a batch does not have is 0 for its rows, and not unknown."""
    rng = np.random.default_rng(5)
    drawn = rng.integers(0, 4, 600)
    tags = [["a"] if rng.random() < 0.5 else [] for _ in range(600)]
    for i in range(400, 600):
        tags[i] += ["rare"] if rng.random() < 0.5 else []

    def claims(size: int) -> dict[str, object]:
        tally = ReleaseTally(suppress=["tags"])
        for start in range(0, 600, size):
            column = pa.array(tags[start : start + size], pa.list_(pa.string()))
            tally.add(drawn[start : start + size], {"tags": encode("tags", column, "here")})
        return {n: c.model_dump() for n, c in tally.claims().items()}

    whole = claims(600)
    assert whole == claims(200) == claims(100)
    rare = sum("rare" in t for t in tags) / 600
    assert whole["tags.rare"]["floor"] == pytest.approx(1 - rare)  # type: ignore[index]
    assert whole["tags.rare"]["one"] >= 1 - rare  # type: ignore[index]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32))
def test_one_is_never_below_the_floor(seed: int) -> None:
    """The attacker knows the preserved labels: what they tell alone is never above the bound."""
    rng = np.random.default_rng(seed)
    s = rng.integers(0, 6, 300)
    told = np.where(rng.random(300) < 0.7, s // 2, rng.integers(0, 3, 300))
    tally = ReleaseTally(suppress=["secret"], preserve=["accent"])
    labels = {"secret": attribute("secret", s), "accent": attribute("accent", told)}
    tally.add(rng.integers(0, 3, 300), labels)
    claim = tally.claims()["secret"]
    assert claim.one >= claim.floor
    assert min(claim.known.values()) >= claim.one


def test_rows_of_one_person_are_counted_where_people_are_named() -> None:
    """Every person has codes of its own, and many share a class: 20 rows name the person."""
    rng = np.random.default_rng(7)
    person = np.repeat(np.arange(40), 40)
    s = person % 2
    habits = rng.dirichlet(np.full(16, 0.5), 40)
    drawn = np.array([rng.choice(16, p=habits[p]) for p in person])
    labels = {"secret": attribute("secret", s)}
    plain, named = (ReleaseTally(suppress=["secret"]) for _ in range(2))
    plain.add(drawn, labels)
    named.add(drawn, labels, [f"p{p}" for p in person])
    one, two = plain.claims()["secret"], named.claims()["secret"]
    assert one.one == two.one
    assert two.linked["20"] > one.linked["20"]
    right = []
    table = np.zeros((40, 16))
    np.add.at(table, (person, drawn), 1)
    for _ in range(400):  # the attacker knows every person's codes, and is shown 20 rows of one
        p = rng.integers(40)
        shown = rng.permutation(drawn[person == p])[:20]
        log_p = np.log(np.maximum(table[:, shown], 1e-9)).sum(axis=1)
        weight = np.exp(log_p - log_p.max())
        right.append(int(weight[1::2].sum() > weight[::2].sum()) == s[person == p][0])
    assert np.mean(right) <= two.linked["20"] + 0.03


def labels(name: str, codes: IntArray, classes: tuple[str, ...]) -> Attribute:
    return Attribute(name, "multilabel", classes, codes)


def test_preserved_labels_of_several_kinds_are_known_to_the_attacker() -> None:
    """A one-hot accent tells as much as the accent itself."""
    rng = np.random.default_rng(0)
    s, j = rng.integers(0, 6, 600), rng.integers(0, 4, 600)
    accent = s // 2
    hot = (accent[:, None] == np.arange(3)).astype(np.int64)
    claims = []
    for kept in (attribute("accent", accent), labels("accent", hot, ("a0", "a1", "a2"))):
        tally = ReleaseTally(suppress=["who"], preserve=["accent"])
        for rows in np.array_split(np.arange(600), 3):
            tally.add(j[rows], {"who": attribute("who", s[rows]), "accent": kept.rows(rows)})
        claims.append(tally.claims()["who"])
        assert not tally.unknown
    assert claims[0].floor == claims[1].floor > 0.5
    assert claims[0].one == claims[1].one > 0.5


def test_preserved_labels_that_are_absent_are_named() -> None:
    tally = ReleaseTally(suppress=["who"], preserve=["accent"])
    tally.add(np.array([0, 1, 0]), {"who": attribute("who", np.array([0, 1, 1]))})
    assert tally.unknown == {"accent"}


@pytest.mark.slow
def test_people_are_counted_for_each_label_too() -> None:
    """Every person has a code of its own: 20 rows of one say who it is, and so the label."""
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(30), 40)
    has = rng.permutation(np.arange(30) % 2)[person]
    drawn = np.where(rng.random(1200) < 0.5, person, rng.integers(0, 30, 1200))
    hot = np.stack([has, 1 - has], axis=1)
    tally = ReleaseTally(suppress=["tags"])
    for rows in np.array_split(np.arange(1200), 4):
        part = {"tags": labels("tags", hot[rows], ("a", "b"))}
        tally.add(drawn[rows], part, [str(p) for p in person[rows]])
    alone = ReleaseTally(suppress=["tag"])
    alone.add(drawn, {"tag": attribute("tag", has)}, [str(p) for p in person])
    found, expected = tally.claims()["tags.a"].linked, alone.claims()["tag"].linked
    assert found["20"] == pytest.approx(expected["20"], abs=0.01)
    assert found["20"] > 0.97
