"""How many rows of a class leave, where a random part of all rows is held back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln


@dataclass(frozen=True)
class LeavingRows:
    """`rows` of all rows, `of` in number, leave; every set of so many is as likely."""

    rows: int
    of: int

    def too_few(self, sizes: npt.ArrayLike, r: int) -> float:
        """The share of rows whose class has r rows, of which fewer than r leave: sizes (K,).

        An attacker who is shown r rows of a class can rule out the classes of which hardly ever so
        many leave. If a row that leaves has class s, the number of the n_s - 1 others that leave is
        hypergeometric, and with pi_s = n_s / sum n_s,

            sum over n_s >= r of  pi_s P(fewer than r - 1 of the others leave).

        Added to the success where nothing is held back, it bounds that of the best attacker here:
        sum_y max_s pi_s q_s P_s(y) <= sum_y max_s pi_s P_s(y) for probabilities q_s, and a class of
        fewer than r rows counts fully, as elsewhere.
        """
        sizes = np.asarray(sizes, np.float64)
        able = sizes[sizes >= r]
        if self.rows == self.of or not len(able):
            return 0.0
        others, k = able[:, None] - 1, np.arange(r - 1)
        rest, drawn = self.of - 1 - others, self.rows - 1
        possible = (drawn - k >= 0) & (drawn - k <= rest)
        log_p = _log_choose(others, k) + _log_choose(rest, np.clip(drawn - k, 0, rest))
        log_p -= _log_choose(self.of - 1, drawn)
        short = np.where(possible, np.exp(log_p), 0.0).sum(axis=1)
        return float(min((able * short).sum() / sizes.sum(), 1.0))


def _log_choose(n: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    n, k = np.asarray(n, np.float64), np.asarray(k, np.float64)
    found: npt.NDArray[np.float64] = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return found
