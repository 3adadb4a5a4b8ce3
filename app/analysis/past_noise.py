"""What a case's earlier checks say about its noise, fixed before the first pair of the next.

Few pairs know their own standard deviation badly, and the sequential rule pays for it with its first blocks. If the
noise were always the same, all pairs of earlier checks could count for it. It is not, so the past counts for very
little: at most as much as one more block would, and for nothing once today's pairs are clearly noisier. That keeps
the rule's error rate even on a day on which every case is four times as noisy as ever before (simulated in
docs/statistics.md); more freedom would not.

Source: the scaled inverse chi-squared prior of G. K. Smyth, Linear models and empirical Bayes methods for assessing
differential expression in microarray experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004),
its degrees of freedom set and not fitted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, NamedTuple

MOST_FREEDOM = 2.0
"""Degrees of freedom of all earlier checks together at most, one a check: what one block brings."""

NOISIER = 3.0
"""Times the earlier variance above which today's pairs are of another kind, and the past lends them nothing."""


class PastNoise(NamedTuple):
    """A standard deviation of pair effects (ln units), and the degrees of freedom that it counts for; 0 for nothing."""

    sd: float = 0.0
    freedom: float = 0.0

    def moderate(self, n: int, sd: float) -> tuple[float, float]:
        """Return the standard deviation to be used after `n` ≥ 2 pairs, and the degrees of freedom gained.

        `sd` is that of the pairs themselves (ddof = 1). It comes back as it is, with 0, where the past says nothing.
        """
        if not self.freedom or sd * sd > NOISIER * self.sd * self.sd:
            return sd, 0.0
        squares = (n - 1) * sd * sd + self.freedom * self.sd * self.sd
        return math.sqrt(squares / (n - 1 + self.freedom)), self.freedom


NO_PAST: Final = PastNoise()


def past_noise(sds: Sequence[float]) -> PastNoise:
    """Return what earlier checks say whose pairs had these standard deviations (ln units), in any order.

    Their median, so that one disturbed check does no harm. It counts for nothing without a check, and where the pairs
    of most were identical, as a coarse timer makes them.

    Raises:
        ValueError: one of them is negative or not finite.
    """
    for sd in sds:
        if not 0 <= sd < math.inf:
            raise ValueError(f"{sd!r} is no standard deviation of an earlier check")
    middle = median(sds) if sds else 0.0
    return PastNoise(middle, min(float(len(sds)), MOST_FREEDOM) if middle > 0 else 0.0)
