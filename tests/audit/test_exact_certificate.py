"""The certificate of an exact release in an audit: shown, checked, gated on what is verified."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from audit.audited import audit, evaluated, world
from support import of_world
from withhold.actions.fit import fit_bundle
from withhold.audit.attackers import Prior
from withhold.audit.checked_certificate import CertifiedRows
from withhold.audit.evidence import Evidence
from withhold.certificate.claim_wording import PLAN_ASSUMPTIONS
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.errors import UserError
from withhold.datasets.worlds import census
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.records.table_features import attack_tables

pytestmark = pytest.mark.usefixtures("less_monte_carlo")
KEY = bytes(32)
SMALL = {"codes": 16, "rounds": 1, "exact_rounds": 1, "epochs": 2, "scores": "metric"}
GATE = "secret@certificate>99"


def fitted(data, suppress):
    return fit_bundle(data, Roles.of(suppress), method="exact", config=SMALL, key=KEY)


@pytest.fixture(scope="module")
def data():
    return of_world(world(600))


@pytest.fixture(scope="module")
def release(data):
    return fitted(data, "secret").release(data)


@pytest.fixture(scope="module")
def leaking(data):
    """Balanced for other labels than those that leave: codes tell the secret."""
    order = np.random.default_rng(0).permutation(len(data))
    strangers = data.with_column("secret", data.table["secret"].take(pa.array(order)))
    return fitted(strangers, "secret").release(data)


def quick(data, release, certificate, **more):
    options = {"attackers": (Prior(),), "preserve": (), "fail_if": GATE} | more
    return audit(data, release, certificate=certificate, **options)


def edited(certificate, name="secret", **changes):
    """The certificate with the plan of one attribute changed by hand; plan=None removes it."""
    found = json.loads(json.dumps(certificate.to_dict()))
    claim = found["attributes"][name]["release"]
    claim["plan"] = changes["plan"] if "plan" in changes else claim["plan"] | changes
    return ReleaseCertificate.from_dict(found)


@pytest.mark.slow
def test_it_says_nothing_of_later_records_and_is_shown(data, release, tmp_path):
    honest = release.certificate
    assert honest.attributes["secret"].later is None
    found = quick(data, release, honest)
    shown = found.attributes["secret"].certificate
    assert isinstance(shown, CertifiedRows)
    assert shown.checked
    assert "nothing is proved about 'secret' in later records" in found.notes
    assert set(PLAN_ASSUMPTIONS) <= set(found.certificate.assumptions)
    found.to_json(tmp_path / "audit.json")
    assert Evidence.from_json(tmp_path / "audit.json") == found


def test_without_the_key_the_gate_uses_the_figure_that_was_counted(data, release):
    claim = release.certificate.attributes["secret"].release
    assert claim.plan.one < claim.one
    found = quick(data, release, release.certificate)
    assert found.gate.passed
    assert found.gate.conditions[0].found == pytest.approx(100 * claim.one)
    assert "counted: no attacker reads secret from more than" in found.verdict
    assert "draws" not in found.verdict


def test_with_the_key_the_gate_uses_the_plan(data, release):
    claim = release.certificate.attributes["secret"].release
    assert claim.plan.one == pytest.approx(claim.floor, abs=1e-5)
    found = quick(data, release, release.certificate, key=KEY)
    assert found.gate.conditions[0].found == pytest.approx(100 * claim.plan.one)
    assert "no attacker who does not know the draws reads secret from more than" in found.verdict
    between = 100 * (claim.plan.one + claim.one) / 2
    gate = f"secret@certificate>{between:.6f}"
    assert quick(data, release, release.certificate, key=KEY, fail_if=gate).gate.passed
    assert not quick(data, release, release.certificate, fail_if=gate).gate.passed


def test_a_plan_that_was_changed_or_removed_never_lowers_the_gate(data, release):
    honest = release.certificate
    claim = honest.attributes["secret"].release
    for certificate in (
        edited(honest, plan=None),
        edited(honest, one=0.9, linked=dict.fromkeys(claim.linked, 0.9)),
        edited(honest, unequal=0.5),
    ):
        found = quick(data, release, certificate)
        assert found.gate.conditions[0].found == pytest.approx(100 * claim.one)
        with pytest.raises(UserError, match="was not signed with this key"):
            quick(data, release, certificate, key=KEY)
    with pytest.raises(UserError, match="guessed in 50"):
        quick(data, release, edited(honest, one=0.4))


def test_a_leaking_release_cannot_claim_the_floor(data, leaking):
    honest = leaking.certificate
    claim = honest.attributes["secret"].release
    assert claim.plan.one > 0.7
    assert quick(data, leaking, honest).gate.conditions[0].found == pytest.approx(100 * claim.one)
    lie = {"one": claim.floor, "linked": dict.fromkeys(claim.linked, claim.floor)}
    for more in ({}, {"unequal": 0.0}):
        with pytest.raises(UserError, match="the rows contradict it"):
            quick(data, leaking, edited(honest, **lie, **more))
    # Not even the owner of the key can state what the rows contradict.
    signed = edited(honest, **lie, unequal=0.0).signed(KEY)
    with pytest.raises(UserError, match="the rows contradict it"):
        quick(data, leaking, signed, key=KEY)


def test_an_attribute_that_only_the_audit_preserves_is_named(data, release):
    found = quick(data, release, release.certificate, preserve="useful", key=KEY)
    assert any("attackers who do not know useful of the row" in note for note in found.notes)
    shown = found.attributes["secret"].certificate
    assert shown.at_most >= shown.release.floor


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("census")
    original = Dataset.read(census(800, seed=0), kind="table")
    released = fitted(original, "sex").release(original)
    released.write(folder / "r.parquet")
    read = Dataset.read(folder / "r.parquet", kind="table")
    again = type(released)(**{**vars(read), "original_rows": released.original_rows})
    beside = ReleaseCertificate.from_json(folder / "r.certificate.json")
    return original, released, again, beside


def of_table(original, released, certificate, **more):
    before, after = attack_tables(original, released, ["sex"])
    options = {"attackers": (Prior(),), "quick": True, "workers": 1, "order_counts": False}
    options |= {"certificate": certificate, "fail_if": "sex@certificate>99"} | more
    return evaluated(before, after, "sex", **options)


@pytest.mark.slow
def test_a_table_needs_the_key(table):
    original, _, file, beside = table
    found = of_table(original, file, beside)
    assert not found.gate.passed
    assert "cannot be counted again from these rows; give --key" in found.gate.failures[0]
    assert any("may have been written by anyone" in note for note in found.notes)
    assert "nothing is proved here about sex" in found.verdict
    found = of_table(original, file, beside, key=KEY)
    assert found.gate.passed
    one = beside.attributes["sex"].release.plan.one
    assert found.gate.conditions[0].found == pytest.approx(100 * one)
    assert any("the owner of the key signed it for this file" in note for note in found.notes)
    with pytest.raises(UserError, match="was not signed with this key"):
        of_table(original, file, edited(beside, "sex", one=0.99), key=KEY)


@pytest.mark.slow
def test_a_table_in_memory_is_not_tied_to_its_certificate(table):
    original, released, _, _ = table
    found = of_table(original, released, released.certificate, key=KEY)
    assert not found.gate.passed
    assert any("it names no file" in note for note in found.notes)


def test_the_labels_of_a_table_are_checked_without_the_key(table):
    original, _, file, beside = table
    with pytest.raises(UserError, match="guessed in"):
        of_table(original, file, edited(beside, "sex", one=0.3))
    found = json.loads(json.dumps(beside.to_dict()))
    found["attributes"]["sex"]["release"]["records"] = 799
    with pytest.raises(UserError, match="799 labelled rows"):
        of_table(original, file, ReleaseCertificate.from_dict(found))
