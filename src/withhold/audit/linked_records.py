"""`linked`: the attacker knows that r records are of one person, and combines their scores."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from withhold.audit.attackers.attacker import FloatArray
from withhold.audit.findings import Linked
from withhold.audit.intervals import Z_995, hull, share, wilson
from withhold.records.attribute import Attribute
from withhold.records.feasibility import contingency

Rows = npt.NDArray[np.int64]
SIZES = (5, 20, 50)
_BUNDLES = 2000
_PEOPLE = 5  # the fewest people that allow a statement about people
_AGREE = 0.98  # share of records with their person's label; one label in fifty may be a mistake
_IDENTITIES = 10  # an attribute with at least as many classes may be the identity


def linked(
    log_p: FloatArray,
    truth: Attribute,
    log_prior: FloatArray,
    people: Rows | None,
    *,
    seed: int,
    told: FloatArray | None = None,
    sizes: tuple[int, ...] = SIZES,
) -> tuple[dict[str, Linked], str]:
    """The accuracy on bundles of r test records of one person, for each r that test allows.

    The guess is argmax_s log π_s + sum_i (log p(s | x_i) - log π_s): records are taken as
    independent given the person, and the prior counts once. Without `people`, an attribute with
    many classes is taken as the person. `told` is log P(s | preserved labels) of the same records;
    a guess from it alone gives the floor. The second result says why nothing was measured.
    """
    if truth.multilabel:
        return {}, "an attribute of several labels per record has no linked tier"
    if people is None and len(truth.classes) < _IDENTITIES:
        return {}, "no column says which records are of one person; name it with --group"
    who = truth.codes if people is None else people
    label, agree = _labels(truth.codes, who)
    if agree < _AGREE:
        return {}, "it differs between the records of one person, so linking them adds nothing"
    found: dict[str, Linked] = {}
    for r in sizes:
        bundles, owner = _bundles(who, r, seed)
        named = np.bincount(label[bundles[:, 0]]) if len(bundles) else np.zeros(1)
        if len(np.unique(owner)) < _PEOPLE or named.max() == named.sum():
            continue
        right = _guess(log_p, log_prior, bundles) == label[bundles[:, 0]]
        floor = float(named.max() / named.sum())
        if told is not None:
            guess = _guess(told, log_prior, bundles)
            floor = max(floor, float((guess == label[bundles[:, 0]]).mean()))
        accuracy, ci, least = share(right, owner)
        # Bundles share records, so they are not independent. The mean over all bundles is only as
        # certain as the mean over disjoint ones (Hoeffding), and there are few of those.
        apart = int((np.unique(who, return_counts=True)[1] // r).sum())
        ci = hull(ci, wilson(accuracy * apart, apart))
        least = min(least, wilson(accuracy * apart, apart, z=Z_995)[0])
        found[str(r)] = Linked(
            records=r,
            people=len(np.unique(owner)),
            floor=floor,
            accuracy=accuracy,
            ci=ci,
            least=least,
        )
    few = (
        f"fewer than {_PEOPLE} people have {sizes[0]} records in the test part, or all have one"
        " class"
    )
    why = "" if found else few
    return found, why


def _bundles(who: Rows, r: int, seed: int) -> tuple[Rows, Rows]:
    """Bundles (b, r) of records of one person, and the person of each bundle.

    Bundles of one shuffle are disjoint; there are several shuffles. A person with more records
    gives more bundles, at least one, so that classes are as common among bundles as among records
    and the floor has the same meaning.
    """
    rng = np.random.default_rng([seed, 0x11, r])
    able = [np.flatnonzero(who == p) for p in np.unique(who)]
    able = [rows for rows in able if len(rows) >= r]
    bundles, owner = [], []
    total = sum(len(rows) for rows in able)
    for person, rows in enumerate(able):
        fits, each = len(rows) // r, max(round(_BUNDLES * len(rows) / total), 1)
        shuffles = [rng.permutation(rows)[: fits * r] for _ in range(-(-each // fits))]
        bundles.append(np.concatenate(shuffles).reshape(-1, r)[:each])
        owner += [person] * each
    if not bundles:
        return np.zeros((0, r), np.int64), np.zeros(0, np.int64)
    return np.concatenate(bundles), np.asarray(owner, np.int64)


def _guess(log_p: FloatArray, log_prior: FloatArray, bundles: Rows) -> Rows:
    """The likeliest class of each bundle if records are independent given the person."""
    evidence = log_p - log_prior
    pieces = np.array_split(bundles, max(len(bundles) // 256, 1))
    return np.concatenate([(evidence[p].sum(axis=1) + log_prior).argmax(axis=1) for p in pieces])


def _labels(codes: Rows, people: Rows) -> tuple[Rows, float]:
    """The commonest label of each record's person, and the share of records that have it."""
    _, member = np.unique(people, return_inverse=True)
    label = contingency(member, codes).argmax(axis=1)[member]
    return label, float((label == codes).mean())
