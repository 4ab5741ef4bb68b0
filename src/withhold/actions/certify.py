"""The action `certify`: a bound on every attacker, from records that the fit never saw."""

from __future__ import annotations

from pathlib import Path

from withhold.actions.engine_options import EngineOptions
from withhold.actions.request import DataOptions, Request
from withhold.bundle.bundle import load_bundle
from withhold.certificate.certify_bundle import certify as certified
from withhold.certificate.claims import Certificate
from withhold.core.output_targets import check_target
from withhold.core.progress import Progress, Silent


class CertifyRequest(Request):
    """A bundle, labelled records, and where to write the certificate.

    Features and multi-label attributes default to those of the fit.
    """

    bundle: Path
    data: Path
    output: Path
    confidence: float = 0.95
    features: str | None = None
    reading: DataOptions = DataOptions()
    key: Path | None = None
    of_engine: EngineOptions = EngineOptions()


def certify(request: CertifyRequest, progress: Progress | None = None) -> Certificate:
    """Certify the bundle, and write the certificate."""
    progress = progress or Silent()
    check_target(request.output, request.data)
    bundle = load_bundle(request.bundle, key=request.key)
    fitted = {name: tuple(labels) for name, labels in bundle.input["multilabel"].items()}
    how = request.reading.model_copy(
        update={
            "features": request.features or bundle.feature_spec,
            "multilabel": request.reading.multilabel or fitted,
        }
    )
    dataset = how.read(request.data, progress)
    with request.of_engine.open(progress) as engine:
        found = certified(
            bundle, dataset, confidence=request.confidence, progress=progress, spread=engine.map
        )
    found.to_json(request.output)
    return found
