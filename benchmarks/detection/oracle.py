"""What somebody reaches who knows everything but where: levels, number of changes, noise and nuisance are given.

It removes the nuisance, whitens what is correlated, and places every change by maximum likelihood between the
middles of its neighbouring segments, under the noise's true law and point-wise scale. A change is reported if the
likelihood ratio against "no change here" is large enough. What it misses is lost in the noise, and a place that is
more than the tolerance off was not to be had: no detector can be expected to reach its figures.
"""

from __future__ import annotations

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.generator import Series
from benchmarks.detection.noise import Noise

THRESHOLD = 8.0
"""Log-likelihood ratio of a report: the square of four standard errors, halved."""


def detect(series: Series) -> list[int]:
    """Return the places of those changes whose likelihood ratio reaches the threshold."""
    seen = np.log(series.values / series.base) - series.realised.nuisance
    edges = [0, *series.changes, len(seen)]
    places = []
    for before, at, after in zip(edges, edges[1:], edges[2:], strict=False):
        start, end = (
            (0 if before == 0 else (before + at) // 2),
            (len(seen) if after == len(seen) else (at + after) // 2),
        )
        place, gain = _place(seen, series, at, start, end)
        if gain >= THRESHOLD:
            places.append(place)
    return places


def _place(seen: Array, series: Series, at: int, start: int, end: int) -> tuple[int, float]:
    """Return the likeliest place of the change in [start + 1, end − 1], and its gain over no change."""
    low, high = float(series.level[at - 1]), float(series.level[at])
    noise, window = series.realised, slice(start, end)
    left, right = seen[window] - low, seen[window] - high
    scale = noise.scale[window]
    as_left, as_right = (_log_likelihood(r, scale, noise) for r in (left, right))
    place = _with_boundary(as_left, as_right, left, high - low, scale, noise)
    best = int(np.argmax(place)) + 1
    weight = (end - start - best) / (end - start)
    pooled = _log_likelihood(seen[window] - (low + weight * (high - low)), scale, noise).sum()
    return start + best, float(place[best - 1] - pooled)


def _innovations(residual: Array, whitening: tuple[float, ...]) -> Array:
    out = residual.copy()
    for lag, phi in enumerate(whitening[: len(out) - 1], start=1):
        out[lag:] -= phi * residual[:-lag]
    return out


def _log_likelihood(residual: Array, scale: Array, noise: Noise) -> Array:
    width = np.sqrt(scale**2 + noise.quantum**2 / 12)
    return noise.law.log_density(_innovations(residual, noise.whitening) / width)


def _with_boundary(
    as_left: Array, as_right: Array, left: Array, step: float, scale: Array, noise: Noise
) -> Array:
    """Return the log-likelihood of a change at 1 … n − 1: left residuals before it, right ones from it on.

    The first innovations behind the change still depend on residuals before it: the step is in them by the share that
    whitening has not yet taken off.
    """
    n, whitening = len(left), noise.whitening[: len(left) - 1]
    order = len(whitening)
    before = np.concatenate([[0.0], np.cumsum(as_left)])
    after = np.concatenate([np.cumsum(as_right[::-1])[::-1], np.zeros(order + 1)])
    at = np.arange(1, n)
    result = before[at] + after[at + order]
    innovations = _innovations(left, whitening)
    for offset in range(order):
        t = np.minimum(at + offset, n - 1)
        behind = innovations[t] - (1 - sum(whitening[:offset])) * step
        result += np.where(at + offset < n, noise.law.log_density(behind / scale[t]), 0.0)
    return result
