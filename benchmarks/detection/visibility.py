"""How clearly a clairvoyant sees a change: its size in standard errors, with everything known but the positions' noise.

The clairvoyant has removed the nuisance and knows the long-run standard deviation at every point. A segment's
information is the sum of 1/sd²; with equal sd that is n/sd², and z = |step| / sqrt(sd² (1/n_left + 1/n_right)). Where a
timer is coarse, the step is that of the expected readings, with their standard deviation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.noise import Noise

_NORMAL_GRID = np.array([NormalDist().inv_cdf((i + 0.5) / 400) for i in range(400)])
READING_SD_FLOOR = 0.02
"""Of a coarse timer's step: smallest standard deviation of a reading, as a timer is never perfect."""


def change_z(
    level: Array, noise: Noise, changes: tuple[int, ...], ramps: tuple[tuple[int, int], ...] = ()
) -> Iterator[float]:
    """Yield z of every change, then of every ramp (the slide itself counts for neither side)."""
    n = len(level)
    breaks = sorted([(at, at) for at in changes] + list(ramps))
    starts = [0, *(end for _, end in breaks)]
    ends = [*(start for start, _ in breaks), n]
    sides = [side(level, noise, start, end) for start, end in zip(starts, ends, strict=True)]
    for (left, left_info), (right, right_info) in itertools.pairwise(sides):
        yield abs(right - left) / math.sqrt(1 / left_info + 1 / right_info)


def side(level: Array, noise: Noise, start: int, end: int) -> tuple[float, float]:
    """Return a segment's mean reading (ln units) and its information: 1 / variance of the clairvoyant's estimate."""
    if not noise.quantum:
        return float(level[start]), float(np.sum(noise.long_run_sd[start:end] ** -2.0))
    mean, sd = reading(float(level[start]), float(noise.scale[start]), noise.quantum)
    return mean, (end - start) / sd**2


def reading(level: float, sd: float, quantum: float) -> tuple[float, float]:
    """Return mean and standard deviation of the logarithm of normal noise read by a timer of step `quantum`."""
    raw = np.exp(level + sd * _NORMAL_GRID)
    logs = np.log(np.maximum(np.round(raw / quantum), 1) * quantum)
    return float(logs.mean()), max(float(logs.std()), READING_SD_FLOOR * quantum)
