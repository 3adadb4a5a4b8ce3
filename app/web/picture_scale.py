"""The range of values that a picture of a series shows: all that is usual, and no more of what is far out."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from app.reports import quantities

_USUAL = (0.02, 0.98)
"""Shares of the values, in order, that are shown whatever they are."""

_ROOM = 1.0
"""How far beyond the usual something may be shown, in multiples of the usual range."""

_MARGIN = 0.06

_NARROWEST = 1e-9
"""Margin, in shares of the values, of those that differ by less than digits tell: rounding is not drawn as a change."""

_LARGEST = sys.float_info.max / 2**14
"""What is larger is drawn as this: the range, also of a price by the hour, stays a number."""

_WIDEST = 2.0
"""How many times the range of the values may become for a limit."""


def shown_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the lower and upper limit [unit of `values`]: a few values far out do not press all others together.

    What lies outside is drawn at the edge. Where all that is usual is one value there is nothing to press together,
    and everything is shown. The limits differ also where all values are the same.
    """
    ordered = sorted(max(-_LARGEST, min(_LARGEST, value)) for value in values)
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in _USUAL)
    room = (high - low) * _ROOM or ordered[-1] - ordered[0]
    bottom, top = max(ordered[0], low - room), min(ordered[-1], high + room)
    margin = (top - bottom) * _MARGIN or abs(top) * 0.01 or 1.0
    margin = max(margin, abs(top) * _NARROWEST)
    return bottom - margin, top + margin


def with_limits(shown: tuple[float, float], limits: Iterable[float]) -> tuple[float, float]:
    """Return the range that shows these limits, too; one that would halve the size of what is shown stays out of it."""
    low, high = shown
    room = (high - low) * _MARGIN
    for limit in limits:
        bottom, top = min(low, limit - room), max(high, limit + room)
        if top - bottom <= _WIDEST * (shown[1] - shown[0]):
            low, high = bottom, top
    return low, high


def ladder(unit: str) -> list[tuple[float, float, str]]:
    """Return the units that values are shown in, as (from which value on, size, symbol), ascending, in `unit`."""
    rungs: list[tuple[float, float, str]] = []
    for value in sorted({*(10.0**power for power in range(-15, 16)), *_BEYOND_DECIMAL}):
        symbol, size = quantities.display_unit(
            math.nextafter(value, math.inf), unit
        )  # whole numbers may have none
        if not rungs or (symbol, size) != (rungs[-1][2], rungs[-1][1]):
            rungs.append((value, size, symbol))
    return rungs


_BEYOND_DECIMAL = (*(1024.0**power for power in range(1, 5)), 60.0, 3_600.0, 86_400.0)
"""Where units change that are not decimal: memory and times."""
