"""A textbook reference: binary segmentation by the largest CUSUM, normal noise taken for granted.

Logarithms, one robust standard deviation from first differences, and a threshold that grows with the length. It is
here to test the harness without a peer, and to show what the simplest method reaches. Vostrikova 1981; the threshold
1.3 √(2 ln n) follows Fryzlewicz 2014.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.detection.densities import Array
from benchmarks.detection.peers import Detector, working_scale

FACTOR = 1.3
MIN_SEGMENT = 2


def load() -> Detector:
    """Return the reference."""
    return Detector("reference", "binary segmentation", detect)


def detect(values: Array) -> list[int]:
    """Return the changes of mean of the logarithms, ascending."""
    y = working_scale(values)
    n = len(y)
    if n < 2 * MIN_SEGMENT:
        return []
    differences = np.diff(y)
    sd = 1.4826 * float(np.median(np.abs(differences - np.median(differences)))) / math.sqrt(2)
    sd = sd or float(np.std(differences)) / math.sqrt(2)
    if sd == 0:
        return []
    found: list[int] = []
    open_segments = [(0, n)]
    threshold = FACTOR * sd * math.sqrt(2 * math.log(n))
    while open_segments:
        start, end = open_segments.pop()
        at, height = _largest(y[start:end])
        if height > threshold:
            found.append(start + at)
            open_segments += [(start, start + at), (start + at, end)]
    return sorted(found)


def _largest(y: Array) -> tuple[int, float]:
    """Return the best split of a segment and its CUSUM in the unit of y; height 0 if it is too short."""
    n = len(y)
    if n < 2 * MIN_SEGMENT:
        return 0, 0.0
    left = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    sums = np.cumsum(y)
    difference = (sums[-1] - sums[left - 1]) / (n - left) - sums[left - 1] / left
    heights = np.abs(difference) * np.sqrt(left * (n - left) / n)
    best = int(np.argmax(heights))
    return int(left[best]), float(heights[best])
