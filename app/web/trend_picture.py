"""A trend drawn by the server: its values with their ranges, a line wherever the level changed, and what is beside it.

It is what a reader without scripts sees; the script draws the same points where it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from markupsafe import Markup

from app.domain.units import format_quantity
from app.reports import svg
from app.reports.words import count
from app.services.read_trend import Trend, TrendChange, TrendPoint, TrendPoints
from app.web import mark_shapes
from app.web.mark_shapes import Place
from app.web.mark_words import budget_labels, limits
from app.web.picture_scale import shown_range, with_limits
from app.web.ticks import ticks

WIDTH, HEIGHT = 960, 320
STRIP = 58
"""How much higher it is where the control is drawn below the values."""

_RIGHT, _TOP, _BOTTOM = WIDTH - 8, 26, HEIGHT - 26

_LETTER, _GAP = 9, 12
"""Width of a letter of a label, about, where a narrow window has them larger; and what is left beside it."""

_CONTROL = len("control")

DOTS_UP_TO = 240
"""Points that are still drawn one by one."""


class _Frame:
    """Where rows and values are in the picture."""

    def __init__(self, trend: Trend) -> None:
        points = trend.points
        self.first, self.last = points.row[0], max(points.row[-1], points.row[0] + 1)
        usual = shown_range(points.value)
        self.low, self.high = with_limits(usual, [limit for limit, _ in limits(trend.marks.budget)])
        self.ticks = ticks(self.low, self.high, trend.series.unit)
        letters = [_CONTROL if trend.marks.control.row else 0, *map(len, self.ticks.numbers)]
        self.left = max(letters) * _LETTER + _GAP
        self.place = Place(self.left, _RIGHT, _TOP, _BOTTOM, self.x, self.y)

    def x(self, row: float) -> float:
        return self.left + (row - self.first) / (self.last - self.first) * (_RIGHT - self.left)

    def y(self, value: float) -> float:
        share = max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))
        return _BOTTOM - share * (_BOTTOM - _TOP)

    def has(self, row: int) -> bool:
        """Tell whether the gap before this row is shown."""
        return self.first < row <= self.last


def trend_picture(trend: Trend) -> Markup:
    """Return the picture; an empty string where there is no point."""
    points = trend.points
    if not points:
        return Markup("")
    frame = _Frame(trend)
    height = HEIGHT + (STRIP if trend.marks.control.row else 0)
    shapes = [_axes(frame, points, height), *_beside(frame, trend), _band(frame, points)]
    shapes += [_mark(frame, change) for change in trend.changes if frame.has(change.row)]
    shapes += [_line(frame, points), *mark_shapes.control(frame.place, trend.marks.control, _BOTTOM)]
    return Markup('<svg class="trend" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, _label(frame, trend), Markup("").join(shapes)
    )


def _label(frame: _Frame, trend: Trend) -> str:
    points, unit, marks = trend.points, trend.series.unit, trend.marks
    values = points.value
    told = [
        f"{len(points)} points from {format_quantity(min(values), unit)} "
        f"to {format_quantity(max(values), unit)}, the newest {format_quantity(values[-1], unit)}"
    ]
    if epochs := sum(frame.has(epoch.row) for epoch in marks.epochs):
        told.append(f"the machine changed {count(epochs, 'time')}")
    if failed := sum(mark_shapes.is_shown(run, frame.first, frame.last) for run in marks.failed):
        told.append(f"{count(failed, 'run')} without a point")
    if marks.void:
        told.append(f"{count(len(marks.void), 'point')} with void values")
    return ", ".join([*told, *budget_labels(marks.budget, unit)])


def _beside(frame: _Frame, trend: Trend) -> list[Markup]:
    """Return what lies below the curve."""
    marks, place = trend.marks, frame.place
    failed = [run for run in marks.failed if mark_shapes.is_shown(run, frame.first, frame.last)]
    return [
        *mark_shapes.budget(place, marks.budget, trend.series.unit, (frame.low, frame.high)),
        *mark_shapes.epochs(place, [epoch for epoch in marks.epochs if frame.has(epoch.row)]),
        *mark_shapes.void(place, marks.void),
        *mark_shapes.failed(place, failed, frame.last),
    ]


def _axes(frame: _Frame, points: TrendPoints, height: int) -> Markup:
    values, numbers, unit = frame.ticks
    grid = "".join(f"M{frame.left} {frame.y(value):.1f}H{_RIGHT}" for value in values)
    labels = [
        svg.text(frame.left - 8, round(frame.y(value)) + 4, number, "end")
        for value, number in zip(values, numbers, strict=True)
    ]
    labels += [svg.text(0, 12, unit)] if unit else []
    days = [
        svg.text(frame.left, height - 8, _day(points[0])),
        svg.text(_RIGHT, height - 8, _day(points[-1]), "end"),
    ]
    return Markup('<path class="grid" d="{}"/>').format(grid) + Markup("").join(labels + days)


def _day(point: TrendPoint) -> str:
    return point.time.strftime("%Y-%m-%d")


def _band(frame: _Frame, points: TrendPoints) -> Markup:
    upper, lower = _places(frame, points.row, points.high), _places(frame, points.row, points.low)
    return Markup('<path class="band" d="M{}Z"/>').format("L".join(upper + lower[::-1]))


def _places(frame: _Frame, rows: Sequence[int], values: Sequence[float]) -> list[str]:
    """Return where the values are, as a path has it."""
    return [f"{frame.x(row):.1f} {frame.y(value):.1f}" for row, value in zip(rows, values, strict=True)]


def _line(frame: _Frame, points: TrendPoints) -> Markup:
    places = _places(frame, points.row, points.value)
    line = Markup('<path class="line" d="M{}"/>').format("L".join(places))
    if len(points) > DOTS_UP_TO:
        return line
    return line + Markup('<path class="dots" d="{}"/>').format("".join(f"M{place}h0" for place in places))


def _mark(frame: _Frame, change: TrendChange) -> Markup:
    x = frame.x(change.row - 0.5)
    return Markup('<path class="mark {}" d="M{:.1f} {}V{}"/>').format(tone(change), x, _TOP, _BOTTOM)


class _Changed(Protocol):
    @property
    def is_machine(self) -> bool: ...

    @property
    def is_worse(self) -> bool | None: ...


def tone(change: _Changed) -> str:
    """Return how a change is coloured: by what it means for who reads it; one of the machine blames nobody."""
    if change.is_machine or change.is_worse is None:
        return "open"
    return "regressed" if change.is_worse else "improved"
