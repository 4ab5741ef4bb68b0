"""The figures of a fit, a certificate and an audit, by the names that they have in a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from withhold.audit.evidence import Evidence
from withhold.bundle.bundle import Bundle
from withhold.core.run_log import RunLogs

_NOT_LOSSES = ("stage", "epoch")


def log_epoch(log: RunLogs, entry: Mapping[str, Any]) -> None:
    """The mean losses of one epoch of a stage."""
    for name, value in entry.items():
        if name not in _NOT_LOSSES and _is_number(value):
            log.number(f"loss/{entry['stage']}/{name}", value, int(entry["epoch"]))


def log_bundle(log: RunLogs, bundle: Bundle) -> None:
    """What was fitted, and the bounds of its certificate.

    Of the settings only numbers and switches: a text or a list may hold the name of a class.
    """
    settings = {
        f"config.{name}": value
        for name, value in bundle.config.items()
        if _is_number(value) or isinstance(value, bool)
    }
    log.facts(
        {
            "method": bundle.method,
            "seed": bundle.seed,
            "records": bundle.input["records"],
            "withhold": bundle.versions["withhold"],
            **settings,
        }
    )
    if bundle.certificate is not None:
        log_certificate(log, bundle.certificate, bundle.roles.suppress)


def log_certificate(
    log: RunLogs, certificate: Mapping[str, Any], suppress: tuple[str, ...]
) -> None:
    """The bound on every attacker, attribute by attribute.

    Of an attribute with several labels the label with the highest bound is logged, so that no name
    of a label is. `all` is the bound on all attributes together.
    """
    claims: Mapping[str, Any] = certificate["attributes"]
    found: dict[str, Mapping[str, Any]] = {}
    for name, claim in claims.items():
        own = next((s for s in suppress if name == s or name.startswith(f"{s}.")), "all")
        own = "all" if "," in name and name not in suppress else own
        if own not in found or claim["bound"] > found[own]["bound"]:
            found[own] = claim
    for name, claim in found.items():
        for figure in ("bound", "floor", "majority"):
            if _is_number(claim.get(figure)):
                log.number(f"certificate/{name}/{figure}", claim[figure])


def log_audit(log: RunLogs, evidence: Evidence) -> None:
    """What attackers read of each attribute, the floors, and whether the gate passed."""
    for name, found in evidence.attributes.items():
        log.number(f"audit/{name}/floor", found.floor)
        log.number(f"audit/{name}/original", found.original.accuracy)
        for tier, score in found.tiers.items():
            log.number(f"audit/{name}/{tier}", score.accuracy)
    if evidence.mnag is not None:
        log.number("audit/mnag", evidence.mnag)
    if evidence.gate is not None:
        log.number("audit/gate_passed", float(evidence.gate.passed))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
