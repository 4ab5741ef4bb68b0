"""The evidence of an audit as it may be handed over with a release.

The owner's evidence holds facts about single records of the original: a picture of records, figures
for values that few people have, and the hash of the original, with which anyone who knows all of it
but one label could try that label. The bits that two columns of the original share are such a hash
too: someone who knows the originals and most labels computes them for every guess of the others.
Even two digits of them gave away 20 of 22 unknown labels of 400. None of these leaves.

`with_original` is such a figure too: it is computed from originals and labels, also of records
whose labels a receiver may not know. It cannot be left out, since it may be the reason for the
verdict. So it leaves in whole percents, which one label of more than a hundred test records seldom
changes.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, floor
from typing import TypeVar

from withhold.audit.evidence import Evidence
from withhold.audit.findings import WithOriginal

E = TypeVar("E", bound=Evidence)


def handed_over(evidence: E) -> E:
    """The same findings without facts about single records of the original."""
    attributes = {
        name: a.model_copy(
            update={
                "by_class": (),
                "by_group": (),
                "worst_group": None,
                "with_original": None
                if a.with_original is None
                else in_whole_percents(a.with_original),
            }
        )
        for name, a in evidence.attributes.items()
    }
    original = evidence.original.model_copy(update={"sha256": ""})
    possible = replace(
        evidence.feasibility,
        entropy={},
        pairs=(),
        majority={},
        ceiling={name: round(c, 2) for name, c in evidence.feasibility.ceiling.items()},
    )
    return evidence.model_copy(
        update={
            "attributes": attributes,
            "original": original,
            "map": None,
            "feasibility": possible,
        }
    )


def in_whole_percents(found: WithOriginal) -> WithOriginal:
    """The figures in whole percents, with the same conclusion (`sure`)."""
    least, most = (_up, _down) if found.sure else (_down, _up)
    return found.model_copy(
        update={
            "accuracy": round(found.accuracy, 2),
            "alone": round(found.alone, 2),
            "gain": round(found.gain, 2),
            "ci": (_down(found.ci[0]), _up(found.ci[1])),
            "gain_ci": (_down(found.gain_ci[0]), _up(found.gain_ci[1])),
            "least": least(found.least),
            "floor": most(found.floor),
            "attacker": "",  # which attacker was best depends on single records too
            "alone_attacker": "",
        }
    )


def _up(share: float) -> float:
    return ceil(100 * share) / 100


def _down(share: float) -> float:
    return floor(100 * share) / 100
