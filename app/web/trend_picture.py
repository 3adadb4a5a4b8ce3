"""A trend drawn by the server: its values with their ranges, and a line wherever the level changed.

It is what a reader without scripts sees; the script draws the same points where it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from markupsafe import Markup

from app.domain.units import format_quantity
from app.reports import svg
from app.services.read_trend import Trend, TrendChange, TrendPoint
from app.web.picture_scale import shown_range, tick_labels

WIDTH, HEIGHT = 960, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, WIDTH - 8, 10, HEIGHT - 26

_TICKS = 5

DOTS_UP_TO = 240
"""Points that are still drawn one by one."""


class _Frame:
    """Where rows and values are in the picture."""

    def __init__(self, points: Sequence[TrendPoint]) -> None:
        self.first, self.last = points[0].row, max(points[-1].row, points[0].row + 1)
        self.low, self.high = shown_range([point.value for point in points])

    def x(self, row: float) -> float:
        return _LEFT + (row - self.first) / (self.last - self.first) * (_RIGHT - _LEFT)

    def y(self, value: float) -> float:
        share = max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))
        return _BOTTOM - share * (_BOTTOM - _TOP)


def trend_picture(trend: Trend) -> Markup:
    """Return the picture; an empty string where there is no point."""
    points = trend.points
    if not points:
        return Markup("")
    frame, unit = _Frame(points), trend.series.unit
    shapes = [_axes(frame, points, unit), _band(frame, points)]
    shapes += [_mark(frame, change) for change in trend.changes if frame.first < change.row <= frame.last]
    shapes.append(_line(frame, points))
    label = (
        f"{len(points)} points from {format_quantity(min(point.value for point in points), unit)} "
        f"to {format_quantity(max(point.value for point in points), unit)}, the newest "
        f"{format_quantity(points[-1].value, unit)}"
    )
    return Markup('<svg class="trend" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, Markup("").join(shapes)
    )


def _axes(frame: _Frame, points: Sequence[TrendPoint], unit: str) -> Markup:
    values = [frame.low + (frame.high - frame.low) * step / (_TICKS - 1) for step in range(_TICKS)]
    grid = "".join(f"M{_LEFT} {frame.y(value):.1f}H{_RIGHT}" for value in values)
    labels = [
        svg.text(_LEFT - 8, round(frame.y(value)) + 4, told, "end")
        for value, told in zip(values, tick_labels(values, unit), strict=True)
    ]
    days = [
        svg.text(_LEFT, HEIGHT - 8, _day(points[0])),
        svg.text(_RIGHT, HEIGHT - 8, _day(points[-1]), "end"),
    ]
    return Markup('<path class="grid" d="{}"/>').format(grid) + Markup("").join(labels + days)


def _day(point: TrendPoint) -> str:
    return point.time.strftime("%Y-%m-%d")


def _band(frame: _Frame, points: Sequence[TrendPoint]) -> Markup:
    upper = [f"{frame.x(point.row):.1f} {frame.y(point.high):.1f}" for point in points]
    lower = [f"{frame.x(point.row):.1f} {frame.y(point.low):.1f}" for point in reversed(points)]
    return Markup('<path class="band" d="M{}Z"/>').format("L".join(upper + lower))


def _line(frame: _Frame, points: Sequence[TrendPoint]) -> Markup:
    places = [f"{frame.x(point.row):.1f} {frame.y(point.value):.1f}" for point in points]
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
