"""`withhold audit`: the whole chain, and what it writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from .conftest import Run

ROLES = ("--suppress", "secret", "--preserve", "useful")
FEW = ("--exclude", "loud,fast,take,id,person", "--quick", "-o", "a")
SAME = ("audit", "data.parquet", "data.parquet")


@pytest.mark.parametrize("method", ["mass", "noise", "constant"])
def test_fit_transform_audit(place: Path, cli: Run, method: str) -> None:
    config = ("--config", "tiny.yaml") if method == "mass" else ()
    assert cli("fit", "data.parquet", *ROLES, "--method", method, *config, "-o", "b").code == 0
    assert cli("transform", "b", "data.parquet", "-o", "r.parquet").code == 0
    options = ("--exclude", "loud,fast,take,id,person", "-o", "a", "--quick")
    ran = cli("audit", "data.parquet", "r.parquet", *ROLES, *options, "--json", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    written = json.loads(Path("a", "audit.json").read_text())
    assert ran.json == written
    assert written["schema"] == 1
    assert written["records"] == 240
    assert written["attributes"]["secret"]["role"] == "suppress"
    assert written["attributes"]["useful"]["role"] == "preserve"
    for found in written["attributes"].values():
        for tier in ("original", "ignorant", "informed"):
            low, high = found[tier]["ci"]
            assert 0 <= low <= found[tier]["accuracy"] <= high <= 1
    if method == "constant":
        assert "not distinguishable from the floor" in written["verdict"]
    page = Path("a", "report.html").read_text()
    assert "Audit of r.parquet" in page
    assert {p.name for p in Path("a").iterdir()} == {"audit.json", "report.html"}


def test_the_whole_ladder_climbs_and_says_who_won(place: Path, cli: Run) -> None:
    options = ("--exclude", "loud,fast,take,id,person", "-o", "a", "--json")
    found = cli("audit", "data.parquet", *ROLES, *options).json["attributes"]["secret"]
    rungs = {r["attacker"]: r for r in found["ladder"]}
    assert set(rungs) >= {"prior", "logistic", "nearest", "kernel", "trees", "ensemble"}
    assert set(rungs) >= {"mlp-small", "mlp-small-2", "mlp-large", "mlp-large-2"}
    best = max(r["val_accuracy"] for r in rungs.values())
    assert rungs[found["informed"]["attacker"]]["val_accuracy"] == best
    assert found["informed"]["accuracy"] > 0.9


def test_identity_is_read_and_told_in_the_terminal(place: Path, cli: Run) -> None:
    ran = cli(*SAME, "--suppress", "secret", *FEW[:-1], "deep/er/a")
    assert ran.code == 0
    assert "verdict: The release still contains the column 'secret' itself" in ran.out
    assert "suppressed but still readable by an attacker: secret" in ran.out
    assert "columns attacked: " in ran.out
    assert "evidence: deep/er/a/audit.json" in ran.out
    assert not list(Path("deep/er/a").glob(".*"))


def test_second_audit_replaces_the_first_and_agrees(place: Path, cli: Run) -> None:
    """In everything but the seconds that it took."""
    audit = (*SAME, "--suppress", "secret", *FEW, "-q")
    found = []
    for _ in range(2):
        assert cli(*audit).code == 0
        found.append(_timeless(json.loads(Path("a/audit.json").read_text())))
    assert found[0] == found[1]


def test_split_of_the_options_is_used(place: Path, cli: Run) -> None:
    options = ("--exclude", "loud,fast,id,person", "--quick", "-o", "a", "--suppress", "secret")
    found = cli(*SAME, *options, "--test", "take>=30", "--json").json
    held = sum(t >= 30 for t in pq.read_table("data.parquet")["take"].to_pylist())
    assert found["settings"]["test"] == held


def test_wide_columns_are_matched_by_name(place: Path, cli: Run) -> None:
    frame = pd.read_csv("wide.csv")
    frame[frame.columns[::-1]].to_csv("turned.csv", index=False)
    options = ("--features", "f_*", "--suppress", "secret", "--exclude", "loud,fast,take,person")
    found = cli("audit", "wide.csv", "turned.csv", *options, "-o", "a", "--json", "--quick").json
    assert found["utility"]["distortion"] == 0
    secret = found["attributes"]["secret"]
    assert secret["ignorant"]["accuracy"] == secret["original"]["accuracy"]


def test_the_original_alone(place: Path, cli: Run) -> None:
    found = cli("audit", "data.parquet", *FEW, "--json").json
    assert found["release"] is None
    assert {a["role"] for a in found["attributes"].values()} == {"hidden"}
    found = cli("audit", "data.parquet", *ROLES, *FEW, "--json").json
    assert found["verdict"].startswith("an attacker can read from the data: secret")


# --- the gate ---


def test_a_gate_that_holds_exits_with_3_and_names_the_line(place: Path, cli: Run) -> None:
    gate = ("--fail-if", "secret>floor+2; useful<50")
    ran = cli(*SAME, *ROLES, *FEW, *gate)
    assert ran.code == 3
    assert "gate failed: secret>floor+2: secret (" in ran.err
    assert "gate failed: The release still contains the column 'secret' itself" in ran.err
    written = json.loads(Path("a/audit.json").read_text())["gate"]
    assert [c["failed"] for c in written["conditions"]][:2] == [True, False]
    assert "secret&gt;floor+2" in Path("a/report.html").read_text()


def test_a_gate_that_does_not_hold_exits_with_0(place: Path, cli: Run) -> None:
    found = pq.read_table("data.parquet")
    pq.write_table(found.drop_columns(["secret", "person"]), "r.parquet")
    noised = pd.read_parquet("r.parquet")
    noised["x"] = [v + 0.5 * rng for v, rng in zip(noised["x"], _noise(noised["x"]), strict=True)]
    noised.to_parquet("r.parquet")
    gate = ("--fail-if", "secret>floor+70", "-q")
    ran = cli("audit", "data.parquet", "r.parquet", *ROLES, *FEW, *gate)
    assert (ran.code, ran.err, ran.out) == (0, "", "")


def test_the_same_gate_from_yaml(place: Path, cli: Run) -> None:
    Path("audit.yaml").write_text(
        "suppress: [secret]\npreserve: useful\nquick: true\nfail_if:\n  - secret>floor+2\n"
    )
    options = ("--exclude", "loud,fast,take,id,person", "-o", "a", "-q")
    assert cli(*SAME, "--config", "audit.yaml", *options).code == 3


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        ("secrt>5", "attribute 'secrt' is not in the audit; did you mean 'secret'?"),
        ("secret", "'secret' is not NAME OP VALUE"),
        ("secret>many", "'many' is not a number of points"),
        ("secret@best>5", "there is no 'best'"),
        (";", "--fail-if is empty"),
    ],
)
def test_a_mistaken_gate_costs_no_audit(place: Path, cli: Run, gate: str, told: str) -> None:
    assert told in cli(*SAME, *ROLES, *FEW, "--fail-if", gate, "-q").mistake
    assert not Path("a").exists()


# --- the certificate ---

CODED = ("--suppress", "secret", *FEW)


@pytest.fixture
def coded(place: Path, cli: Run) -> Path:
    """A bundle `codes`, its release r.parquet, and a certificate of its own, c.json."""
    Path("few.yaml").write_text("candidates: 8")
    # Of few candidates a record may be given to itself, which an audit tells: the key is fixed.
    Path("owner.key").write_bytes(bytes(range(32)))
    Path("owner.key").chmod(0o600)
    options = ("--suppress", "secret", "--method", "random-substitute", "--config", "few.yaml",
               "--key", "owner.key")  # fmt: skip
    commands = (
        ("fit", "data.parquet", *options, "-o", "codes", "-q"),
        ("transform", "codes", "data.parquet", "-o", "r.parquet", "-q"),
        ("certify", "codes", "data.parquet", "--confidence", "0.9", "-o", "c.json", "-q"),
    )
    for command in commands:
        assert cli(*command).code == 0
    return place


@pytest.mark.slow
def test_a_certificate_of_a_bundle_or_of_a_file(coded: Path, cli: Run) -> None:
    audit = ("audit", "data.parquet", "r.parquet", *CODED, "--json", "-q")
    told = {"codes": 0.95, "codes/certificate.json": 0.95, "c.json": 0.9}
    bounds = []
    for path, confidence in told.items():
        found = cli(*audit, "--certificate", path).json
        secret = found["attributes"]["secret"]["certificate"]
        assert (secret["confidence"], secret["checked"]) == (confidence, True)
        assert found["certificate"]["method"] == "random-substitute"
        bounds.append(secret["bound"])
    assert bounds[0] == bounds[1] > bounds[2]
    assert "no attacker, however powerful" in Path("a/report.html").read_text()
    assert cli(*audit).json["attributes"]["secret"]["certificate"] is None


@pytest.mark.slow
def test_a_certificate_from_yaml_is_told_and_gated(coded: Path, cli: Run) -> None:
    Path("audit.yaml").write_text("certificate: codes\nfail_if: secret@certificate>99\n")
    audit = ("audit", "data.parquet", "r.parquet", *CODED)
    ran = cli(*audit, "--config", "audit.yaml")
    assert ran.code == 0
    assert "certified: no attacker reads secret from more than" in ran.out
    assert "PASS secret@certificate>99" in ran.out
    ran = cli(*audit, "-q", "--certificate", "codes", "--fail-if", "secret@certificate>5")
    assert ran.code == 3
    assert "gate failed: secret@certificate>5: secret (certificate) is > 5.00 %" in ran.err
    ran = cli(*audit, "-q", "--fail-if", "secret@certificate>99")
    assert ran.code == 3
    assert "cannot be checked: there is no certificate for 'secret'" in ran.err


def test_a_certificate_that_is_none_or_of_another_release(coded: Path, cli: Run) -> None:
    written = {
        "text.json": "{",
        "list.json": "[]",
        "other.json": '{"schema": 1, "attributes": {}}',
        "later.json": '{"schema": 2}',
    }
    for name, text in written.items():
        Path(name).write_text(text)
    Path("dir").mkdir()
    said = {
        "text.json": "text.json is not JSON",
        "list.json": "list.json: this is not a certificate; certify again",
        "other.json": "other.json: the certificate is damaged: 'version' is missing",
        "later.json": "later.json: the certificate has schema 2, and 1 is wanted here",
        "zz.json": "no certificate at zz.json; make one with: withhold certify",
        "data.parquet": "data.parquet is not JSON",
        "bundle": "bundle bundle has no certificate",
        "dir": "dir is not a bundle",
    }
    for path, told in said.items():
        audit = ("audit", "data.parquet", "r.parquet", *CODED, "-q", "--certificate", path)
        assert told in cli(*audit).mistake
    told = cli("audit", "data.parquet", *CODED, "-q", "--certificate", "codes").mistake
    assert "a certificate needs a release, and none was given" in told
    told = cli(*SAME, *CODED, "-q", "--certificate", "codes").mistake
    assert "records of data.parquet are not among the 8 codes of the certificate" in told
    assert not Path("a").exists()


# --- what is read, and matched ---


def test_shuffled_rows_are_matched_by_id(place: Path, cli: Run) -> None:
    frame = pd.read_csv("wide.csv")
    frame.sample(frac=1, random_state=1).to_csv("shuffled.csv", index=False)
    options = ("--features", "f_*", *ROLES, "--exclude", "loud,fast,take,person", "--quick")
    found = cli("audit", "wide.csv", "shuffled.csv", *options, "-o", "a", "--json").json
    assert found["utility"]["distortion"] == 0
    assert any("matched by column 'id'" in note for note in found["notes"])
    frame.drop(columns="id").sample(frac=1, random_state=1).to_csv("lost.csv", index=False)
    told = cli("audit", "wide.csv", "lost.csv", *options, "-o", "a", "-q").mistake
    assert "the rows are in another order" in told
    assert "(--id)" in told


def test_ids_that_are_others(place: Path, cli: Run) -> None:
    frame = pd.read_csv("wide.csv")
    frame["id"] = frame["id"] + "!"
    frame.to_csv("others.csv", index=False)
    options = ("--features", "f_*", *ROLES, "--id", "id", "-o", "a", "-q")
    told = cli("audit", "wide.csv", "others.csv", *options).mistake
    said = "no 'id' of wide.csv is in others.csv, such as 'record 0'; are they the same records?"
    assert told == said


def test_a_release_with_other_features(place: Path, cli: Run) -> None:
    frame = pd.read_csv("wide.csv")[["f_0", "f_1", "f_2", "id"]]
    frame.columns = ["g_0", "g_1", "g_2", "id"]
    frame.to_csv("fewer.csv", index=False)
    options = ("--features", "f_*", "--release-features", "g_*", *ROLES)
    options += ("--exclude", "loud,fast,take,person", "--quick", "-o", "a", "--json")
    told = cli("audit", "wide.csv", "fewer.csv", *options).mistake
    assert "column 'id' only numbers the rows" in told
    options += ("--same-order",)  # nothing but the user can say that they were not written anew
    found = cli("audit", "wide.csv", "fewer.csv", *options).json
    assert found["attributes"]["secret"]["ignorant"] is None
    assert found["utility"]["distortion"] is None
    assert any("3 features and the original 6" in note for note in found["notes"])


def test_joint_attributes_and_repeated_draws(place: Path, cli: Run) -> None:
    options = (*ROLES, *FEW, "--joint", "secret,useful", "--again", "data.parquet", "--json")
    found = cli(*SAME, *options).json
    both = found["attributes"]["secret,useful"]
    assert (both["role"], both["classes"]) == ("suppress", 4)
    assert both["repeated"]["accuracy"] > 0.8
    assert both["draws"] == 2
    assert any("every draw gave the same records" in note for note in found["notes"])
    told = cli(*SAME, *ROLES, *FEW, "--joint", "secret", "-q").mistake
    assert "join two or more" in told


def test_no_folder_for_the_evidence(place: Path, cli: Run) -> None:
    assert "name one with -o" in cli(*SAME, *ROLES).mistake


def test_a_setting_that_there_is_not(place: Path, cli: Run) -> None:
    Path("audit.yaml").write_text("supress: secret\n")
    told = cli(*SAME, "--config", "audit.yaml", "-o", "a").mistake
    assert "an audit has no setting 'supress'; did you mean 'suppress'?" in told


def _timeless(found: object) -> object:
    if isinstance(found, dict):
        return {k: _timeless(v) for k, v in found.items() if k not in ("seconds", "made")}
    return [_timeless(v) for v in found] if isinstance(found, list) else found


def _noise(x: pd.Series) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((len(x), len(x.iloc[0]))).astype(np.float32)


@pytest.mark.slow
def test_the_certificate_of_a_release_is_recounted_and_its_signature_checked(
    place: Path, cli: Run
) -> None:
    fit = ("fit", "data.parquet", *ROLES, "--method", "random-substitute", "-o", "b")
    assert cli(*fit).code == 0
    assert cli("transform", "b", "data.parquet", "-o", "r.parquet").code == 0
    audit = ("audit", "data.parquet", "r.parquet", *ROLES, *FEW, "--json", "-q")
    found = cli(*audit, "--certificate", "r.certificate.json", "--key", "b/key").json
    assert found["certificate"]["signature"] == "verified"
    digest = hashlib.sha256(Path("r.parquet").read_bytes()).hexdigest()
    assert (found["release"]["sha256"], found["release"]["sha256_of"]) == (digest, "file")
    proved = found["attributes"]["secret"]["certificate"]
    assert proved["release"]["one"] >= proved["recounted"]  # it knows the preserved label too
    edited = json.loads(Path("r.certificate.json").read_text())
    edited["attributes"]["secret"]["release"]["one"] = 0.5
    Path("e.certificate.json").write_text(json.dumps(edited))
    for key, told in (((), "it was changed"), (("--key", "b/key"), "not signed with this key")):
        ran = cli(*audit, "--certificate", "e.certificate.json", *key)
        assert ran.code == 2
        assert told in ran.err
