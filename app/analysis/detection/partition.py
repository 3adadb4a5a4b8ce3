"""The best set of changes among candidates: exact optimal partitioning by dynamic programming.

The cost of a segment is its squared error over the noise's variance, and every change costs a penalty; a global
optimum keeps changes from hiding one another, which greedy splitting does not.

Source: B. Jackson et al., An algorithm for optimal partitioning of data on an interval, IEEE Signal Processing
Letters 12 (2005).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array

PENALTY = 12.0
"""Squared standard errors that a change must save: permissive, as each is examined afterwards."""


def best_partition(sums: Array, weight_sums: Array, places: NDArray[np.intp], variance: float) -> list[int]:
    """Return the ascending places, out of `places`, of the segmentation with the least penalised cost.

    Args:
        sums: running sums of the weighted values, shape (n + 1,).
        weight_sums: running sums of the weights, shape (n + 1,).
        places: ascending candidates, 0 < place < n.
        variance: of a run, as means of segments feel it.
    """
    ends = np.concatenate(([0], places, [len(sums) - 1]))
    value, weight = sums[ends], weight_sums[ends]
    gain = np.zeros(len(ends))  # the squared error saved so far, less penalties
    origin = np.zeros(len(ends), dtype=np.intp)
    penalty = PENALTY * variance
    for end in range(1, len(ends)):
        inside = value[end] - value[:end]
        total = gain[:end] + inside * inside / (weight[end] - weight[:end])
        best = int(total.argmax())
        gain[end], origin[end] = total[best] - penalty, best
    return _walk_back(ends, origin)


def _walk_back(ends: NDArray[np.intp], origin: NDArray[np.intp]) -> list[int]:
    found = []
    end = int(origin[-1])
    while end > 0:
        found.append(int(ends[end]))
        end = int(origin[end])
    return found[::-1]
