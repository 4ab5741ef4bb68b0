"""`withhold export`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import withhold
from support import key_of, mixed
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import save_bundle
from withhold.cli.main import outcome
from withhold.core.errors import UserError
from withhold.records.roles import Roles


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    for method in ("random-substitute", "leace"):
        made = fit_bundle(mixed(), Roles.of("secret", ()), method=method, key=key_of(0))
        save_bundle(made, folder / method)
    return folder


def test_a_model_is_written_with_warnings(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = saved / "model.onnx"
    assert outcome(["export", str(saved / "random-substitute"), "-o", str(path)]) == 0
    out, err = capfd.readouterr()
    assert hashlib.sha256(path.read_bytes()).hexdigest() in out
    assert "draws: uniform" in " ".join(out.split())
    told = " ".join(err.split())
    assert "as many draws" in told
    assert "the key is not in the file" in told
    assert "training records unchanged" in told


def test_the_file_alone_is_enough_to_run(saved: Path) -> None:
    path = saved / "linear.onnx"
    assert outcome(["export", str(saved / "leace"), "-o", str(path), "--json", "--quiet"]) == 0
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    released = session.run(["released"], {"x": mixed().x})[0]
    bundle = withhold.load(saved / "leace")
    np.testing.assert_allclose(released, bundle.modifier.transform(mixed().x), rtol=1e-5, atol=1e-3)
    assert session.get_modelmeta().custom_metadata_map["withhold.method"] == "leace"


def test_json_names_the_inputs(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = ["export", str(saved / "random-substitute"), "-o", str(saved / "m.onnx"), "--json"]
    assert outcome(done) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["inputs"] == ["x", "uniform"]
    assert told["draws"] == ["uniform"]
    assert told["warnings"]


def test_mistakes_are_one_line(saved: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert outcome(["export", str(saved / "leace"), "-o", str(saved / "model.txt")]) == 2
    assert ".onnx" in capfd.readouterr().err
    assert outcome(["export", str(saved / "none"), "-o", str(saved / "model.onnx")]) == 2
    assert "no bundle" in capfd.readouterr().err


def test_what_is_no_network_is_refused() -> None:
    pixels = np.zeros((4, 8, 8, 3), np.uint8)
    data = withhold.Dataset.from_arrays(pixels, {"secret": list("abab")})
    bundle = withhold.fit(data, ["secret"], method="blur", key=key_of(0))
    with pytest.raises(UserError, match="neither a network nor a codebook"):
        withhold.export_onnx(bundle, "blur.onnx")


def test_rows_of_a_table_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 200
    lines = ["age,city,secret"]
    lines += [f"{20 + i % 50},{'ab'[i % 2]},{'xy'[rng.integers(2)]}" for i in range(n)]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    bundle = withhold.fit(
        tmp_path / "table.csv",
        ["secret"],
        method="exact",
        config={"codes": 4, "hidden": [8], "epochs": 2, "rounds": 1, "exact_rounds": 1},
        key=key_of(0),
    )
    with pytest.raises(UserError, match="rows of a table"):
        withhold.export_onnx(bundle, tmp_path / "table.onnx")
    assert not (tmp_path / "table.onnx").exists()
