"""Choose the sharpness of the channel and the number of codes on held-out records.

For each candidate, on the calibration records:

    advantage  = (bound - floor) / (1 - floor)       what a certificate would leave open, 0..1
    distortion = E |x~ - c~_J|^2 / E |x~|^2          what is lost of the records, about 0..1

x~ is the record minus the mean of its class, because what separates the classes should be lost. The
candidate with the smallest sum is chosen: it keeps as much of the records as the proof allows. The
number of codes is reduced by merging near codes (Ward), never across preserved values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from withhold.core.progress import Progress
from withhold.methods.channel import IntArray
from withhold.methods.features.codebook.assemble import draws_of, people_behind, people_of, placed
from withhold.methods.features.codebook.modifier import CodebookModifier
from withhold.methods.features.codebook.reader import FoldedReader, MetricReader, NetworkReader
from withhold.methods.features.codebook.robust import sums_by
from withhold.methods.modifier import FloatArray
from withhold.records.dataset import Dataset

FEWEST = 50  # calibration records; with fewer, nothing is chosen
SHARPNESS = (1.0, 2.0, 4.0)
DEFAULT = 2.0  # sharpness if there are too few calibration records
_MOST_CODES = 512  # merged one by one
_SAMPLES = 8  # of the counts of a certificate
_FEATURES = 256  # in which distortion is measured


@dataclass(frozen=True, eq=False)
class Labelled:
    """Records with the suppressed class (n,), -1 where missing, and the preserved value (n,)."""

    data: Dataset
    s: IntArray
    u: IntArray


@dataclass(frozen=True)
class CodebookCandidate:
    """A sharpness, a number of codes, and their results on the calibration records."""

    sharpness: float
    codes: int
    bound: float
    advantage: float
    distortion: float

    @property
    def cost(self) -> float:
        """The sum to minimise."""
        return self.advantage + self.distortion


def choose(
    made: CodebookModifier,
    fitted: Labelled,
    held: Labelled,
    *,
    floor: float,
    units: int,
    sharpness: float | None,
    merge: bool,
    least: int,
    seed: int,
    progress: Progress,
) -> CodebookModifier:
    """The modifier with the sharpness and the codes that cost least on the calibration records.

    `units` is how many records (people, where a group is named) the certificate will count.
    `sharpness` and `merge` say what may be chosen. Potentials of labels belong to one sharpness,
    and a sharpness that the user set is already in the channel.
    """
    fixed = sharpness or isinstance(made.book.reader, MetricReader) or made.label_needs
    powers: tuple[float, ...] = (1.0,) if fixed else SHARPNESS  # of what the solver left
    found: list[tuple[CodebookCandidate, CodebookModifier, IntArray]] = []
    if (held.s >= 0).sum() < FEWEST:
        return _unchosen(made, fitted, 1.0 if fixed else DEFAULT, least=least, seed=seed)
    for power in powers:
        sharper = _sharpened(made, power)
        drawn, new = draws_of(sharper, fitted.data), draws_of(sharper, held.data)
        table = _table(sharper, held)
        for merged in _merges(drawn, len(made.codes), fitted, least=least, fewer=merge):
            one, two = (drawn, new) if merged is None else (merged[drawn], merged[new])
            book = replace(sharper.book, merge=merged)
            number = len(made.codes) if merged is None else int(merged.max()) + 1
            if merged is not None:
                book = replace(book, codes=book.codes[:number], weights=book.weights[:number])
            shares = table if merged is None else sums_by(merged, table.T, number).T
            bound = _bound(shares, units)
            judged = CodebookCandidate(
                power * (sharpness or 1.0),
                number,
                bound,
                max(bound - floor, 0.0) / max(1 - floor, 1e-9),
                distortion(one, two, number, fitted, held),
            )
            found.append((judged, sharper.with_book(book), one))
    if not found:
        return made
    best, chosen, drawn = min(found, key=lambda item: item[0].cost)
    if len(found) > 1:
        progress.say(
            f"chosen on {len(held.data):,} calibration records: {best.codes:,} codes, sharpness"
            f" {best.sharpness:g} (distortion {best.distortion:.2f}, bound there"
            f" {100 * best.bound:.1f} %)"
        )
    return placed(chosen, fitted.data, drawn, least=least, seed=seed)


def _unchosen(
    made: CodebookModifier, fitted: Labelled, power: float, *, least: int, seed: int
) -> CodebookModifier:
    """The modifier at the default sharpness, unless that leaves a code with too few people."""
    sharper = _sharpened(made, power)
    drawn = draws_of(sharper, fitted.data)
    if people_behind(drawn, people_of(fitted.data), len(made.codes)).min() < least:
        return made
    return placed(sharper, fitted.data, drawn, least=least, seed=seed)


def _sharpened(made: CodebookModifier, power: float) -> CodebookModifier:
    """q(j | x) to a power."""
    reader = made.book.reader
    if power == 1.0 or isinstance(reader, MetricReader):
        return made
    assert isinstance(reader, NetworkReader | FoldedReader)
    return made.with_book(replace(made.book, reader=reader.sharpened(power)))


def _table(made: CodebookModifier, held: Labelled) -> npt.NDArray[np.float64]:
    """P(j, s) on held records by the channel's probabilities, each person counted once: (K, N)."""
    known = np.flatnonzero(held.s >= 0)
    labels = {n: held.data.attribute(n).rows(known) for n in made.needs}
    w = made.probabilities(held.data.x[known], labels)
    _, member, count = np.unique(
        people_of(held.data)[known], return_inverse=True, return_counts=True
    )
    classes = int(held.s.max(initial=0)) + 1
    return sums_by(held.s[known], w / count[member.reshape(-1), None], classes) / len(count)


def _bound(table: npt.NDArray[np.float64], units: int) -> float:
    """The approximate bound of a certificate on `units` records for P(j, s) = table (K, N).

    B^ = E sum_j max_s of the counts of m = `units` records, plus sqrt(2 B^ ln 20 / m) + ln 20 / m.
    The certificate itself is made on other records, with a sharper inequality.
    """
    rng = np.random.default_rng(0)
    counts = rng.multinomial(units, table.reshape(-1) / table.sum(), _SAMPLES)
    found = counts.reshape(-1, *table.shape).max(axis=1).sum(axis=1).mean() / units
    margin = sqrt(2 * found * log(20) / units) + log(20) / units
    return min(float(found) + margin, 1.0)


def distortion(
    drawn: IntArray, new: IntArray, codes: int, fitted: Labelled, held: Labelled
) -> float:
    """E |x~ - c~_J|^2 / E |x~|^2 on held records; c~ are the codes' means of fitted ones."""
    x, y = _within(fitted, held)
    count = np.bincount(drawn, minlength=codes)
    means = sums_by(drawn, x, codes) / np.maximum(count, 1)[:, None]
    return float(((y - means[new]) ** 2).sum() / max(float((y**2).sum()), 1e-300))


def _within(fitted: Labelled, held: Labelled) -> tuple[FloatArray, FloatArray]:
    """Standardised features less the class's mean, of fitted and held records."""
    x, y = fitted.data.x, held.data.x
    if x.shape[1] > _FEATURES:
        some = np.random.default_rng(0).permutation(x.shape[1])[:_FEATURES]
        x, y = x[:, some], y[:, some]
    scale = x.std(axis=0, dtype=np.float64)
    scale[scale <= 1e-12] = np.inf
    classes = int(max(fitted.s.max(initial=0), held.s.max(initial=0))) + 1
    means = sums_by(fitted.s, x, classes + 1)
    count = np.bincount(np.where(fitted.s < 0, classes, fitted.s), minlength=classes + 1)
    overall = x.mean(axis=0, dtype=np.float64)
    means = np.where(count[:, None] > 0, means / np.maximum(count, 1)[:, None], overall)
    means[-1] = overall  # a record without a label
    return (
        ((x - means[fitted.s]) / scale).astype(np.float32),
        ((y - means[held.s]) / scale).astype(np.float32),
    )


def _merges(
    drawn: IntArray, codes: int, fitted: Labelled, *, least: int, fewer: bool
) -> Iterator[IntArray | None]:
    """Ways to merge the codes, into fewer and fewer: (M,), the new code of each code, or None.

    Sharper draws may leave a code with fewer than `least` people; such a code is merged first.
    None means no merge; it is the only way if `fewer` is False.
    """
    behind = people_behind(drawn, people_of(fitted.data), codes).astype(np.int64)
    if behind.min() >= least:
        yield None
    if not fewer or codes > _MOST_CODES:
        return
    value = _value_of(drawn, fitted.u, codes)
    wanted = {round(codes / 2 ** (k / 2)) for k in range(1, 20)}
    few = max(len(np.unique(value)), 4)
    x, _ = _within(fitted, fitted)
    mass = np.bincount(drawn, minlength=codes).astype(np.float64)
    centre = sums_by(drawn, x, codes) / np.maximum(mass, 1)[:, None]
    group = np.arange(codes)
    cost = _ward(centre, mass, value)
    while True:
        short = np.flatnonzero((behind < least) & np.isfinite(cost).any(axis=1))
        among = cost[short] if len(short) else cost
        if not np.isfinite(among).any():
            return
        i, j = np.unravel_index(int(among.argmin()), among.shape)
        one, two = (int(short[i]) if len(short) else int(i)), int(j)
        group[group == group[two]] = group[one]
        total = mass[one] + mass[two]
        centre[one] = (mass[one] * centre[one] + mass[two] * centre[two]) / max(total, 1)
        mass[one] = total
        alive = np.isfinite(cost).any(axis=1)
        cost[two, :] = cost[:, two] = np.inf
        row = _ward_row(centre, mass, value, one)
        row[~alive] = np.inf
        row[two] = np.inf
        cost[one, :] = cost[:, one] = row
        left = len(np.unique(group))
        merged = np.unique(group, return_inverse=True)[1].reshape(-1).astype(np.int64)
        behind[one] = len(np.unique(people_of(fitted.data)[merged[drawn] == merged[one]]))
        settled = behind[np.unique(group)].min() >= least
        if settled and (left in wanted or len(short)):
            yield merged
        if left <= few:
            return


def _value_of(drawn: IntArray, u: IntArray, codes: int) -> IntArray:
    """The preserved value that most records of each code have, (N,)."""
    table = np.zeros((codes, int(u.max(initial=0)) + 1), np.int64)
    np.add.at(table, (drawn, u), 1)
    most: IntArray = table.argmax(axis=1)
    return most


def _ward(
    centre: npt.NDArray[np.float64], mass: npt.NDArray[np.float64], value: IntArray
) -> npt.NDArray[np.float64]:
    """What merging each pair of codes adds to the distortion, (N, N); infinite across values."""
    return np.stack([_ward_row(centre, mass, value, i) for i in range(len(centre))])


def _ward_row(
    centre: npt.NDArray[np.float64], mass: npt.NDArray[np.float64], value: IntArray, i: int
) -> npt.NDArray[np.float64]:
    far = ((centre - centre[i]) ** 2).sum(axis=1)
    row: npt.NDArray[np.float64] = mass[i] * mass / np.maximum(mass[i] + mass, 1) * far
    row[(value != value[i])] = np.inf
    row[i] = np.inf
    return row
