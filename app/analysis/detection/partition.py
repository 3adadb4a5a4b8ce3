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
    origin = [0]
    penalty = PENALTY * variance
    for first in range(1, len(ends), _ROWS):
        for end, saved in enumerate(_saved(value, weight, first, min(first + _ROWS, len(ends))), start=first):
            total = saved[:end]
            total += gain[:end]
            best = int(total.argmax())
            gain[end] = total[best] - penalty
            origin.append(best)
    return _walk_back(ends, origin)


_ROWS = 256
"""Segments' ends looked at in one go, which bounds memory."""


def _saved(value: Array, weight: Array, first: int, last: int) -> Array:
    """Return what the segments that end at `first` to `last` − 1 save, by their beginnings from 0 to last − 2.

    Beginnings that do not lie before the end say nothing.
    """
    inside = value[first:last, None] - value[None, : last - 1]
    width = weight[first:last, None] - weight[None, : last - 1]
    saved: Array = inside * inside / np.where(width > 0, width, 1.0)
    return saved


def _walk_back(ends: NDArray[np.intp], origin: list[int]) -> list[int]:
    found = []
    end = origin[-1]
    while end > 0:
        found.append(int(ends[end]))
        end = origin[end]
    return found[::-1]
