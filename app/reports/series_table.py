"""The lines of stored histories on a terminal: who each series is, its sparkline, its newest value.

Where there is little room the sparkline gives way to the names, then columns leave, then what all names have in common
does; names for which that is not enough stand above their lines, whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.analysis.arrays import median
from app.domain.results import case_label
from app.domain.units import format_quantity
from app.reports.grid import GAP, Column, column, fitted, joined, wrapped
from app.reports.sparkline import sparkline
from app.reports.text import columns, plain
from app.reports.told_apart import told_apart

MOST_SPARKS, LEAST_SPARKS = 30, 12
"""Characters of a sparkline."""

INDENT = "  "

_HISTORY = "history"
_NOISE_OF_MEDIAN = 1.4826
"""Standard deviation over median absolute deviation, of normal noise."""

Trend = dict[str, Any]


@dataclass(frozen=True)
class SeriesTable:
    """A line for each series; `common` is what was cut from all names, `above` are names that stand above the lines."""

    columns: list[Column]
    common: str = ""
    above: tuple[str, ...] = ()

    def heading(self, room: int | None) -> list[str]:
        """Return the titles, and above them what the names have in common."""
        common = wrapped(self.common, room) if self.common else []
        return [*common, f"{INDENT if self.above else ''}{joined(self.columns, None)}"]

    def lines(self, index: int, room: int | None) -> list[str]:
        """Return the lines of one series, of which the last has its numbers."""
        line = joined(self.columns, index)
        return [*wrapped(self.above[index], room), f"{INDENT}{line}"] if self.above else [line]


def series_table(trends: Sequence[Trend], room: int | None) -> SeriesTable:
    """Return the table of some trends in so many columns of a terminal; None is room for everything."""
    names = _names(trends)
    if table := _beside(names, trends, room):
        return SeriesTable(table)
    short = told_apart(names)
    if short and (table := _beside(short.names, trends, room)):
        return SeriesTable(table, short.common)
    if short is None or room is None or max(map(columns, names)) <= room:
        return _below(names, trends, room)
    return replace(_below(short.names, trends, room), common=short.common)


def _beside(names: Sequence[str], trends: Sequence[Trend], room: int | None) -> list[Column] | None:
    """Return the columns with the names among them; None where these would have to be cut."""
    name = column("series", names)
    kept = fitted([name, _devices(trends), *_numbers(trends)], room, least=name.width)
    return _filled(kept, trends, room) if kept[0].width == name.width else None


def _below(names: Sequence[str], trends: Sequence[Trend], room: int | None) -> SeriesTable:
    """Return the table whose names stand above the lines, with the device classes where these differ."""
    left = None if room is None else room - len(INDENT)
    device = _devices(trends)
    numbers = _numbers(trends)
    if device.expendable:
        numbers.insert(0, device)
    else:
        names = [GAP.join(pair) for pair in zip(names, device.cells, strict=True)]
    kept = fitted(numbers, left, named=len(numbers) - 2, least=LEAST_SPARKS)
    return SeriesTable(_filled(kept, trends, left), above=tuple(names))


def _devices(trends: Sequence[Trend]) -> Column:
    """Return the device classes, without which series may look the same unless all are of one."""
    classes = [plain(trend["series"]["device_class"]) for trend in trends]
    return column("device", classes, expendable=2 if len(set(classes)) == 1 else 0)


def _numbers(trends: Sequence[Trend]) -> list[Column]:
    """Return the columns of numbers, with room for the smallest sparklines."""
    return [
        column("n", (str(len(trend["points"]["row"])) for trend in trends), right=True, expendable=1),
        column(_HISTORY, (" " * min(LEAST_SPARKS, len(trend["points"]["row"])) for trend in trends)),
        column("newest", map(_newest, trends), right=True),
    ]


def _filled(table: Sequence[Column], trends: Sequence[Trend], room: int | None) -> list[Column]:
    """Return the columns with sparklines that take what the others leave."""
    taken = sum(one.width for one in table) + len(GAP) * (len(table) - 1)
    width = MOST_SPARKS if room is None else min(MOST_SPARKS, LEAST_SPARKS + max(0, room - taken))
    drawn = column(_HISTORY, (_sparks(trend, width) for trend in trends))
    return [drawn if one.title == _HISTORY else one for one in table]


def _names(trends: Sequence[Trend]) -> list[str]:
    """Return what the series are called, with their projects where there are several."""
    every = [trend["series"] for trend in trends]
    is_one = len({series["project"] for series in every}) == 1
    return [plain(f"{'' if is_one else series['project'] + ' '}{_name(series)}") for series in every]


def _name(series: dict[str, Any]) -> str:
    return f"{case_label(series['benchmark'], series['params'])} {series['metric']}"


def _newest(trend: Trend) -> str:
    values = trend["points"]["value"]
    return format_quantity(values[-1] if values else None, trend["series"]["unit"])


def _sparks(trend: Trend, width: int) -> str:
    values = np.array(trend["points"]["value"], float)
    if not len(values):
        return ""
    first = trend["points"]["row"][0]
    marks = [change["row"] - first for change in trend["changes"] if 0 < change["row"] - first < len(values)]
    steps = np.abs(np.diff(values))
    noise = _NOISE_OF_MEDIAN * float(median(steps)) / np.sqrt(2) if len(steps) else 0.0
    return sparkline(values, sorted(set(marks)), width, spread=float(noise))
