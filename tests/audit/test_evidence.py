from __future__ import annotations

import json
from pathlib import Path

import pytest

from audit.built import bundle, evidence, found, tier
from audit.published import fits
from report.pieces import certified, source
from withhold.audit.evidence import Evidence, schema
from withhold.certificate.claims import GroupClaim

PEOPLE = GroupClaim(
    column="person", groups=9, majority=0.2, plug_in=0.3, slack=0.1, bound=0.4, by="Chernoff"
)

# --- the worst tier is the headline ---


def test_the_worst_tier_is_the_headline():
    assert (found(0.5, 0.1).worst, found(0.5, 0.1).worst_tier) == (0.5, "informed")
    assert found(0.5, 0.8).worst_tier == "ignorant"
    assert found(0.5, None).worst == 0.5
    linked = {"5": bundle(5, 0.6), "20": bundle(20, 0.9)}
    assert found(0.5, 0.8, linked=linked).worst_tier == "linked20"
    assert found(0.5, 0.8, linked=linked, repeated=tier(0.95)).worst_tier == "repeated"
    assert list(found(0.5, None, linked=linked).tiers) == ["informed", "linked5", "linked20"]


@pytest.mark.parametrize(
    ("original", "informed", "nag"),
    [(0.9, 0.5, 0.5), (0.9, 0.9, 1.0), (0.9, 0.05, 0.0), (0.1, 0.5, None), (0.05, 0.5, None)],
)
def test_nag(original, informed, nag):
    """max(0, (acc - majority) / (acc_original - majority)); undefined without room above it."""
    a = found(informed, original=tier(original))
    assert a.nag == (None if nag is None else pytest.approx(nag))


def test_mnag_is_of_the_others_less_of_the_suppressed():
    secret, kept = found(0.3), found(0.9, role="preserve")  # 0.25 and 1
    other = found(0.5, role="hidden")  # 0.5
    undefined = found(0.5, role="hidden", original=tier(0.1))
    assert evidence(s=secret, k=kept, o=other, u=undefined).mnag == pytest.approx(0.75 - 0.25)
    assert evidence(s=secret, u=undefined).mnag is None
    assert evidence(k=kept).mnag is None
    assert evidence(s=secret, k=kept).to_dict()["utility"]["mnag"] == pytest.approx(0.75)


def test_leakage_is_of_the_tier_that_reads_most_bits():
    a = found(informed=tier(0.5, bits=1.0), ignorant=tier(0.2, bits=0.3))
    assert a.leakage_bits == 1.0
    assert found(0.5, repeated=tier(0.6, bits=2.0)).leakage_bits == 2.0


# --- what is said ---


@pytest.mark.parametrize(
    ("figures", "status"),
    [
        ({"informed": 0.5}, "readable"),
        ({"informed": 0.23}, "readable"),  # 0.23 - 1.3 * 0.02 > 0.2
        ({"informed": 0.22}, "floor"),
        ({"informed": 0.1}, "floor"),
        ({"informed": 0.1, "ignorant": 0.5}, "readable"),
        ({"informed": 0.1, "linked": {"5": bundle(5, 0.9)}}, "readable"),
        ({"informed": 0.1, "linked": {"5": bundle(5, 0.9, width=0.6)}}, "floor"),
        ({"informed": 0.1, "repeated": tier(0.4)}, "readable"),
        ({"informed": 0.1, "original": tier(0.11)}, "blind"),
        ({"informed": 0.5, "original": tier(0.11)}, "readable"),
    ],
)
def test_readable_is_surely_above_the_floor(figures, status):
    a = found(**figures)
    assert a.status == status
    verdict = evidence(speaker=a).verdict
    said = {
        "readable": f"still readable by an attacker: speaker: {100 * a.worst:.1f} % (floor 20.0 %)",
        "floor": "not distinguishable from the floor",
        "blind": "do not read speaker from the original data either",
    }
    for word, text in said.items():
        assert (text in verdict) == (word == status)
    assert "private" not in verdict
    assert "safe" not in verdict


def test_one_leak_among_several_is_the_verdict():
    both = evidence(a=found(0.1), b=found(0.5), c=found(0.1, original=tier(0.1)))
    assert both.verdict == "suppressed but still readable by an attacker: b: 50.0 % (floor 20.0 %)"
    assert "shows nothing" in evidence(a=found(0.1), c=found(0.1, original=tier(0.1))).verdict


def test_preserved_attributes_are_no_leak():
    kept = found(role="preserve")
    assert evidence(digit=kept).verdict == "no attribute to suppress was named"


def test_of_an_original_alone():
    assert "an attacker can read from the data: a: 50.0 %" in evidence(False, a=found(0.5)).verdict
    blind = found(0.1, None, original=tier(0.1))
    assert evidence(False, a=blind).verdict == "the attackers tried do not read a from the data"


# --- what is proved ---


def test_the_verdict_adds_what_is_certified():
    plain = evidence(a=found(0.1), b=found(0.1)).verdict
    proved = found(0.1, certificate=certified(0.25))
    said = (
        "; an unsigned certificate says: no attacker reads a from more than 25.0 % of single"
        " records (confidence 95 %, 6,000 records, give --key to verify it)"
    )
    assert evidence(a=proved, b=found(0.1)).verdict == plain + said
    both = evidence(a=proved, b=found(0.1, certificate=certified(0.5))).verdict
    assert "reads a from more than 25.0 %, b from more than 50.0 % of single records" in both
    unchecked = found(0.1, certificate=certified(0.25, checked=False))
    assert "verify it, not checked against the release)" in evidence(a=unchecked).verdict
    # A bound of 100 % says nothing.
    assert (
        evidence(a=found(0.1, certificate=certified(1.0))).verdict == evidence(a=found(0.1)).verdict
    )


@pytest.mark.parametrize(
    ("figures", "contradicted"),
    [
        ({"informed": 0.1}, False),
        ({"informed": 0.265}, False),  # 0.265 - 0.02 < 0.25: the interval holds the bound
        ({"informed": 0.275}, True),
        ({"informed": 0.1, "ignorant": 0.275}, True),
        # The bound is on one record, released once.
        ({"informed": 0.1, "linked": {"5": bundle(5, 0.9)}, "repeated": tier(0.9)}, False),
    ],
)
def test_an_attack_that_is_surely_above_the_bound_contradicts_it(figures, contradicted):
    a = found(**figures, certificate=certified(0.25))
    assert a.contradicted is contradicted
    verdict = evidence(a=a).verdict
    assert bool(evidence(a=a).failing) is contradicted  # whatever the conditions of the gate are
    said = (
        "CONTRADICTION: an attack reads a from 27.5 % of single records, but the certificate states"
        " at most 25.0 %"
    )
    assert (said in verdict) is contradicted
    assert ("no attacker" in verdict) is not contradicted


# --- the contract of audit.json ---


def test_json_is_read_back_as_it_was(tmp_path):
    one = evidence(
        speaker=found(
            0.5, 0.1 + 0.2, linked={"5": bundle(5, 1 / 3)}, repeated=tier(0.4), notes=("a", "ü")
        ),
        digit=found(0.9, None, role="preserve", original=tier(0.05)),
        known=found(0.1, certificate=certified(groups=PEOPLE)),
        unknown=found(0.1, certificate=certified()),
    ).model_copy(update={"certificate": source()})
    assert Evidence.model_validate_json(one.json_bytes()) == one
    one.to_json(tmp_path / "audit.json")
    assert Evidence.from_json(tmp_path / "audit.json") == one
    assert list(tmp_path.iterdir()) == [tmp_path / "audit.json"]
    assert json.loads(one.json_bytes()) == one.to_dict()


def test_the_contract_of_the_design():
    read = evidence(speaker=found(0.5, linked={"5": bundle(5, 0.6)})).to_dict()
    assert {"schema", "records", "attributes", "utility", "verdict"} <= set(read)
    assert read["schema"] == 1
    assert read["records"] == 500
    a = read["attributes"]["speaker"]
    assert {"role", "classes", "majority", "floor", "original", "nag", "leakage_bits"} <= set(a)
    assert {"ignorant", "informed", "linked", "certificate"} <= set(a)
    for name in ("original", "ignorant", "informed"):
        assert set(a[name]) >= {"accuracy", "ci", "attacker"}
    assert a["linked"]["5"]["accuracy"] == 0.6
    assert a["certificate"] is None
    assert read["certificate"] is None


def test_unknown_keys_of_a_later_version_are_read_past():
    later = evidence(a=found()).to_dict() | {"colour": "red"}
    assert Evidence.model_validate(later) == evidence(a=found())


def test_the_published_schema_fits_what_is_written():
    one = evidence(
        speaker=found(0.5, linked={"5": bundle(5, 0.6)}, certificate=certified()),
        x=found(0.5, None, certificate=certified(groups=PEOPLE)),
    ).model_copy(update={"certificate": source()})
    fits(one.to_dict(), schema(), schema()["$defs"])
    broken = one.to_dict()
    del broken["attributes"]["x"]["informed"]["ci"]
    with pytest.raises(AssertionError, match="ci"):
        fits(broken, schema(), schema()["$defs"])


def test_the_published_schema_is_this_one():
    """`python docs/make_schema.py` writes it anew."""
    path = Path(__file__).parents[2] / "docs" / "audit.schema.json"
    assert json.loads(path.read_text()) == schema()
