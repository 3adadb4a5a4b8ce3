"""The range of values that a picture of a series shows: all that is usual, and no more of what is far out."""

from __future__ import annotations

from collections.abc import Sequence

_USUAL = (0.02, 0.98)
"""Shares of the values, in order, that are shown whatever they are."""

_ROOM = 1.0
"""How far beyond the usual something may be shown, in multiples of the usual range."""

_MARGIN = 0.06


def shown_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the lower and upper limit [unit of `values`]: a few values far out do not press all others together.

    What lies outside is drawn at the edge. The limits differ also where all values are the same.
    """
    ordered = sorted(values)
    low, high = (ordered[round(share * (len(ordered) - 1))] for share in _USUAL)
    room = (high - low) * _ROOM
    bottom, top = max(ordered[0], low - room), min(ordered[-1], high + room)
    margin = (top - bottom) * _MARGIN or abs(top) * 0.01 or 1.0
    return bottom - margin, top + margin
