"""What retrained models read from features: a few attackers, for many releases in one run.

The parts, attackers, choice and intervals are those of an audit. Only the retrained attacker on
single records is measured: no columns, no linked records, no slices.
"""

from __future__ import annotations

from collections.abc import Sequence

from withhold.audit.attack import RecordLimits
from withhold.audit.attack_jobs import Jobs
from withhold.audit.attack_plan import Seen, questions
from withhold.audit.attackers import Attacker, MlpLarge, Nearest, Prior, Trees
from withhold.audit.attribute_evidence import AttributeEvidence
from withhold.audit.feature_views import FeatureViews
from withhold.audit.measure_attribute import measure
from withhold.audit.setting_groups import Effort
from withhold.audit.split import Split, unmeasurable
from withhold.core.progress import Progress, Silent
from withhold.records.dataset import Dataset, FloatArray
from withhold.records.roles import Roles

NETWORK = MlpLarge(epochs=24, patience=5)
# The prior guesses the commonest class: where nothing can be read, it is what val chooses.
# With many classes, trees take minutes for each release; nearest neighbours replace them there.
FEW: tuple[Attacker, ...] = (Prior(), Trees(), NETWORK)
MANY: tuple[Attacker, ...] = (Prior(), Nearest(), NETWORK)
MOST_CLASSES = 20
_LIMITS = RecordLimits(train=12_000, val=3_000, test=10_000)
_SMALL = 5_000  # records; for fewer, worker processes start more slowly than they attack


def measurable(data: Dataset, roles: Roles) -> tuple[str, ...]:
    """Attributes that are not suppressed and that the split of `data` can measure, the preserved
    ones first."""
    split = Split.of(data, 0)
    able = [n for n, a in data.labels().items() if unmeasurable(a, split) is None]
    names = dict.fromkeys([*roles.preserve, *able])
    return tuple(n for n in names if n not in roles.suppress and n != data.group)


def read_features(
    x: FloatArray,
    data: Dataset,
    roles: Roles,
    others: Sequence[str],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, AttributeEvidence]:
    """The best retrained attacker on x (n, d) for every suppressed attribute and for `others`.

    `data` has the labels and the split of the same n records, in the same order.
    """
    split = Split.of(data, seed)
    hidden = [name for name in others if name not in roles.named]
    asks = questions(data, roles, split, hidden=hidden, joint=(), limits=_LIMITS, seed=seed)
    seen = Seen(x, FeatureViews.of(x[split.train], seed=seed))
    found = {}
    for attackers, chosen in (
        (FEW, [q for q in asks if len(q.attribute.classes) <= MOST_CLASSES]),
        (MANY, [q for q in asks if len(q.attribute.classes) > MOST_CLASSES]),
    ):
        jobs = Jobs(chosen, attackers, None, seen, None, None, {}, seed=seed, quick=True)
        if chosen:
            effort = Effort(workers=1 if len(data) <= _SMALL else None)
            jobs.run({}, (), effort, progress or Silent())
        for q in chosen:
            found[q.name] = measure(
                q,
                jobs.ladder[q.name],
                (),
                declined=jobs.declined[q.name],
                others={},
                group=data.group,
                seed=seed,
            )
    return found


def ladder_names() -> dict[str, tuple[str, ...]]:
    """The attackers for few and for many classes, by name."""
    return {
        f"at most {MOST_CLASSES} classes": tuple(a.name for a in FEW),
        f"more than {MOST_CLASSES} classes": tuple(a.name for a in MANY),
    }
