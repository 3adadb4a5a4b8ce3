"""What all of the analysis over arrays shares: the array's type, running sums, medians, two constants."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ROUNDING_SD = 1 / math.sqrt(12)
"""Standard deviation of rounding to whole steps, in steps (uniform distribution)."""

MAD_TO_SD = 1.4826
"""Median absolute deviation to standard deviation, of a normal law."""


def running_sums(values: Array) -> Array:
    """Return 0 and the sums of the first 1, 2, …, n values, shape (n + 1,)."""
    sums = np.empty(len(values) + 1)
    sums[0] = 0.0
    values.cumsum(out=sums[1:])
    return sums


def median(values: Array) -> float:
    """Return the median of finite values, shape (n,), n ≥ 1, however large they are.

    numpy's own sums the two middle ones, which may be beyond all numbers, and imports all of its masked arrays.
    """
    middle = (len(values) - 1) // 2, len(values) // 2
    in_order = np.partition(values, middle)
    low, high = float(in_order[middle[0]]), float(in_order[middle[1]])
    return low + (high - low) / 2 if (low < 0) == (high < 0) else (low + high) / 2


def upper_median(values: Array) -> float:
    """Return the upper of the middle values, shape (n,), n ≥ 1: it is one of them, and found fastest."""
    in_order, middle = values.copy(), len(values) // 2
    in_order.partition(middle)
    return float(in_order[middle])


def row_medians(rows: Array) -> Array:
    """Return the median of each row, shape (n,), of rows of moderate values, shape (n, m), m ≥ 1."""
    low, high = (rows.shape[1] - 1) // 2, rows.shape[1] // 2
    in_order = np.partition(rows, (low, high), axis=1)
    result: Array = (in_order[:, low] + in_order[:, high]) / 2
    return result
