"""A certificate in an audit: checked against the release, and handed to its attributes."""

from __future__ import annotations

import numpy as np
import pytest

from audit.audited import audit, world
from audit.published import fits
from support import of_world
from withhold import audit as front_door
from withhold import certify
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers import Prior
from withhold.audit.evidence import Evidence, schema
from withhold.certificate.bound import upper_bound
from withhold.certificate.claim_wording import at_most
from withhold.certificate.claims import Certificate
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles

ROLES = Roles.of("secret", "useful")


@pytest.fixture(scope="module")
def data():
    return of_world(world(600))


@pytest.fixture(scope="module")
def bundle(data):
    return fit_bundle(data, ROLES, method="random-substitute", config={"candidates": 16})


@pytest.fixture(scope="module")
def certificate(bundle):
    return Certificate.from_dict(bundle.certificate)


@pytest.fixture(scope="module")
def release(data, bundle):
    return data.with_features(bundle.modifier.transform(data.x))


def quick(data, release, certificate, **more):
    return audit(data, release, certificate=certificate, **{"attackers": (Prior(),)} | more)


# --- a release of these codes ---


def test_the_bound_is_told_beside_the_attacks(data, release, bundle, certificate, tmp_path):
    options = {"certificate": certificate, "key": bundle.modifier.key}
    found = audit(data, release, **options, fail_if="secret@certificate>99")
    secret, claim = found.attributes["secret"], certificate.attributes["secret"]
    assert secret.certificate.checked
    added = {"of_this_file", "checked", "recounted", "recounted_test", "release", "verified"}
    assert secret.certificate.model_dump(exclude=added) == claim.model_dump()
    # The test part is what was certified: the same rows give the same count.
    assert secret.certificate.recounted_test == pytest.approx(claim.plug_in)
    assert found.attributes["useful"].certificate is None
    assert not secret.contradicted  # a random code tells nothing
    assert secret.best.accuracy <= claim.bound
    assert found.certificate.checked
    assert found.certificate.assumptions == certificate.assumptions
    assert (found.certificate.codes, found.certificate.others) == (16, {})
    assert f"no attacker reads secret from more than {at_most(claim.bound)} %" in found.verdict
    assert found.gate.passed
    assert not any("certificate" in note for note in found.notes)
    found.to_json(tmp_path / "audit.json")
    assert Evidence.from_json(tmp_path / "audit.json") == found
    fits(found.to_dict(), schema(), schema()["$defs"])


@pytest.mark.parametrize("file", ["r.csv", "r.npz", "r.parquet"])
def test_codes_are_known_again_from_every_file(data, release, certificate, file, tmp_path):
    names = [f"f{i}" for i in range(12)]
    Dataset.from_arrays(release.x, release.table, names=names).write(tmp_path / file)
    read = Dataset.read(tmp_path / file, features="f*")
    assert quick(data, read, certificate).certificate.checked


def test_the_front_door_takes_it(data, release, certificate):
    found = front_door(
        data, release, "secret", attackers=(Prior(),), workers=1, certificate=certificate
    )
    assert found.attributes["secret"].certificate.bound == certificate.attributes["secret"].bound


def test_a_certificate_that_the_released_rows_contradict_is_refused(data, certificate):
    """Codes that give the secret away, under a certificate that was made for others."""
    channel = fit_bundle(data, ROLES, method="random-substitute", config={"candidates": 2})
    codes = channel.modifier.codes
    leak = data.with_features(codes[data.attribute("secret").codes])
    false = Certificate.from_dict(channel.certificate)
    with pytest.raises(UserError, match=r"reads 100\.00 % of all released rows: it is false"):
        audit(data, leak, certificate=false, fail_if="secret@certificate>99")


# --- which attributes ---


def test_several_together_in_any_order(data, release):
    both = Roles.of("useful,secret")
    made = fit_bundle(data, both, method="random-substitute", config={"candidates": 16})
    claims = certify(made, data)
    assert list(claims.attributes) == ["useful", "secret", "useful,secret"]
    codes = data.with_features(made.modifier.transform(data.x))
    found = quick(data, codes, claims, suppress="secret,useful", preserve=(), joint="secret,useful")
    bound = claims.attributes["useful,secret"].bound
    assert found.attributes["secret,useful"].certificate.bound == bound
    assert found.certificate.others == {}
    found = quick(data, codes, claims)  # useful is preserved in this audit
    assert set(found.certificate.others) == {"useful", "useful,secret"}
    assert found.attributes["useful"].certificate is None


def test_of_other_attributes_it_says_nothing(data, release, certificate):
    with pytest.raises(UserError, match="is about secret, but the audit suppresses useful; name"):
        quick(data, release, certificate, suppress="useful", preserve=())
    found = quick(data, release, certificate, suppress="secret,useful", preserve=())
    assert "the certificate says nothing about useful" in found.notes
    assert found.attributes["secret"].certificate is not None
    assert found.attributes["useful"].certificate is None


def test_several_labels_are_bounded_one_by_one():
    rng = np.random.default_rng(0)
    tags = [[t for t in "ab" if rng.random() < 0.5] for _ in range(400)]
    data = Dataset.from_arrays(rng.standard_normal((400, 3)).astype(np.float32), {"tags": tags})
    made = fit_bundle(data, Roles.of("tags"), method="constant")
    codes = data.with_features(made.modifier.transform(data.x))
    found = quick(data, codes, certify(made, data), suppress="tags", preserve=(), same_order=True)
    assert found.attributes["tags"].certificate is None
    assert set(found.certificate.others) == {"tags.a", "tags.b", "tags.a,tags.b"}
    assert "the certificate covers the labels of 'tags' one by one, not together" in found.notes


# --- a release that cannot be checked ---


def unchecked(found: Evidence) -> str:
    assert found.attributes["secret"].certificate.checked is False
    assert found.certificate.checked is False
    (note,) = (n for n in found.notes if n.startswith("the certificate was not checked against"))
    return note


def test_samples_are_shown_and_not_relied_on(data, release, certificate):
    noise = np.random.default_rng(0).standard_normal(release.x.shape).astype(np.float32)
    samples = release.with_features(release.x + noise)
    found = quick(data, samples, certificate, fail_if="secret@certificate>99")
    assert "its records are not codes (as with --as sample)" in unchecked(found)
    assert not found.gate.passed


def test_numbers_of_codes_are_shown_and_not_relied_on(data, bundle, certificate):
    numbers = bundle.modifier.draw(data.x)[:, None].astype(np.float32)
    found = quick(data, data.with_features(numbers), certificate)
    assert "it contains code numbers, not code values" in unchecked(found)
    for wrong in (numbers + 1, numbers - 1, numbers + 0.5):
        with pytest.raises(UserError, match=r"its codes have 12 features, .* has 1"):
            quick(data, data.with_features(wrong), certificate)


def test_further_draws_are_not_covered(data, release, certificate):
    found = quick(data, release, certificate, again=[release])
    assert any("covers one release of each record" in note for note in found.notes)


# --- another release ---


def test_other_codes_are_refused(data, release, certificate):
    codes = release.with_features(release.x + 1)
    with pytest.raises(UserError, match=r"to another release: no record of .* one of its 16 codes"):
        quick(data, codes, certificate)


def test_rounded_codes_are_refused(data, release, certificate):
    rounded = release.with_features(release.x.astype(np.float16).astype(np.float32))
    with pytest.raises(UserError, match="and do not round the values"):
        quick(data, rounded, certificate)


def test_the_original_itself_is_refused(data):
    mean = fit_bundle(data, ROLES, method="constant")
    with pytest.raises(UserError, match="the certificate belongs to another release"):
        quick(data, data, certify(mean, data))


def test_one_record_that_slipped_through_is_refused(data, release, certificate):
    x = release.x.copy()
    x[17] = data.x[17]
    with pytest.raises(UserError, match=r"1 of the 600 records of .* are not among the 16 codes"):
        quick(data, release.with_features(x), certificate)


def test_another_number_of_features_is_refused(data, release, certificate):
    with pytest.raises(UserError, match=r"its codes have 12 features, .* has 9"):
        quick(data, release.with_features(release.x[:, :9]), certificate)


def test_an_original_alone_has_no_certificate(data, certificate):
    with pytest.raises(UserError, match="a certificate needs a release, and none was given"):
        quick(data, None, certificate)


# --- a certificate that was edited ---


def edited(certificate, **changes):
    """The certificate with figures of 'secret' changed by hand."""
    found = certificate.to_dict()
    found["attributes"]["secret"] |= changes
    return Certificate.from_dict(found)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"bound": 0.45}, "below the majority"),
        ({"bound": 0.51}, r"was changed: [\d,]+ units, a plug-in"),
        ({"bound": 0.51, "confidence": 0.999999}, r"was changed: [\d,]+ units, a plug-in"),
        ({"records": 10**9}, r"was changed: [\d,]+ units, a plug-in"),
        ({"confidence": 1.0}, "which is impossible"),
    ],
)
def test_a_certificate_whose_figures_do_not_fit_is_refused(
    data, release, certificate, changes, told
):
    with pytest.raises(UserError, match=told):
        quick(data, release, edited(certificate, **changes))


def test_a_consistent_lie_is_caught_by_the_rows_of_the_release(data, release, certificate):
    """Whoever also changes the plug-in is below what a count of the released rows gives."""
    claim = certificate.attributes["secret"]
    low = claim.majority
    bound = upper_bound(low, claim.records, 0.6).value
    lie = edited(certificate, plug_in=low, bound=bound, slack=bound - low, confidence=0.6)
    with pytest.raises(UserError, match=r"a table of codes reads .* false or belongs to another"):
        quick(data, release, lie)


def test_the_signature_is_checked_with_the_key_and_never_claimed_without(
    data, release, bundle, certificate
):
    key = bundle.modifier.key
    found = quick(data, release, certificate.signed(key), key=key)
    assert found.certificate.signature == "verified"
    assert "signature checked" in found.verdict
    plain = quick(data, release, certificate)
    assert plain.certificate.signature == "unsigned"
    assert "unsigned" in plain.verdict
    with pytest.raises(UserError, match="not signed with this key"):
        quick(data, release, certificate.signed(bytes(32)), key=key)


def test_the_gate_stays_shut_for_an_unsigned_certificate(data, release, certificate):
    found = quick(data, release, certificate, fail_if="secret@certificate>99")
    assert not found.gate.passed
    assert "the certificate is unsigned; give --key or the bundle" in found.gate.failures[0]


def test_where_a_group_was_named_its_bound_is_stated_and_gated(data, release, bundle, certificate):
    key = bundle.modifier.key
    claim = certificate.attributes["secret"]
    groups = upper_bound(claim.plug_in, 40, claim.confidence)
    people = {
        "column": "person",
        "groups": 40,
        "majority": claim.majority,
        "plug_in": claim.plug_in,
        "slack": groups.value - claim.plug_in,
        "bound": groups.value,
        "by": groups.by,
    }
    signed = edited(certificate, groups=people).signed(key)
    found = quick(data, release, signed, key=key, fail_if="secret@certificate>1")
    [checked] = [c for c in found.gate.conditions if c.condition != "always"]
    assert checked.found == pytest.approx(100 * groups.value)
    assert f"more than {at_most(groups.value)} %" in found.verdict
    nobody = {"reason": "the group is in one part only", "records_apply": False}
    signed = edited(certificate, groups=nobody).signed(key)
    found = quick(data, release, signed, key=key, fail_if="secret@certificate>1")
    assert not found.gate.passed
    assert "nothing is proved about secret for other people" in found.verdict
    assert "certified: no attacker" not in found.verdict
