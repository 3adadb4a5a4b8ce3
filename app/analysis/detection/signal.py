"""From a series' values to the scale on which its noise is alike at every level.

Times and rates vary by shares of their level, so that positive values are taken as logarithms; a series with a
value that has none is divided by its typical size and keeps its unit's differences.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.analysis.arrays import ROUNDING_SD, Array, median

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Signal:
    """A series on its working scale.

    `y` has shape (n,) and its median is 0; `is_log` says that differences are log ratios. `floor` is the least
    standard deviation that its values can have, from the smallest step between two of them. A difference of 1 is
    `unit` in the unit of the values; of logarithms it is 1.
    """

    y: Array
    is_log: bool
    floor: float
    unit: float = 1.0

    @property
    def is_constant(self) -> bool:
        """Whether all values are the same, so that there is nothing to look for."""
        return self.floor == 0


def signal_of(values: Array) -> Signal:
    """Return finite `values` of shape (n,), n ≥ 1, on their working scale."""
    is_log = bool((values > 0).all())
    unit = 1.0 if is_log else float(np.abs(values).max()) or 1.0
    y = np.log(values) if is_log else values / unit
    y = y - median(y)
    return Signal(y, is_log, _floor(y), unit)


def _floor(y: Array) -> float:
    """Return the standard deviation of rounding; 0 for a constant. The 2 % smallest steps may be coincidences."""
    steps = np.abs(y[1:] - y[:-1])
    steps = steps[steps > 0]
    if not len(steps):
        return 0.0
    at = len(steps) // 50
    return max(float(np.partition(steps, at)[at]) * ROUNDING_SD, _TINY)
