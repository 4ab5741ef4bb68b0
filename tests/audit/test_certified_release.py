"""The certificate of a given release in an audit: no figure of it can be edited unnoticed."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from audit.audited import audit, world
from support import of_world
from withhold.actions.fit import fit_bundle
from withhold.audit import release_check
from withhold.audit.attackers import Prior
from withhold.certificate.bound import upper_bound
from withhold.certificate.release_file import ReleaseCertificate
from withhold.certificate.stated_figures import rounded_up
from withhold.core.errors import UserError
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles


@pytest.fixture(scope="module")
def data():
    return of_world(world(600))


@pytest.fixture(scope="module")
def bundle(data):
    roles = Roles.of("secret", "useful")
    return fit_bundle(data, roles, method="random-substitute", config={"candidates": 16})


@pytest.fixture(scope="module")
def release(data, bundle):
    return bundle.release(data)


def quick(data, release, certificate, **more):
    return audit(data, release, certificate=certificate, **{"attackers": (Prior(),)} | more)


def edited(certificate, *, release=None, later=None, file=None):
    """The certificate with figures of 'secret' changed by hand."""
    found = json.loads(json.dumps(certificate.to_dict()))
    secret = found["attributes"]["secret"]
    for part, changes in (("release", release), ("later", later)):
        if changes == "removed":
            secret[part] = None
        else:
            secret[part] |= changes or {}
    found["release"] |= file or {}
    return ReleaseCertificate.from_dict(found)


def test_an_honest_one_is_accepted_and_its_figure_for_these_rows_is_gated(data, release):
    honest = release.certificate
    found = quick(data, release, honest, fail_if="secret@certificate>99")
    one = honest.attributes["secret"].release.one
    assert found.gate.passed  # unsigned, but the bound was counted again
    assert found.gate.conditions[0].found == pytest.approx(100 * one)
    stated = found.attributes["secret"].certificate.release
    assert stated.model_dump(exclude={"measured"}) == honest.attributes[
        "secret"
    ].release.model_dump(exclude={"measured"})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"one": 0.5}, "from one row"),
        ({"records": 599}, "599 labelled rows"),
        ({"missing": 3}, "3 rows without a label"),
        ({"classes": 3}, "3 classes"),
        ({"codes_used": 2}, "2 codes in use"),
        ({"floor": 0.9}, "a floor of 90.00 %"),
        ({"linked": {"5": 0.5, "20": 0.5, "50": 0.5}}, "'linked' 5"),
        ({"linked": {}}, "no figure 'linked' 5"),
        ({"known": {"0.1": 0.5, "0.5": 0.5, "0.9": 0.5, "all-but-one": 1.0}}, "'known' 0.1"),
        ({"known": {}}, "no figure 'known' 0.1"),
        ("removed", "has no claim about the rows of this release"),
    ],
)
def test_no_figure_of_the_release_can_be_changed(data, release, changes, told):
    with pytest.raises(UserError, match=told):
        quick(data, release, edited(release.certificate, release=changes))


def test_a_figure_lowered_within_its_chance_is_replaced_unless_it_is_signed(
    data, bundle, release, monkeypatch
):
    counted, real = [], release_check.release_claim
    monkeypatch.setattr(
        release_check, "release_claim", lambda *a, **k: counted.append(real(*a, **k)) or counted[-1]
    )
    quick(data, release, release.certificate)
    found = counted[0]
    lower = {size: rate - 0.02 for size, rate in found.linked.items()}
    known = found.known | {"0.5": found.known["0.5"] - 0.02}
    lied = edited(release.certificate, release={"linked": lower, "known": known})
    shown = quick(data, release, lied).attributes["secret"].certificate.release
    assert shown.linked == found.linked
    assert shown.known == found.known
    with pytest.raises(UserError, match=r"key"):
        quick(data, release, lied, key=bundle.modifier.key)


def test_who_knows_all_other_labels_knows_the_last(data, release):
    known = release.certificate.attributes["secret"].release.known | {"all-but-one": 0.99}
    with pytest.raises(UserError, match="'known' all-but-one"):
        quick(data, release, edited(release.certificate, release={"known": known}))


def test_a_figure_that_the_labels_do_not_reach_is_a_sign_of_other_labels(data):
    """Labels in another order pair every row with a stranger, and nothing would be read."""
    rng = np.random.default_rng(0)
    kept = data.attribute("secret").codes ^ (rng.random(len(data)) < 0.1)
    told = data.without(["useful"]).with_column("useful", pa.array(kept))
    release = fit_bundle(
        told,
        Roles.of("secret", "useful"),
        method="random-substitute",
        config={"candidates": 4},
    ).release(told)
    assert release.certificate.attributes["secret"].release.one > 0.85  # the preserved label's
    assert quick(told, release, release.certificate).attributes
    order = rng.permutation(len(data))
    strangers = told.with_column("secret", told.table["secret"].take(pa.array(order)))
    with pytest.raises(UserError, match="the labels do not belong to these rows"):
        quick(strangers, release, release.certificate)
    more = edited(release.certificate, release={"one": 0.97})
    with pytest.raises(UserError, match="the labels do not belong to these rows"):
        quick(told, release, more)


def test_a_certificate_of_other_columns_is_refused(data, release):
    fewer = edited(release.certificate, file={"columns": ["x", "ward"]})
    with pytest.raises(UserError, match=r"do not have the same columns \(.*ward"):
        quick(data, release, fewer)


def test_the_gate_stays_shut_where_another_column_tells_more(data, bundle):
    """The certificate is about the codes; `ward` was kept by name and says the secret."""
    secret = data.attribute("secret").codes
    flip = np.random.default_rng(0).random(len(data)) < 0.05
    wide = data.with_column("ward", pa.array(secret ^ flip))
    release = bundle.release(wide, keep=["ward"])
    found = quick(wide, release, release.certificate, fail_if="secret@certificate>90")
    assert not found.gate.passed
    assert (
        "covers only the codes, and this file reveals more: tier 'column" in found.gate.failures[0]
    )
    assert "the certificate covers only the codes: with all columns" in found.verdict
    assert "no attacker reads secret" not in found.verdict


def test_a_figure_lowered_to_that_of_the_codes_alone_is_raised(data, release):
    """Who knows the preserved label reads more; the gate compares that."""
    honest = release.certificate
    one = honest.attributes["secret"].release.one
    alone = quick(data, release, honest).attributes["secret"].certificate.recounted
    assert alone < one
    low = edited(honest, release={"one": alone})
    found = quick(data, release, low, fail_if="secret@certificate>99")
    shown = found.gate.conditions[0].found / 100  # our own count, which is not rounded
    assert alone < shown
    assert rounded_up(shown, records=len(data)) == one
    assert any("which is shown" in note for note in found.notes)


def test_a_figure_is_the_count_rounded_up_and_no_other(data, release, bundle):
    """A step more is refused, signed or not, and so is anything below the count."""
    honest, key = release.certificate, bundle.modifier.key
    one = honest.attributes["secret"].release.one
    alone = quick(data, release, honest, key=key).attributes["secret"].certificate.recounted
    more = edited(honest, release={"one": one + 0.01})
    for certificate, given in ((more, {}), (more.signed(key), {"key": key})):
        with pytest.raises(UserError, match="the labels do not belong to these rows"):
            quick(data, release, certificate, **given)
    with pytest.raises(UserError, match="from one row"):
        quick(data, release, edited(honest, release={"one": alone - 1e-5}))


def test_measured_attacks_are_measured_again(data, release):
    lie = edited(release.certificate, release={"measured": {"all-but-one": 0.0}})
    stated = quick(data, release, lie).attributes["secret"].certificate.release
    assert stated.measured["all-but-one"] >= stated.floor - 0.05


def test_a_floor_from_labels_that_the_audit_does_not_name_is_not_shown(data, release):
    lie = edited(release.certificate, release={"floor": 0.9})
    found = quick(data, release, lie, preserve=())
    assert found.attributes["secret"].certificate.release.floor < 0.6
    assert any("name with --preserve what was preserved" in note for note in found.notes)


def lower(claim, plug_in, records):
    bound = upper_bound(plug_in, records, claim.confidence)
    return {
        "records": records,
        "plug_in": plug_in,
        "majority": plug_in,
        "bound": bound.value,
        "by": bound.by,
        "slack": bound.value - plug_in,
    }


def test_a_bound_on_later_records_is_not_below_the_labels_of_the_audit(data, release, bundle):
    honest = release.certificate
    lie = lower(honest.attributes["secret"].later, 0.45, 10**9)
    with pytest.raises(UserError, match=r"below the majority of .* % of the labels given here"):
        quick(data, release, edited(honest, later=lie))
    key = bundle.modifier.key
    signed = edited(honest, later=lie).signed(key)
    found = quick(data, release, signed, key=key)
    assert any("does not apply to records like these" in note for note in found.notes)


def test_a_bound_on_later_records_is_not_below_a_count_of_as_many(data, release):
    honest = release.certificate
    lie = lower(honest.attributes["secret"].later, 0.51, 600) | {"confidence": 0.5}
    lie |= {"bound": upper_bound(0.51, 600, 0.5).value}
    with pytest.raises(UserError, match=r"a table of codes reads .* of all released rows"):
        quick(data, release, edited(honest, later=lie))


def test_a_certificate_of_no_file_is_not_one_of_this_file(data, release, tmp_path):
    release.write(tmp_path / "r.parquet")
    read = Dataset.read(tmp_path / "r.parquet")
    rows = {"original_rows": release.original_rows}
    beside = ReleaseCertificate.from_json(tmp_path / "r.certificate.json")
    again = type(release)(**{**vars(read), **rows})
    assert quick(data, again, beside).certificate.checked
    with pytest.raises(UserError, match=r"does not name the SHA-256 .* belong to r\.parquet"):
        quick(data, again, edited(beside, file={"sha256": None}))
    with pytest.raises(UserError, match="it has 599 rows"):
        quick(data, again, edited(beside, file={"records": 599}))


def test_numbers_of_codes_are_counted_too(data, bundle, release):
    """A release --as index: the numbers are the codes."""
    numbers = bundle.modifier.draw(data.x)[:, None].astype(np.float32)
    released = data.without(["split"]).with_features(numbers)
    found = quick(data, released, release.certificate, same_order=True)
    stated = found.attributes["secret"].certificate
    assert stated.checked
    # The claim is on who knows the preserved labels too, so it may be above the count of codes.
    # It is rounded up to a whole percent.
    assert stated.recounted <= stated.release.one <= stated.recounted + 0.05 + 0.01
    lie = edited(release.certificate, release={"one": 0.5})
    with pytest.raises(UserError, match="from one row"):
        quick(data, released, lie, same_order=True)


def test_several_labels_are_checked_one_by_one():
    rng = np.random.default_rng(0)
    tags = [[t for t in "ab" if rng.random() < 0.5] for _ in range(400)]
    data = Dataset.from_arrays(rng.standard_normal((400, 3)).astype(np.float32), {"tags": tags})
    made = fit_bundle(data, Roles.of("tags"), method="constant")
    release = made.release(data)
    options = {"suppress": "tags", "preserve": (), "same_order": False}
    found = quick(data, release, release.certificate, **options)
    assert {"tags.a", "tags.b"} <= set(found.certificate.others)
    assert found.certificate.checked
    assert "the certificate covers the labels of 'tags' one by one, not together" in found.notes
    lie = json.loads(json.dumps(release.certificate.to_dict()))
    lie["attributes"]["tags.a"]["release"]["one"] = 0.4
    with pytest.raises(UserError, match=r"of 'tags\.a' from one row"):
        quick(data, release, ReleaseCertificate.from_dict(lie), **options)
