"""Words of a series' page: numbers with the signs of its chart, and what its address asks for and cannot be shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.words import count
from app.services.read_trend import Trend, TrendChange

_EXPONENT = re.compile(r"(?<=\d)e[+]?(−?)0*(?=\d)")


def value_text(value: float | None, unit: str) -> str:
    """Return a value with its unit: `−1.23 ms`."""
    return _signed(format_quantity(value, unit))


def range_text(low: float, high: float, unit: str) -> str:
    """Return a range of values with one prefix for both: `−0.52 … 1.30 ms`."""
    return " … ".join(map(_signed, quantities.between(low, high, unit).split(" … ")))


def change_text(change: TrendChange, unit: str) -> str:
    """Return how far a level moved, and of one that crossed zero, from where to where."""
    if change.change is None:
        return f"{value_text(change.before, unit)} → {value_text(change.after, unit)}"
    return _signed(quantities.change(change.change))


def _signed(told: str) -> str:
    """Return a number with its unit, with minus signs for hyphens and nothing needless in its exponent."""
    number, space, symbol = told.partition(" ")
    return _EXPONENT.sub(r"e\1", number.replace("-", "−")) + space + symbol


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
        f"Series {one} is not drawn: it is not among those that can be, which have the same metric of this benchmark."
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
