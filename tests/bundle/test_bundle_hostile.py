"""Edited bundles: one line that names the fault, whoever signs them, and never a traceback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from support import mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import load_bundle, save_bundle
from withhold.bundle.bundle_files import CERTIFICATE, MEMBERSHIP, write_files
from withhold.certificate.certify_bundle import certify
from withhold.certificate.claims import Certificate
from withhold.certificate.reading import read_certificate
from withhold.core.errors import UserError
from withhold.core.signature import sign_fields
from withhold.records.roles import Roles

KEY = bytes(range(32))
BOOK = {"codes": 8, "hidden": [8], "epochs": 2, "rounds": 2, "least": 2, "smallest": 4}
Text = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved") / "bundle"
    save_bundle(fit_bundle(mixed(), Roles.of("secret"), config=BOOK, key=KEY), folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "bundle"))


ORDER = ("bundle.json", "weights.safetensors", "history.json", MEMBERSHIP, CERTIFICATE)


def signed(folder: Path, **changed: bytes) -> Path:
    """Write changed files with sums and signature that fit, as an editor with the key can."""
    contents = {n: (folder / n).read_bytes() for n in ORDER} | {
        {"description": "bundle.json", "weights": "weights.safetensors", "history": "history.json",
         "membership": MEMBERSHIP, "certificate": CERTIFICATE}[n]: data
        for n, data in changed.items()
    }  # fmt: skip
    write_files(folder, contents, KEY)
    return folder


def mistake(folder: Path, **more: Any) -> str:
    with pytest.raises(UserError) as error:
        load_bundle(folder, **more)
    assert "\n" not in str(error.value)
    return str(error.value)


def edited(folder: Path, change: Callable[[Text], Any]) -> Path:
    text = json.loads((folder / "bundle.json").read_text())
    change(text)
    return signed(folder, description=json.dumps(text).encode())


# --- signature --------------------------------------------------------------------------------


def test_recomputed_sums_without_the_key_are_refused(folder: Path) -> None:
    """What C found: label_columns [] kept the suppressed column in the release."""
    text = json.loads((folder / "bundle.json").read_text())
    text["input"]["label_columns"] = []
    (folder / "bundle.json").write_text(json.dumps(text))
    signature = (folder / "SIGNATURE").read_bytes()
    signed(folder)
    (folder / "SIGNATURE").write_bytes(signature)
    assert "SIGNATURE does not match" in mistake(folder)


def test_the_owners_copy_of_the_key_is_compared(folder: Path, tmp_path: Path) -> None:
    load_bundle(folder, key=KEY)
    assert "was made with another key than the one given" in mistake(folder, key=KEY[::-1])
    contents = {n: (folder / n).read_bytes() for n in ORDER}
    write_files(folder, contents, KEY[::-1])  # all of it signed anew, by somebody else
    assert "was made with another key than the one given" in mistake(folder, key=KEY)


def test_a_bundle_may_travel_without_its_key(folder: Path) -> None:
    (folder / "key").unlink()
    assert "does not contain its key; give the key file with --key FILE" in mistake(folder)
    assert load_bundle(folder, key=KEY).modifier.key == KEY
    assert "SIGNATURE does not match" in mistake(folder, key=KEY[::-1])


def test_an_edited_certificate_is_refused(folder: Path) -> None:
    found = json.loads((folder / CERTIFICATE).read_text())
    assert Certificate.from_dict(found).is_signed_with(KEY)
    assert not Certificate.from_dict(found).is_signed_with(KEY[::-1])
    found["attributes"]["secret"]["bound"] = 0.51
    assert not Certificate.from_dict(found).is_signed_with(KEY)
    signed(folder, certificate=json.dumps(found).encode())
    assert "certificate.json was not signed with the bundle's key" in mistake(folder)
    found["signature"] = sign_fields(KEY, found)
    load_bundle(signed(folder, certificate=json.dumps(found).encode()))


def test_a_certificate_from_certify_is_signed_and_survives_a_file(
    folder: Path, tmp_path: Path
) -> None:
    made = certify(load_bundle(folder), mixed())
    made.to_json(tmp_path / "certificate.json")
    again = Certificate.from_json(tmp_path / "certificate.json")
    assert again.is_signed_with(KEY)
    assert not again.model_copy(update={"signature": None}).is_signed_with(KEY)
    assert read_certificate(tmp_path / "certificate.json", key=KEY) == again
    read_certificate(folder, key=KEY)
    with pytest.raises(UserError, match="was not signed with this key"):
        read_certificate(tmp_path / "certificate.json", key=KEY[::-1])


def test_no_plain_hash_of_the_data_is_published(saved: Path) -> None:
    digest = mixed().digest()
    for file in saved.iterdir():
        assert digest.encode() not in file.read_bytes()


# --- fields -----------------------------------------------------------------------------------

FIELDS: dict[str, tuple[Callable[[Text], Any], str]] = {
    "no label columns": (lambda t: t["input"].update(label_columns=[]), "label_columns"),
    "other label columns": (lambda t: t["input"].update(label_columns=["id"]), "lacks secret"),
    "the label is harmless": (
        lambda t: t["input"]["harmless"].update(
            secret={"kind": "text", "values": None}
        ),
        "harmless names secret",
    ),
    "nothing suppressed": (lambda t: t.update(suppress=[]), "suppress"),
    "mix below 0": (lambda t: t["modifier"].update(mix=-5), "'mix'"),
    "mix above 1": (lambda t: t["modifier"].update(mix=1.5), "'mix'"),
    "mix NaN": (lambda t: t["modifier"].update(mix=float("nan")), "'mix'"),
    "sharpness 0": (lambda t: t["modifier"].update(sharpness=0), "'sharpness'"),
    "unknown reader": (lambda t: t["modifier"].update(reader="pickle"), "'reader'"),
    "reader of another kind": (lambda t: t["modifier"].update(reader="metric"), "no array"),
    "needs what is not there": (lambda t: t["modifier"].update(needs=["id"]), "'id'"),
    "odd setting": (lambda t: t["modifier"].update(exec="rm"), "'exec'"),
    "odd config": (lambda t: t["config"].update(codes=-1), "'codes'"),
    "unknown method": (lambda t: t.update(method="mass-2"), "no method 'mass-2'"),
    "another method": (lambda t: t.update(method="noise"), "bundle"),
    "other features": (lambda t: t["input"].update(features=9), "9"),
    "records below 1": (lambda t: t["input"].update(records=0), "'input.records'"),
    "guess rate above 1": (
        lambda t: t["input"].update(tells={"secret": {"id": 7}}), "'input.tells.secret.id'"
    ),
    "no digest": (lambda t: t["input"].update(sha256="x"), "'input.sha256'"),
    "seed as text": (lambda t: t.update(seed="zero"), "'seed'"),
    "extra field": (lambda t: t.update(code="import os"), "'code'"),
    "extra field of input": (lambda t: t["input"].update(path="/etc"), "'input.path'"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_out_of_its_range_is_named(folder: Path, name: str) -> None:
    change, told = FIELDS[name]
    assert told in mistake(edited(folder, change))


def test_a_missing_field_is_named(folder: Path, saved: Path) -> None:
    text = json.loads((saved / "bundle.json").read_text())
    for place in (None, "input", "modifier"):
        for name in text if place is None else text[place]:
            if (place, name) in ((None, "kind"), ("input", "harmless")):
                continue  # without it nothing is harmless

            def drop(t: Text, place: str | None = place, name: str = name) -> None:
                (t if place is None else t[place]).pop(name)

            shutil.copytree(saved, folder, dirs_exist_ok=True)
            assert name in mistake(edited(folder, drop))


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"5", b"null", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a":' * 50_000 + b"1",
     b'{"schema": 2}', b'{"schema": 2, "kind": []}', b'{"schema": 2, "kind": "\\ud800"}'],
    ids=lambda d: repr(d[:20]),
)  # fmt: skip
@pytest.mark.parametrize("name", ["description", "history", "certificate"])
def test_text_that_is_no_description_is_refused(folder: Path, name: str, data: bytes) -> None:
    if (name, data) == ("history", b"[]"):
        return
    mistake(signed(folder, **{name: data}))


ARRAYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no codes": lambda a: a.pop("codes"),
    "empty codes": lambda a: a.update(codes=a["codes"][:0]),
    "fewer codes": lambda a: a.update(codes=a["codes"][:-1]),
    "other width": lambda a: a.update(codes=a["codes"][:, :-1]),
    "NaN": lambda a: a.update(codes=a["codes"] * np.float32(np.nan)),
    "doubles": lambda a: a.update(codes=a["codes"].astype(np.float64)),
    "negative weights": lambda a: a.update(weights=-a["weights"]),
    "weights that sum to 9": lambda a: a.update(weights=9 * a["weights"]),
    "no spread": lambda a: a.pop("spread"),
    "no layer": lambda a: a.pop("reader.0.weight"),
    "a layer too narrow": lambda a: a.update({"reader.1.weight": a["reader.1.weight"][:, 1:]}),
    "an unknown array": lambda a: a.update(odd=np.zeros(3, np.float32)),
    "a key": lambda a: a.update(key=np.zeros(32, np.uint8)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_that_do_not_fit_are_refused(folder: Path, name: str) -> None:
    arrays = load_arrays((folder / "weights.safetensors").read_bytes())
    ARRAYS[name](arrays)
    arrays = {k: np.ascontiguousarray(v) for k, v in arrays.items()}
    told = mistake(signed(folder, weights=save_arrays(arrays)))
    assert "modifier" in told


# --- files ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ORDER, "SHA256SUMS", "SIGNATURE", "key"])
@pytest.mark.parametrize("what", ["/dev/zero", "/dev/stdin", "pipe"])
def test_devices_and_pipes_are_not_read(folder: Path, name: str, what: str) -> None:
    (folder / name).unlink()
    if what == "pipe":
        os.mkfifo(folder / name, 0o600)
    else:
        (folder / name).symlink_to(what)
    mistake(folder)


def test_a_file_beyond_all_bounds_is_refused_unread(folder: Path) -> None:
    for name in ("bundle.json", "SIGNATURE", "SHA256SUMS", "weights.safetensors"):
        with (folder / name).open("r+b") as file:
            file.truncate(2**40)  # a hole: no disk is used
        assert "larger than" in mistake(folder)


# --- fuzz -------------------------------------------------------------------------------------

ODD = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5),
    st.just([]), st.just({}), st.just([[]]), st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)  # fmt: skip


def _places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = found.items() if isinstance(found, dict) else enumerate(found)
    out = []
    for step, value in inner:
        out.append((*path, step))
        if isinstance(value, (dict, list)):
            out += _places(value, (*path, step))
    return out


def _changed(found: Any, path: tuple[Any, ...], value: Any) -> Any:
    again = json.loads(json.dumps(found))
    inner = again
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return again


def _use(folder: Path) -> None:
    bundle = load_bundle(folder)
    bundle.modifier.transform(mixed().x[:3, : bundle.modifier.dimension])


def refusal(call: Callable[[], Any]) -> str:
    """The message of a refusal; anything else that goes wrong is raised."""
    try:
        call()
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_field_may_be_anything(folder: Path, saved: Path, data: st.DataObject) -> None:
    name, kind = data.draw(
        st.sampled_from([("bundle.json", "description"), (CERTIFICATE, "certificate")])
    )
    text = json.loads((saved / name).read_text())
    path = data.draw(st.sampled_from(_places(text)))
    changed = _changed(text, path, data.draw(ODD))
    if kind == "certificate":
        assert "\n" not in refusal(lambda: Certificate.from_dict(changed))
        with contextlib.suppress(ValueError):  # NaN has no signature
            changed["signature"] = sign_fields(KEY, changed)
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    signed(folder, **{kind: json.dumps(changed).encode()})
    assert "\n" not in refusal(lambda: _use(folder))


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_bytes_may_be_in_any_file(folder: Path, saved: Path, data: st.DataObject) -> None:
    kinds = ("description", "weights", "history", "membership", "certificate")
    number = data.draw(st.integers(0, len(ORDER) - 1))
    raw = bytearray((saved / ORDER[number]).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(raw) - 1, 2000)))
        raw[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=6))
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    signed(folder, **{kinds[number]: bytes(raw)})
    assert "\n" not in refusal(lambda: _use(folder))
