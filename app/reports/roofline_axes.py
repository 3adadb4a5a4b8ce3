"""The ground of a roofline picture: logarithmic axes with their grid, the roofs and the slope of the memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from app.reports.label_places import Box, around
from app.reports.roofline_view import Point, RooflineView, levels, rate_unit, slope_label
from app.reports.svg import text

CHARACTER = 6.4
"""Width of a character of a label, on the wide side [px]."""
LINE = 15
"""Height of a line of labels [px]."""

_LEFT_OF_RIDGE, _RIGHT_OF_RIDGE = 40, 10
"""How far the axis reaches to both sides of the roofs' ridges at least, so that slope and level can be told apart."""


class Size(NamedTuple):
    """One width of the picture, and the edges of its plot [px]."""

    name: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int


WIDE = Size("wide", 720, 430, 52, 704, 40, 386)
NARROW = Size("narrow", 360, 400, 42, 348, 40, 356)


class Axes:
    """Values to places [px] on one size of the picture; the axes reach a little beyond everything that is shown."""

    def __init__(self, view: RooflineView, size: Size) -> None:
        points = [point for case in view.cases for point in (case.base, case.head) if point]
        peaks, bandwidth = [roof.peak for roof in view.roofs], view.bandwidth
        ridges = [peak / bandwidth for peak in peaks] if bandwidth else []
        across = [point.intensity for point in points]
        self.size = size
        self.x0 = min([*(x / 2 for x in across), *(x / _LEFT_OF_RIDGE for x in ridges)])
        self.x1 = max([*(x * 2 for x in across), *(x * _RIGHT_OF_RIDGE for x in ridges)])
        up = [*(point.achieved for point in points), *peaks]
        self.y0 = min(y / 3 for y in up)
        self.y1 = max(y * 2 for y in up)
        if bandwidth and not peaks:
            self.y1 = max(self.y1, bandwidth * self.x1 / 2)

    def x(self, value: float) -> float:
        """Return the place of an intensity [FLOP/B]."""
        share = math.log(value / self.x0) / math.log(self.x1 / self.x0)
        return self.size.left + share * (self.size.right - self.size.left)

    def y(self, value: float) -> float:
        """Return the place of a rate [FLOP/s]."""
        share = math.log(value / self.y0) / math.log(self.y1 / self.y0)
        return self.size.bottom - share * (self.size.bottom - self.size.top)

    def at(self, point: Point) -> tuple[float, float]:
        """Return the place of a point."""
        return self.x(point.intensity), self.y(point.achieved)

    @property
    def room(self) -> Box:
        """What labels must lie in."""
        return Box(self.size.left + 2, self.size.top + 2, self.size.right - 2, self.size.bottom - 2)


class Line(NamedTuple):
    """A roof or the slope with the place of its label [px]: where the text begins or ends, and its angle [degrees]."""

    start: tuple[float, float]
    end: tuple[float, float]
    label: str
    is_verified: bool
    place: tuple[float, float]
    angle: float

    @property
    def label_boxes(self) -> list[Box]:
        """What the label covers, as small squares along it."""
        x, y = self.place
        turn, length = math.radians(self.angle), len(self.label) * CHARACTER
        away = length if self.angle else -length
        return _squares((x, y - 4), (x + away * math.cos(turn), y - 4 + away * math.sin(turn)), LINE / 2)


def _squares(start: tuple[float, float], end: tuple[float, float], half: float) -> list[Box]:
    (x0, y0), (x1, y1) = start, end
    steps = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / half))
    spots = [(x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps) for i in range(steps + 1)]
    return [Box(x - half, y - half, x + half, y + half) for x, y in spots]


def lines(view: RooflineView, axes: Axes) -> list[Line]:
    """Return the slope, where the bandwidth is known, and the roofs from the highest down."""
    return [*_slope(view, axes), *_levels(view, axes)]


def _slope(view: RooflineView, axes: Axes) -> Iterable[Line]:
    bandwidth = view.bandwidth
    if not bandwidth:
        return
    ridge = max((roof.peak / bandwidth for roof in view.roofs), default=math.inf)
    first, last = max(axes.x0, axes.y0 / bandwidth), min(axes.x1, axes.y1 / bandwidth, ridge)
    start, end = ((axes.x(x), axes.y(x * bandwidth)) for x in (first, last))
    turn = math.atan2(end[1] - start[1], end[0] - start[0])
    label, along = slope_label(view), 14.0
    # Above the line, near its lower end: that side is empty, as nothing lies over a roof.
    place = (
        start[0] + along * math.cos(turn) + 6 * math.sin(turn),
        start[1] + along * math.sin(turn) - 6 * math.cos(turn),
    )
    yield Line(start, end, label, view.is_bandwidth_verified, place, math.degrees(turn))


def _levels(view: RooflineView, axes: Axes) -> Iterable[Line]:
    points = [
        around(*axes.at(point), LINE / 2) for case in view.cases for point in (case.base, case.head) if point
    ]
    above = -math.inf
    for labels, roof in levels(view):
        left = axes.x(max(axes.x0, roof.peak / view.bandwidth)) if view.bandwidth else float(axes.size.left)
        right, y = float(axes.size.right), axes.y(roof.peak)
        heights = (y - 6, y + 13) if y - above >= LINE + 4 else (y + 13,)
        free_from = float(axes.size.left) if above == -math.inf else left
        label, place = _free_place(labels, heights, free_from + 4, right - 6, points)
        yield Line((left, y), (right, y), label, roof.is_verified, place, 0.0)
        above = max(y, place[1])


def _free_place(
    labels: Sequence[str], heights: Sequence[float], left: float, right: float, points: Sequence[Box]
) -> tuple[str, tuple[float, float]]:
    """Return the form of a roof's label that leaves all points free, and its end; the first at the right if none does.

    Above the roof goes before below it, and the right before the left.
    """
    for label in labels:
        length = len(label) * CHARACTER
        for y in heights:
            for x in range(round(right), math.ceil(left + length) - 1, -4):
                if not any(Box(x - length, y - LINE, x, y + 3).overlaps(point) for point in points):
                    return label, (float(x), y)
    return labels[0], (right, heights[0])


def draw_line(line: Line) -> Markup:
    """Return a roof or the slope with its label."""
    (x0, y0), (x1, y1) = line.start, line.end
    kind = "roof" if line.is_verified else "roof unverified"
    x, y = (round(part) for part in line.place)
    turned = (
        Markup(' transform="rotate({:.1f} {} {})"').format(line.angle, x, y) if line.angle else Markup("")
    )
    return Markup(
        '<path class="{}" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/><text class="halo on{}" x="{}" y="{}"{}>{}</text>'
    ).format(kind, x0, y0, x1, y1, "" if line.angle else " end", x, y, turned, line.label)


# --- grid -----------------------------------------------------------------------------------------------------


def draw_grid(view: RooflineView, axes: Axes) -> Markup:
    """Return grid lines with labels at round values, and what the axes are of."""
    size = axes.size
    across = [(axes.x(value), f"{value:g}") for value in _round_values(axes.x0, axes.x1)]
    unit, step = rate_unit(view)
    up = [(axes.y(value), f"{value / step:g}") for value in _round_values(axes.y0, axes.y1)]
    path = "".join(
        [
            *(f"M{x:.0f} {size.top}V{size.bottom}" for x, _ in across),
            *(f"M{size.left} {y:.0f}H{size.right}" for y, _ in up),
        ]
    )
    labels = [
        *(text(round(x), size.bottom + 16, label, "mid") for x, label in across),
        *(text(size.left - 8, round(y) + 4, label, "end") for y, label in up),
        text(
            (size.left + size.right) // 2, size.bottom + 34, "operations for each byte moved, FLOP/B", "mid"
        ),
        text(size.right, size.top - 16, f"{unit} of one device", "end"),
    ]
    return Markup('<path class="grid" d="{}"/>{}').format(path, Markup("").join(labels))


def _round_values(low: float, high: float) -> list[float]:
    """Return the powers of ten between two values; 1, 2 and 5 times them where those are too few."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers if low <= 10.0**power <= high]
    if len(tens) >= 2:
        return tens
    return [
        value for power in powers for factor in (1, 2, 5) if low <= (value := factor * 10.0**power) <= high
    ]
