"""The audit as an action: what can still be inferred from a release, and the report of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from withhold.audit.attackers.attacker import Attacker, Prediction
from withhold.audit.evaluate import evaluate
from withhold.audit.evidence import Evidence
from withhold.certificate import Certificate
from withhold.certificate.release_file import ReleaseCertificate
from withhold.core.progress import Progress
from withhold.records.dataset import Dataset


class Audit(Evidence):
    """The evidence of an audit, which can be written as a page."""

    @classmethod
    def of(cls, evidence: Evidence) -> Audit:
        """The same evidence."""
        return cls.model_construct(**{n: getattr(evidence, n) for n in type(evidence).model_fields})

    def to_html(self, path: str | Path, *, title: str = "Audit") -> None:
        """Write `report.html`: one self-contained page, atomically."""
        from withhold.report import write_report  # only a page needs the templates

        write_report(self, path, title=title)


def audit(
    original: Dataset,
    release: Dataset | None = None,
    suppress: Iterable[str] | str = (),
    preserve: Iterable[str] | str = (),
    *,
    hidden: Iterable[str] | str | None = None,
    joint: Iterable[Sequence[str] | str] = (),
    id: str | None = None,
    same_order: bool = False,
    order_counts: bool = True,
    average: str | None = None,
    again: Sequence[Dataset] = (),
    models: Mapping[str, Prediction] | None = None,
    attackers: Sequence[Attacker] | None = None,
    quick: bool = False,
    certificate: Certificate | ReleaseCertificate | None = None,
    key: bytes | str | Path | None = None,
    fail_if: str | Iterable[str] | None = None,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack a release with retrained attackers; without one, attack the original.

    The settings are those of `withhold.audit.evaluate.evaluate`.
    """
    return Audit.of(
        evaluate(
            original,
            release,
            suppress,
            preserve,
            hidden=hidden,
            joint=joint,
            id=id,
            same_order=same_order,
            order_counts=order_counts,
            average=average,
            again=again,
            models=models,
            attackers=attackers,
            quick=quick,
            certificate=certificate,
            key=key,
            fail_if=fail_if,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    )
