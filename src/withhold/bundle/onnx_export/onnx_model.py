"""The model of a bundle as bytes, and the warnings that go with it."""

from __future__ import annotations

from withhold.bundle.bundle import Bundle
from withhold.bundle.onnx_export.onnx_form import form_of
from withhold.bundle.onnx_export.onnx_graph import Graph

WARNING = (
    "whoever has the model file can make as many draws of a record as they like, and the"
    " certificate does not hold against that; the key is not in the file: keep the file as private"
    " as the bundle"
)
_WITHOUT_DRAWS = (
    "whoever has the model file can try it on records of their own; keep it as private as the"
    " bundle"
)


def onnx_bytes(bundle: Bundle) -> bytes:
    """The ONNX model of a bundle's modifier. The same bundle gives the same bytes.

    It holds neither the key nor names of attributes or classes.
    """
    modifier = bundle.modifier
    form = form_of(modifier)
    graph = Graph()
    form.graph(modifier, graph)
    facts = {
        "withhold.method": bundle.method,
        "withhold.version": bundle.versions["withhold"],
        "withhold.kind": bundle.kind,
        "withhold.draws": ",".join(form.draws),
        "withhold.warning": warnings_of(bundle)[0],
    }
    return graph.model(facts)


def warnings_of(bundle: Bundle) -> list[str]:
    """What a user must know about the model of this bundle."""
    form = form_of(bundle.modifier)
    return [WARNING if form.draws else _WITHOUT_DRAWS, *form.notes(bundle.modifier)]
