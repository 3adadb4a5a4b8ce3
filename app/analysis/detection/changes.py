"""Where did this series change? From values to change points, one step after the other.

    values → working scale → patterns of the week and clock states taken out → outliers drawn in
           → noise at every length → candidates → best partition → what is certain → exact places
           → steps, ramps and spikes told apart

The middle line is gone through again with the changes found so far taken out of the noise, until nothing moves. What
each step rests on is said in its module; figures and limits: docs/statistics.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.detection.report import Report
from app.analysis.detection.results import Examination
from app.analysis.detection.search import ROUNDS, Found, levels_of, search
from app.analysis.detection.seasons import without_seasons
from app.analysis.detection.signal import Signal, signal_of
from app.analysis.detection.states import find_states, on_lower_state

FEWEST = 4
"""Values below which nothing can be said."""


def examine(values: Array, x: NDArray[np.int64] | None = None, *, minimum_effect: float = 0.0) -> Examination:
    """Return the change points and episodes of one series.

    Args:
        values: finite values in the order of their commits, shape (n,); any n, any sign.
        x: ascending integer positions, shape (n,), for patterns that come again; default 0 to n − 1.
        minimum_effect: changes of a smaller share are none (of the largest value, if some value is not positive).
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < FEWEST:
        return Examination()
    signal = signal_of(values)
    if signal.is_constant:
        return Examination(noise=0.0, relative=signal.is_log)
    # A share up is less on the logarithms' scale than the same share down.
    least = math.log1p(minimum_effect) if signal.is_log else minimum_effect
    found = _find(signal, np.arange(len(values)) if x is None else x, least)
    return Report(signal, values, found, minimum_effect).examination()


def _find(signal: Signal, x: NDArray[np.int64], least: float) -> Found:
    """Return what changed, clock states taken out with the levels that are found with them."""
    y = without_seasons(signal.y, x)
    states = find_states(y)
    if states is None:
        return search(y, y, signal.floor, least, None)
    lowered, before = states.y, None
    for _ in range(ROUNDS):
        found = search(lowered, y, signal.floor, least, states.distance)
        if before is not None and found.boundaries == before.boundaries:
            break
        before = found
        lowered = on_lower_state(y, levels_of(lowered, found.boundaries), states.distance)
    return found
