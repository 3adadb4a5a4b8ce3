"""Words of a series' page: how far it moved, and what its address asks for and cannot be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.reports import quantities
from app.reports.quantities import quantity
from app.reports.words import count
from app.services.read_trend import Trend, TrendChange


def change_text(change: TrendChange, unit: str) -> str:
    """Return how far a level moved, and of one that crossed zero, from where to where."""
    if change.change is None:
        return f"{quantity(change.before, unit)} → {quantity(change.after, unit)}"
    return quantities.change(change.change)


def empty_part(trend: Trend, first: int | None, last: int | None) -> str:
    """Return why no point is shown of a history that has some."""
    if last is not None and last < (first or 0):
        return f"Nothing is from row {first} to row {last}: the last is before the first."
    return f"The history has no rows {trend.rows.start} and later: it has {count(trend.n, 'point')}."


def left_out(trend: Trend, relative: str, beside: Sequence[int], offered: Iterable[int]) -> list[str]:
    """Return what an address asks for and the page does not show, in sentences.

    `relative` is the commit of reference, `beside` are series to draw with it and `offered` those that can be.
    """
    known = set(offered)
    told = [
        f"Series {one} is not drawn: it is not among those that are offered here."
        for one in dict.fromkeys(beside)
        if one not in known
    ]
    if relative and not trend.reference:
        told.append(f"{_no_reference(trend, relative)}: values are as they were measured, not relative.")
    return told


def _no_reference(trend: Trend, relative: str) -> str:
    if trend.reference is None:
        return f"No point on {trend.branch} is of a commit with the whole id {relative}"
    return f"The value of {relative[:10]} is 0"
