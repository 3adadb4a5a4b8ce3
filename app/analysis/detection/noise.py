"""How much means of neighbouring runs differ when nothing changed, at every length: the yardstick of a change.

White noise averages out with the root of the number of runs. Real noise does not: it is correlated, and the machine
drifts. So the series itself is asked: at each length k, how far do the means of k runs and the next k runs lie apart,
in their bulk? Changes are few, so that they hardly show there; drift and correlation do, and raise the bar at just
the lengths at which they act. Beyond the lengths that the series can tell, its last growth is carried on.

Isotonic regression (Ayer et al., Annals of Mathematical Statistics 26, 1955) keeps the inflation from falling with the
length. The rest is our own; what it answers to is the long-run variance of Bai and Perron, Econometrica 66 (1998).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import MAD_TO_SD, Array, running_sums, upper_median
from app.analysis.detection.outliers import robust_sd

GROWTH = 1.5
"""Ratio of one length to the next."""

LONGEST_SHARE = 10
"""Lengths up to this part of the series are measured, longer ones extrapolated."""

DOUBT = 9.0
"""Independent windows that a measured inflation must weigh up: with fewer, what is usual is believed."""

WANDERING = 0.02
"""Variance that means of many runs keep, over that of one run, as far as a series does not tell: machines wander."""

MIN_GROWTH = 0.3
"""Smaller exponents of growth are chance, and not carried on."""

MAX_GROWTH = 2.0
"""The exponent of a random walk is 2."""


@dataclass(frozen=True, eq=False)
class NoiseProfile:
    """The noise of a series of n points.

    `sd` is that of single runs, `correlation` that of neighbouring ones, None where it is not known; `inflation`, shape
    (n + 1,), the variance of a mean of k runs relative to white noise of that sd; `lengths` the scales to look at.
    `weight_sums`, shape (n + 1,), are running sums of how much each run counts: less where the series is noisier.
    """

    sd: float
    inflation: Array
    lengths: NDArray[np.intp]
    weight_sums: Array
    correlation: float | None = None

    def variance(self, start: NDArray[np.intp] | int, end: NDArray[np.intp] | int) -> Array:
        """Return the variance of the weighted mean of runs `start` to `end` (half-open), elementwise."""
        weight = self.weight_sums[end] - self.weight_sums[start]
        result: Array = self.sd**2 * self.inflation[np.subtract(end, start)] / weight
        return result


def lengths_up_to(longest: int) -> NDArray[np.intp]:
    """Return 1, 2, 3, 4, 6, … up to `longest` ≥ 1."""
    return _LENGTHS[: int(_LENGTHS.searchsorted(longest, side="right"))]


def _lengths() -> Iterator[int]:
    """Yield the lengths that a series can have."""
    length = 1.0
    while length < 2**40:
        yield round(length)
        length = max(length * GROWTH, length + 1)


_LENGTHS = np.array([*_lengths()], dtype=np.intp)


def profile_of(y: Array, floor: float, weight_sums: Array, wandering: float = WANDERING) -> NoiseProfile:
    """Return the noise of weighted `y`, shape (n,), whose known changes were taken out.

    Args:
        y: values times the roots of their weights.
        floor: least standard deviation of a run.
        weight_sums: running sums of the weights, shape (n + 1,).
        wandering: variance that is believed of a long mean where few windows tell, over that of a run.
    """
    n = len(y)
    measured = lengths_up_to(max(1, n // LONGEST_SHARE))
    variances, windows = _contrasts(y, measured)
    white = max(float(variances[0]), floor**2)
    seen = np.log(np.maximum(variances, 1e-300) / white)
    believed = windows / (windows + DOUBT)
    rising = np.maximum(_isotonic(believed * seen, windows), 0.0)
    usual = _usual(n, wandering)
    shrunk = rising + (1 - believed) * usual[measured]
    beyond = (1 - float(believed[-1])) * usual[measured[-1] :]
    inflation = np.exp(_at_all_lengths(n, measured, shrunk, _growth(measured, rising), beyond))
    return NoiseProfile(math.sqrt(white), inflation, lengths_up_to(n), weight_sums, _correlation(seen))


def white_noise(y: Array, floor: float, weight_sums: Array) -> NoiseProfile:
    """Return the noise of weighted `y`, shape (n,), as if it had neither correlation nor drift."""
    n = len(y)
    variance = max(robust_sd(y[1:] - y[:-1]) ** 2 / 2, floor**2)
    return NoiseProfile(math.sqrt(variance), np.ones(n + 1), lengths_up_to(n), weight_sums)


def local_weights(y: Array) -> Array | None:
    """Return weights of the runs, 1/variance about 1, shape (n,), where the noise itself changes; else None.

    The variance around each run is shrunk to the common one by how much of its variation sampling explains
    (empirical Bayes).
    """
    n = len(y)
    if n < 2 * _LOCAL:
        return None
    steps = np.abs(y[1:] - y[:-1])
    typical = MAD_TO_SD * upper_median(steps)
    if typical < 1e-100:  # its square would be 0
        return None
    squares = np.minimum(steps, _LOCAL_CUT * typical) ** 2
    sums = running_sums(squares)
    at = np.arange(n)
    low, high = np.maximum(at - _LOCAL // 2, 0), np.minimum(at + _LOCAL // 2, n - 1)
    around = np.maximum((sums[high] - sums[low]) / (high - low), 1e-3 * typical**2)
    logs = np.log(around)
    logs -= logs.mean()
    relative = squares / around[:-1]
    by_chance = 1.5 / _LOCAL * float(relative.var()) / float(relative.mean()) ** 2
    varies = float(logs.var())
    if varies < _LOCAL_EVIDENCE * by_chance:
        return None
    weights: Array = np.exp(-logs * (1 - by_chance / varies))
    return weights


_LOCAL = 41
"""Runs around one whose differences tell its noise."""
_LOCAL_CUT = 4.0
"""Standard deviations of a difference beyond which it is a change or a spike, and cut."""
_LOCAL_EVIDENCE = 2.5
"""How many times more than by chance the noise must vary to be taken as varying."""

_PER_LENGTH = 5
"""Windows that begin within the length of one."""


def _contrasts(y: Array, lengths: NDArray[np.intp]) -> tuple[Array, Array]:
    """Return per length k the variance of a run that differing means of k runs imply, and independent windows.

    Neighbouring windows of a length tell nearly the same, so that of long ones only some are looked at.
    """
    sums = running_sums(y)
    twice = 2 * sums
    variances = np.empty(len(lengths))
    for i, k in enumerate(lengths.tolist()):
        every = max(1, k // _PER_LENGTH)
        contrast = sums[2 * k :: every] - twice[k:-k:every]
        contrast += sums[: -2 * k : every]
        variances[i] = robust_sd(contrast) ** 2 / (2 * k)
    return variances, (len(y) + 1 - 2 * lengths) / lengths


def _correlation(seen: Array) -> float | None:
    """Return the correlation of neighbouring runs that the contrasts tell; None with those of one length alone.

    Where it falls off geometrically, at φ, the variance of a run that pairs of runs imply is (1 + φ)(2 + φ)/2 times
    that which single ones do; `seen` are logarithms of such ratios at the lengths 1, 2, ….
    """
    if len(seen) < 2:
        return None
    return min(1.0, (math.sqrt(1 + 8 * math.exp(float(seen[1]))) - 3) / 2)


def _isotonic(values: Array, weights: Array) -> Array:
    """Return the non-decreasing values nearest to `values` in weighted squares (pool adjacent violators)."""
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        size = 1
        while blocks and blocks[-1][0] > value:
            before, its_weight, its_size = blocks.pop()
            value = (before * its_weight + value * weight) / (its_weight + weight)
            weight += its_weight
            size += its_size
        blocks.append((value, weight, size))
    return np.repeat([value for value, _, _ in blocks], [size for _, _, size in blocks])


def _growth(measured: NDArray[np.intp], log_inflation: Array) -> float:
    """Return the exponent at which the inflation grows at the longest lengths; 0 where that may be chance."""
    if len(measured) < 4:
        return 0.0
    rise = float(log_inflation[-1] - log_inflation[-4])
    growth = min(rise / math.log(measured[-1] / measured[-4]), MAX_GROWTH)
    return growth if growth >= MIN_GROWTH else 0.0


def _at_all_lengths(
    n: int, measured: NDArray[np.intp], log_inflation: Array, growth: float, beyond: Array
) -> Array:
    """Return the logarithm of the inflation at lengths 0 to n.

    From the longest measured length on it is carried on by its own growth or, where that is more, as `beyond` rises,
    shape (n + 1 − measured[−1],).
    """
    logs, known, last = _log_lengths(n), np.log(measured), int(measured[-1])
    curve: Array = np.interp(logs, known, log_inflation)
    curve[last:] += np.maximum(growth * (logs[last:] - logs[last]), beyond - beyond[0])
    return curve


@lru_cache(maxsize=8)
def _usual(n: int, wandering: float) -> Array:
    """Return the logarithm of the inflation at lengths 0 to n of a machine that wanders."""
    result: Array = np.log1p(wandering * np.arange(-1.0, n).clip(0.0))
    return result


@lru_cache(maxsize=8)
def _log_lengths(n: int) -> Array:
    """Return the logarithms of the lengths 0 to n, that of 0 as of 1."""
    result: Array = np.log(np.maximum(np.arange(n + 1), 1))
    return result
