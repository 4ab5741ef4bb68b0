"""A user's mistakes: one line that says what, where and what to do; code 2; nothing left behind."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import Run, snapshot

FIT = ("--method", "mass", "--suppress", "secret", "-o", "b", "--config", "tiny.yaml")


def changed(name: str = "odd.parquet", **columns: object) -> None:
    """data.parquet with some columns replaced."""
    table = pq.read_table("data.parquet")
    for column, values in columns.items():
        array = values if isinstance(values, pa.Array) else pa.array(values)
        table = table.drop_columns([column]).append_column(column, array)
    pq.write_table(table, name)


def features(x: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(pa.array(x.astype(np.float32).ravel()), x.shape[1])


def with_value(value: float) -> None:
    x = np.zeros((240, 6))
    x[7, 2] = value
    changed(x=features(x))


def damage(file: str) -> None:
    shutil.copytree("bundle", "bad")
    path = Path("bad", file)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def write(name: str, content: str | bytes) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def cut() -> None:
    write("odd.parquet", Path("data.parquet").read_bytes()[:-200])


Setup = Callable[[], object] | None
DATA: dict[str, tuple[Setup, str]] = {
    "missing": (None, "no such file: odd.parquet"),
    "folder": (lambda: os.mkdir("odd.parquet"), "odd.parquet is a folder"),
    "empty": (lambda: write("odd.parquet", ""), "odd.parquet is empty"),
    "cut": (cut, "odd.parquet is not a Parquet file, or was cut short"),
    "text": (lambda: write("odd.parquet", "speaker,digit\n"), "is not a Parquet file"),
    "no rows": (
        lambda: pq.write_table(pq.read_table("data.parquet").slice(0, 0), "odd.parquet"),
        "odd.parquet has no rows",
    ),
    "nan": (lambda: with_value(np.nan), "'x' of odd.parquet is nan in row 7"),
    "inf": (lambda: with_value(np.inf), "'x' of odd.parquet is inf in row 7"),
}
ROLES: dict[str, tuple[Setup, str]] = {
    "one class": (lambda: changed(secret=["a"] * 240), "has one class only ('a')"),
    "all null": (
        lambda: changed(secret=pa.nulls(240, pa.string())),
        "'secret' of odd.parquet is null in every record",
    ),
    "fractions": (
        lambda: changed(secret=np.random.default_rng(0).random(240)),
        "is a column of fractions",
    ),
    "id": (lambda: changed(secret=[f"c{i}" for i in range(240)]), "240 classes in 240 labelled"),
    "few": (
        lambda: pq.write_table(pq.read_table("data.parquet").slice(0, 3), "odd.parquet"),
        "in 3 labelled records",
    ),
    "odd split": (
        lambda: changed(split=["train", "tset"] * 120),
        "'split' of odd.parquet contains",
    ),
    "null split": (
        lambda: changed(split=pa.array(["train", None] * 120)),
        "must be train, val or test for every record",
    ),
    "no train": (lambda: changed(split=["test"] * 240), "'split' of odd.parquet has no train"),
}


def refused(
    place: Path, cli: Run, setup: Setup, told: str, *arguments: str, output: str = "b"
) -> None:
    if setup is not None:
        setup()
    before = snapshot(place)
    message = cli(*arguments).mistake
    assert told in message
    assert snapshot(place) == before
    if output.endswith(".parquet"):
        Path(output).write_text("an older release")
        before = snapshot(place)
        assert told in cli(*arguments).mistake
        assert snapshot(place) == before


@pytest.mark.parametrize("case", DATA | ROLES)
def test_fit(place: Path, cli: Run, case: str) -> None:
    refused(place, cli, *(DATA | ROLES)[case], "fit", "odd.parquet", *FIT)


@pytest.mark.parametrize("case", DATA)
def test_inspect(place: Path, cli: Run, case: str) -> None:
    refused(place, cli, *DATA[case], "inspect", "odd.parquet")


@pytest.mark.parametrize("case", DATA)
def test_transform(place: Path, cli: Run, case: str) -> None:
    refused(
        place, cli, *DATA[case], "transform", "bundle", "odd.parquet", "-o", "r.parquet", "-q",
        output="r.parquet",
    )  # fmt: skip


@pytest.mark.parametrize("case", [c for c in DATA | ROLES if c != "few"])
def test_audit_original(place: Path, cli: Run, case: str) -> None:
    setup, told = (DATA | ROLES)[case]
    audit = ("audit", "odd.parquet", "data.parquet", "--suppress", "secret", "-o", "a")
    refused(place, cli, setup, told, *audit)


@pytest.mark.parametrize("case", DATA)
def test_audit_release(place: Path, cli: Run, case: str) -> None:
    setup, told = DATA[case]
    audit = ("audit", "data.parquet", "odd.parquet", "--suppress", "secret", "-o", "a")
    refused(place, cli, setup, told, *audit)


F = ("fit", "data.parquet")
S = ("--suppress", "secret")
T = ("transform", "bundle", "data.parquet", "-o")
A = ("audit", "data.parquet", "data.parquet")
E = ("extract", "data.parquet", "-o")
ARGUMENTS: list[tuple[tuple[str, ...], str]] = [
    # roles and columns
    ((*F, "--suppress", "secrt", "-o", "b"), "did you mean 'secret'?"),
    ((*F, "--suppress", "zzz", "-o", "b"), "(it has: secret, useful"),
    ((*F, "--suppress", "", "-o", "b"), "name at least one with --suppress"),
    ((*F, *S, "--preserve", "secret", "-o", "b"), "in both --suppress and --preserve"),
    ((*F, *FIT, "--features", "y"), "feature column 'y' is not in data.parquet"),
    ((*F, *FIT, "--features", "f_*"), "no column of data.parquet matches 'f_*'"),
    ((*F, *FIT, "--group", "persn"), "did you mean 'person'?"),
    ((*F, *FIT, "--exclude", "zzz"), "(columns: secret, useful"),
    ((*F, *FIT, "--multilabel", "a"), "is not NAME=COLUMN"),
    ((*F, *FIT, "--multilabel", "=loud"), "is not NAME=COLUMN"),
    ((*F, *FIT, "--multilabel", "a=loud", "--multilabel", "a=fast"), "names 'a' twice"),
    ((*F, *FIT, "--multilabel", "secret=loud,fast"), "names both a column of data.parquet and"),
    ((*F, *FIT, "--multilabel", "a=load"), "did you mean 'loud'?"),
    (("inspect", "data.parquet", "--preserve", "secret"), "name at least one with --suppress"),
    ((*A, "--suppress", "secrt", "-o", "a"), "did you mean 'secret'?"),
    # what to hold out
    ((*F, *FIT, "--test", "take"), "is not COLUMN OP VALUE"),
    ((*F, *FIT, "--test", "take>="), "is not COLUMN OP VALUE"),
    ((*F, *FIT, "--test", ""), "is not COLUMN OP VALUE"),
    ((*F, *FIT, "--test", "tak>=3"), "did you mean 'take'?"),
    ((*F, *FIT, "--test", "take>=many"), "'many' in 'take>=many' is not a number"),
    ((*F, *FIT, "--test", "take>=99"), "holds for no record"),
    # methods and their settings
    ((*F, *FIT, "--method", "mas"), "did you mean 'mass'?"),
    ((*F, *FIT, "--preset", "audiomnit"), "did you mean 'audiomnist'?"),
    ((*F, *FIT, "--method", "noise"), "no setting 'hidden' (settings: sigma, per)"),
    ((*F, *S, "-o", "b", "--config", "no.yaml"), "cannot read no.yaml"),
    ((*F, *S, "-o", "b", "--config", "bundle"), "cannot read bundle: Is a directory"),
    ((*F, *FIT, "--raw", "data.npz"), "data.parquet does not say how its features were extracted"),
    # where to write
    ((*F, *S, "-o", "no/such/b"), "folder no/such does not exist"),
    ((*F, *S, "-o", "data.parquet"), "data.parquet is the input"),
    ((*F, *S, "-o", "tiny.yaml/b"), "folder tiny.yaml does not exist"),
    ((*T, "no/such/r.parquet"), "folder no/such does not exist"),
    ((*T, "data.parquet"), "data.parquet is the input"),
    ((*T, "r.txt"), "the name must end in one of"),
    ((*T, "bundle"), "the name must end in one of"),
    ((*E, "e.csv", "--column", "x"), "name it .parquet or .npz"),
    ((*E, "no/e.parquet"), "folder no does not exist"),
    ((*E, "data.parquet"), "data.parquet is the input"),
    ((*A, *S, "-o", "tiny.yaml"), "tiny.yaml is a file; -o names a folder"),
    ((*A, *S, "-o", "tiny.yaml/a"), "tiny.yaml is a file"),
    # bundles, media, recipes
    (("transform", "no", "data.parquet", "-o", "r.parquet"), "no bundle at no; make one with"),
    (("transform", "data.parquet", "bundle", "-o", "r.parquet"), "is not a bundle"),
    ((*E, "e.parquet", "--extractor", "logmell"), "did you mean 'logmel'?"),
    ((*E, "e.parquet"), "name it with --column"),
    ((*E, "e.parquet", "--column", "usefull"), "did you mean 'useful'?"),
    ((*E, "e.parquet", "--column", "x"), "give it with --rate"),
    ((*E, "e.parquet", "--column", "id", "--rate", "8000"), "'x' is a label of data.parquet"),
    ((*E, "e.parquet", "--column", "x", "--rate", "8000", "--like", "data.parquet"),
     "does not say how its features were extracted"),
    (("bench", "audiomnist-table33"), "did you mean 'audiomnist-table3'?"),
    (("bench", "no.yaml"), "no such recipe: no.yaml"),
    (("bench", "tiny.yaml"), "tiny.yaml: 'title': Field required"),
    # options
    ((*F, "--supress", "secret", "-o", "b"), "--suppress"),
    ((*F, "-o", "b"), "Missing option '--suppress'; see: withhold fit --help"),
    ((*F, *S), "Missing option '--output'"),
    (("fit",), "Missing argument 'DATA'; see: withhold fit --help"),
    (("fitt",), "No such command 'fitt'. Did you mean 'fit'?; see: withhold --help"),
    ((*F, *S, "-o", "b", "--seed", "-1"), "'--seed'"),
    ((*F, *S, "-o", "b", "--seed", "one"), "'--seed'"),
    ((*F, "more", *S, "-o", "b"), "extra argument"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "told"), ARGUMENTS, ids=lambda v: " ".join(v)[:60])
def test_arguments(place: Path, cli: Run, arguments: tuple[str, ...], told: str) -> None:
    refused(place, cli, None, told, *arguments)


CONFIGS = {
    "a: [1, 2": "is not YAML: expected ',' or ']', but got '<stream end>' (line 1, column 9)",
    "just words": "must contain settings as NAME: VALUE lines",
    "[1, 2]": "must contain settings as NAME: VALUE lines",
    "!!python/object/apply:os.system ['echo hi']": "is not YAML",
    "\xff\xfe": "is not text in UTF-8",
    "epochs: -3": "setting 'epochs' of method 'mass': Input should be greater than",
    "epochs: many": "setting 'epochs'",
    "epoks: 3": "no setting 'epoks'; did you mean 'epochs'?",
    "contrastive: {epoch: 3}": "no setting 'contrastive.epoch'; did you mean 'epochs'?",
    "learning_rate: .nan": "setting 'learning_rate'",
    "preset: [3]": "has no preset '[3]' (presets:",
    "1: 2": "setting '1'",
    "suppression: {scret: 3}": "did you mean 'secret'?",
    "suppression: [-1]": "setting 'suppression",
}


@pytest.mark.parametrize("text", CONFIGS)
def test_settings(place: Path, cli: Run, text: str) -> None:
    fit = ("fit", "data.parquet", "--method", "mass", *S, "-o", "b", "--config", "c.yaml")
    refused(place, cli, lambda: write("c.yaml", text.encode("latin-1")), CONFIGS[text], *fit)


@pytest.mark.parametrize("text", ["a: [1, 2", "words", "\xff", "", "title: t\nrow: []"])
def test_recipes(place: Path, cli: Run, text: str) -> None:
    setup = lambda: write("c.yaml", text.encode("latin-1"))  # noqa: E731
    refused(place, cli, setup, "c.yaml", "bench", "c.yaml", "-o", "out")


@pytest.mark.parametrize(
    "file", ["bundle.json", "weights.safetensors", "history.json", "SHA256SUMS"]
)
def test_one_flipped_bit_in_a_bundle(place: Path, cli: Run, file: str) -> None:
    transform = ("transform", "bad", "data.parquet", "-o", "r.parquet")
    refused(place, cli, lambda: damage(file), "bundle bad: ", *transform, output="r.parquet")


def test_plain_folder_as_bundle(place: Path, cli: Run) -> None:
    transform = ("transform", "plain", "data.parquet", "-o", "r.parquet")
    refused(place, cli, lambda: os.mkdir("plain"), "plain is not a bundle", *transform)


def test_other_number_of_features(place: Path, cli: Run) -> None:
    transform = ("transform", "bundle", "odd.parquet", "-o", "r.parquet", "-q")
    setup = lambda: changed(x=features(np.zeros((240, 9))))  # noqa: E731
    told = "odd.parquet has 9 features, the bundle was fitted on 6; name the same ones"
    refused(place, cli, setup, told, *transform, output="r.parquet")


def test_other_number_of_records_in_a_release(place: Path, cli: Run) -> None:
    setup = lambda: pq.write_table(pq.read_table("data.parquet").slice(3), "r.parquet")  # noqa: E731
    audit = ("audit", "data.parquet", "r.parquet", *S, "-o", "a")
    refused(place, cli, setup, "data.parquet has 240 records and r.parquet 237", *audit)


def test_nothing_to_measure_on(place: Path, cli: Run) -> None:
    audit = ("audit", "odd.parquet", "data.parquet", *S, "-o", "a")
    refused(place, cli, lambda: changed(split=["train"] * 240), "has no test records", *audit)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize(
    "arguments",
    [(*F, *S, "-o", "shut/b"), (*T, "shut/r.parquet"), (*A, *S, "-o", "shut/a"),
     (*E, "shut/e.parquet")],
)  # fmt: skip
def test_folder_without_permission(place: Path, cli: Run, arguments: tuple[str, ...]) -> None:
    setup = lambda: os.mkdir("shut", 0o500)  # noqa: E731
    refused(place, cli, setup, "cannot be written (no permission)", *arguments)


def test_file_without_permission_to_read(
    place: Path, cli: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, *_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    assert "permission denied" in cli("inspect", "data.parquet").mistake
