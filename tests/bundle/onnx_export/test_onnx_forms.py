"""Every exported model equals its modifier in onnxruntime, on data and on edge inputs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
import pytest

from contracts import test_methods as contracts
from support import key_of, mixed
from withhold.actions.export import onnx_inputs
from withhold.actions.fit import fit_bundle
from withhold.bundle.bundle import Bundle
from withhold.bundle.onnx_export import form_of, onnx_bytes
from withhold.bundle.onnx_export.channel_forms import CELL, CLASS, UNIFORM
from withhold.bundle.onnx_export.reader_graphs import FOLD
from withhold.core.errors import RecordError
from withhold.methods import Channel, method_names
from withhold.methods.channel import pick
from withhold.methods.features.codebook import CodebookModifier
from withhold.records.dataset import Dataset
from withhold.records.roles import Roles
from withhold.release.certificate import Certifier
from withhold.release.modify_dataset import modify_dataset
from withhold.release.survey import survey

LABELLED = {"use_labels": True}
EXACT = {
    "codes": 4, "hidden": [8], "epochs": 2, "rounds": 1, "exact_rounds": 1, "least": 2,
    "smallest": 4,
}  # fmt: skip
# A case a method, and further ones for the other readers and draws of a codebook.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    name: (name, contracts.QUICK.get(name, {})) for name in method_names("features")
} | {
    "exact": ("exact", EXACT),
    "codebook substitute": ("codebook", contracts.BOOK | {"solver": "substitute"}),
    "codebook budget": ("codebook", contracts.BOOK | {"budget": "secret<=97"}),
    "codebook folds": ("codebook", contracts.BOOK | {"folds": 2}),
    "codebook labels": ("codebook", contracts.BOOK | LABELLED),
    "codebook barycentre": ("codebook", contracts.BOOK | {"solver": "barycentre"} | LABELLED),
}
every_case = pytest.mark.parametrize("case", CASES)


@cache
def data() -> Dataset:
    """The mixed data, every record labelled."""
    return contracts.TestCodebookBarycentre.dataset()


@cache
def fitted(case: str) -> Bundle:
    method, config = CASES[case]
    return fit_bundle(
        data(), Roles.of("secret,tags", "colour"), method=method, config=config, key=key_of(0)
    )


@cache
def session(case: str) -> Any:
    return session_of(fitted(case))


def session_of(bundle: Bundle) -> Any:
    return onnxruntime.InferenceSession(onnx_bytes(bundle), providers=["CPUExecutionProvider"])


def labels_of(bundle: Bundle, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
    return {n: data().attribute(n).rows(rows) for n in bundle.modifier.needs}


def edge_inputs(d: int) -> dict[str, npt.NDArray[np.float32]]:
    rng = np.random.default_rng(1)
    return {
        "random": rng.standard_normal((50, d)).astype(np.float32) * 100,
        "zeros": np.zeros((3, d), np.float32),
        "large": np.full((2, d), 1e6, np.float32) * np.array([[1], [-1]], np.float32),
        "denormal": np.full((4, d), 1e-40, np.float32),
        "one row": rng.standard_normal((1, d)).astype(np.float32),
        "many rows": rng.standard_normal((1500, d)).astype(np.float32) * 200,
        "no rows": np.empty((0, d), np.float32),
    }


def close(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    """Equal to 1e-5 of the size of the row, or absolutely where it is small."""
    size = np.maximum(np.abs(other).max(axis=1, keepdims=True, initial=0), 1)
    assert (np.abs(one.astype(np.float64) - other) <= 1e-5 * size).all()


@every_case
@pytest.mark.parametrize("edge", ["data", *edge_inputs(1)])
def test_the_model_equals_the_modifier(case: str, edge: str) -> None:
    bundle, run = fitted(case), session(case)
    modifier: Any = bundle.modifier
    x = data().x if edge == "data" else edge_inputs(modifier.dimension)[edge]
    labels = labels_of(bundle, np.arange(len(x)) % len(data()))
    inputs = form_of(modifier).inputs(modifier, x, labels)
    assert set(inputs) == {i.name for i in run.get_inputs()}
    released = run.run(["released"], inputs)[0]
    assert released.dtype == np.float32
    if not isinstance(modifier, Channel):
        close(released, modifier.transform(x, labels))
        return
    w, code = run.run(["probabilities", "code"], inputs)
    close(w, modifier.probabilities(x, labels))
    # A number within rounding of the border of two codes may fall on either side.
    torn = _near_border(modifier, x, labels, inputs[UNIFORM])
    assert torn.mean() < 0.05 if len(x) else True
    drawn = modifier.draw(x, labels)
    np.testing.assert_array_equal(code[~torn], drawn[~torn])
    np.testing.assert_array_equal(released[~torn], modifier.codes[drawn][~torn])


def _near_border(
    modifier: Any, x: npt.NDArray[np.float32], labels: Any, u: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Whether 1e-5 more or less would draw another code."""
    if not len(x):
        return np.zeros(0, bool)
    merged = isinstance(modifier, CodebookModifier) and modifier.book.merge is not None
    w = modifier._outputs(x, labels) if merged else modifier.probabilities(x, labels)
    return np.asarray(pick(w, u - 1e-5) != pick(w, u + 1e-5))


@every_case
def test_the_inputs_of_a_dataset_make_the_rows_of_a_release(case: str) -> None:
    """In the order of the data. The draws of `exact` belong to rows, not to features."""
    bundle = fitted(case)
    found = survey([(data().x, data().table)], bundle.modifier.key)
    labels = labels_of(bundle, np.arange(len(data())))
    made = modify_dataset(bundle, data(), labels, found.digests, Certifier(bundle), {})
    close(session(case).run(["released"], onnx_inputs(bundle, data()))[0], made.x)


@every_case
def test_a_batch_of_any_size_gives_the_same_rows(case: str) -> None:
    inputs = onnx_inputs(fitted(case), data())
    whole = session(case).run(["released"], inputs)[0]
    one = session(case).run(["released"], {k: v[3:4] for k, v in inputs.items()})[0]
    close(one, whole[3:4])


@every_case
def test_what_is_not_finite_is_never_given_a_plausible_row(case: str) -> None:
    inputs = dict(onnx_inputs(fitted(case), data()))
    x = inputs["x"].copy()
    x[1, 0], x[2, 1], x[4, 0] = np.nan, np.inf, -np.inf
    released = session(case).run(["released"], inputs | {"x": x})[0]
    assert np.isnan(released[[1, 2, 4]]).all()
    assert np.isfinite(np.delete(released, [1, 2, 4], axis=0)).all()


@pytest.mark.parametrize("case", ["codebook labels", "exact", "pass", "codebook"])
def test_a_record_without_a_code_is_marked(case: str) -> None:
    """Where `transform` refuses a record as too large, the model gives code -1 and NaN."""
    bundle, modifier = fitted(case), fitted(case).modifier
    x = np.array(data().x[:5])
    x[2] = 3e38 * np.sign(np.arange(x.shape[1]) % 2 - 0.5)
    labels = labels_of(bundle, np.arange(5))
    inputs = form_of(modifier).inputs(modifier, x, labels)
    code, released = session(case).run(["code", "released"], inputs)
    assert isinstance(modifier, Channel)
    try:
        np.testing.assert_array_equal(code, modifier.draw(x, labels))
    except RecordError:
        assert code[2] == -1
        assert np.isnan(released[2]).all()
    assert (np.delete(code, 2) >= 0).all()


@pytest.mark.parametrize("case", ["codebook labels", "exact"])
def test_an_invalid_number_or_class_is_marked(case: str) -> None:
    inputs = dict(onnx_inputs(fitted(case), data()))
    uniform, known = inputs[UNIFORM].copy(), inputs[CLASS].copy()
    uniform[:3], known[3] = (0.0, 1.0, np.nan), -1
    code, released = session(case).run(
        ["code", "released"], inputs | {UNIFORM: uniform, CLASS: known}
    )
    assert (code[:4] == -1).all()
    assert np.isnan(released[:4]).all()
    assert (code[4:] >= 0).all()


def test_the_draw_is_the_inverse_of_the_distribution_function() -> None:
    """Many numbers for one record: the shares of the codes are their probabilities."""
    inputs = onnx_inputs(fitted("codebook"), data())
    n = 4000
    many = {k: np.repeat(v[:1], n, axis=0) for k, v in inputs.items()}
    many[UNIFORM] = (np.arange(n) + 0.5) / n
    code, w = session("codebook").run(["code", "probabilities"], many)
    shares = np.bincount(code, minlength=w.shape[1]) / n
    np.testing.assert_allclose(shares, w[0], atol=1.5 / n)


def test_merged_and_mixed_codes_are_drawn_as_transform_does() -> None:
    """All four ways: codes merged or not, mixed or not."""
    bundle = fitted("codebook")
    modifier = bundle.modifier
    assert isinstance(modifier, CodebookModifier)
    book = replace(modifier.book, merge=None, mix=0.0, codes=np.array(modifier.codes))
    outputs = len(book.reader)
    merge = np.arange(outputs) // 2
    fewer = int(merge.max()) + 1
    x = np.random.default_rng(0).standard_normal((outputs, modifier.dimension)).astype(np.float32)
    for merged in (False, True):
        n = fewer if merged else outputs
        for mix in (0.0, 0.3):
            other = modifier.with_book(
                replace(
                    book, codes=x[:n], merge=merge if merged else None, mix=mix,
                    weights=np.full(n, 1 / n, np.float32), potentials=None,
                )
            )  # fmt: skip
            inputs = form_of(other).inputs(other, data().x, {})
            run = session_of(replace(bundle, modifier=other))
            code, w = run.run(["code", "probabilities"], inputs)
            close(w, other.probabilities(data().x))
            torn = _near_border(other, data().x, {}, inputs[UNIFORM])
            np.testing.assert_array_equal(code[~torn], other.draw(data().x)[~torn])


def test_every_kind_of_input_is_covered() -> None:
    """The cases above ask for all the inputs there are."""
    found = {i.name for case in CASES for i in session(case).get_inputs()}
    assert found == {"x", "noise", UNIFORM, CLASS, CELL, FOLD}
    assert data().dimension == mixed().dimension


@every_case
def test_the_file_holds_no_key_and_no_names(case: str) -> None:
    bundle = fitted(case)
    model = onnx_bytes(bundle)
    assert onnx_bytes(bundle) == model
    assert bundle.modifier.key not in model
    assert bundle.modifier.key.hex().encode() not in model
    for word in (b"secret", b"colour", b"tags", b"green"):
        assert word not in model
