"""Where did this series change? From values to change points, one step after the other.

    values → working scale → patterns of the week and clock states taken out → outliers drawn in
           → noise at every length → candidates → best partition → what is certain → exact places
           → what is nearly certain there → steps, ramps and spikes told apart

The middle line is gone through again with the changes found so far taken out of the noise, until nothing moves; and
all but the ends once more where the level went away and came back again and again. What each step rests on is said in
its module; figures and limits: docs/statistics.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from app.analysis.arrays import Array
from app.analysis.detection.excursions import Excursion, above_base, excursions_of
from app.analysis.detection.report import Report
from app.analysis.detection.results import Examination
from app.analysis.detection.search import ROUNDS, Found, levels_of, search
from app.analysis.detection.seasons import without_seasons
from app.analysis.detection.signal import signal_of
from app.analysis.detection.states import find_states, on_lower_state, only_states_changed

FEWEST = 4
"""Values below which nothing can be said."""


def examine(
    values: Array,
    x: NDArray[np.int64] | None = None,
    *,
    minimum_effect: float = 0.0,
    with_excursions: bool = True,
) -> Examination:
    """Return the change points and episodes of one series.

    Args:
        values: finite values in the order of their commits, shape (n,); any n, any sign.
        x: ascending integer positions, shape (n,), for patterns that come again; default 0 to n − 1.
        minimum_effect: changes of a smaller share are none (of the largest value, if some value is not positive).
        with_excursions: a level that went away and came back again and again has not changed each time.
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < FEWEST:
        return Examination()
    signal = signal_of(values)
    if signal.is_constant:
        return Examination(noise=0.0, relative=signal.is_log)
    # A share up is less on the logarithms' scale than the same share down.
    least = math.log1p(minimum_effect) if signal.is_log else minimum_effect
    y = without_seasons(signal.y, np.arange(len(values)) if x is None else x)
    found = (_find_with_excursions if with_excursions else _find)(y, signal.floor, least)
    return Report(signal, values, found, minimum_effect).examination()


def _find_with_excursions(y: Array, floor: float, least: float) -> Found:
    """Return what changed beside excursions, each round with those of the round before put on the base level."""
    found = _find(y, floor, least)
    known: list[Excursion] = []
    for _ in range(ROUNDS):
        more = excursions_of(found.segments, found.boundaries)
        if not more:
            break
        known += more
        found = _find(y - above_base(len(y), known), floor, least)
    return replace(found, excursions=tuple(known))


def _find(y: Array, floor: float, least: float) -> Found:
    """Return what changed, clock states taken out with the levels that are found with them.

    Where they would make a change that the values do not show, there are no two states.
    """
    states = find_states(y)
    if states is None:
        return search(y, y, floor, least, None)
    lowered, before = states.y, None
    for _ in range(ROUNDS):
        searched = lowered
        found = search(searched, y, floor, least, states.distance)
        if before is not None and found.boundaries == before.boundaries:
            break
        before = found
        lowered = on_lower_state(y, levels_of(searched, found.boundaries), states.distance)
    if only_states_changed(y, searched, found.boundaries, states.distance):
        return search(y, y, floor, least, None)
    return found
