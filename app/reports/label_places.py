"""Places for labels beside points of a picture, so that none covers another, a point or an edge.

Greedy: labels are placed one after the other, each at the nearest free place of a fixed list. That is not the best
solution of the problem (which is NP-hard: Marks & Shieber 1991), but a few dozen labels need no better one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_NEAR = (
    (8, 0, 0),
    (-8, 0, -1),
    (0, -9, -0.5),
    (0, 9, -0.5),
    (6, -8, 0),
    (6, 8, 0),
    (-6, -8, -1),
    (-6, 8, -1),
)
"""Places that touch the point: how far the label's middle line lies from it, and the share of its width that it is
moved by. Right and left read best, then above and below."""

_DISTANCES = (22, 34, 48, 64, 82)
_DIRECTIONS = 16

_WAY_OF_A_CROSSING = 40.0
"""How much farther a place may be [px] whose lead does not cross a line."""

Spot = tuple[float, float]
"""A point [px]."""


class Box(NamedTuple):
    """A rectangle by its edges [px]."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Tell whether the two have a point in common; edges that touch do not count."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, other: Box) -> bool:
        """Tell whether it lies inside the other."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


class Place(NamedTuple):
    """Where a label stands, in which of its forms; `is_far` asks for a line from the point to it, a lead."""

    box: Box
    is_far: bool
    form: int = 0


def around(x: float, y: float, half: float) -> Box:
    """Return the square of a point [px]."""
    return Box(x - half, y - half, x + half, y + half)


def place_labels(
    points: Sequence[Spot],
    widths: Sequence[Sequence[float]],
    height: float,
    room: Box,
    taken: Iterable[Box],
    lines: Sequence[tuple[Spot, Spot]] = (),
) -> list[Place | None]:
    """Return a place for the label of each point; None for a label that finds none in any of its forms.

    Args:
        points: the points in the order in which they choose [px].
        widths: of each label the widths of its forms, in the order in which they are tried [px].
        height: the height of a label [px].
        room: what every label must lie in.
        taken: what no label may cover, the points' own squares included.
        lines: what only the last form of a label may cover, or cross on the way to its point.
    """
    blocked = [*taken]
    places: list[Place | None] = []
    for point, forms in zip(points, widths, strict=True):
        found = _first_form(point, forms, height, room, blocked, lines)
        places.append(found)
        if found is not None:
            blocked.append(found.box)
    return places


def _first_form(
    point: Spot,
    forms: Sequence[float],
    height: float,
    room: Box,
    blocked: list[Box],
    lines: Sequence[tuple[Spot, Spot]],
) -> Place | None:
    for form, width in enumerate(forms):
        places = [
            place._replace(form=form)
            for place in _candidates(point, width, height)
            if place.box.within(room) and not any(place.box.overlaps(other) for other in blocked)
        ]
        found = min(places, key=lambda place: _cost(point, place, lines), default=None)
        is_last = form == len(forms) - 1
        if found is not None and (is_last or not _crossings(point, found, lines)):
            return found
    return None


def lead(point: Spot, box: Box) -> Spot:
    """Return where the line from a point to its label ends: the nearest of the label [px]."""
    x, y = point
    return max(box.left, min(box.right, x)), max(box.top + 3, min(box.bottom - 3, y))


def _cost(point: Spot, place: Place, lines: Sequence[tuple[Spot, Spot]]) -> float:
    """Return how far a place is, each line in its way counting as a way of its own [px]."""
    away = math.dist(point, lead(point, place.box)) if place.is_far else 0.0
    return away + _WAY_OF_A_CROSSING * _crossings(point, place, lines)


def _crossings(point: Spot, place: Place, lines: Sequence[tuple[Spot, Spot]]) -> int:
    """Return how many lines the label covers or its lead crosses."""
    left, top, right, bottom = place.box
    ways = [((left, top), (right, bottom)), ((left, bottom), (right, top))]
    if place.is_far:
        ways.append((point, lead(point, place.box)))
    return sum(any(_cross(*way, *line) for way in ways) for line in lines)


def _cross(a: Spot, b: Spot, c: Spot, d: Spot) -> bool:
    """Tell whether the lines from a to b and from c to d cross: each has the other's ends on both of its sides."""
    return _side(a, b, c) != _side(a, b, d) and _side(c, d, a) != _side(c, d, b)


def _side(a: Spot, b: Spot, c: Spot) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) > (b[1] - a[1]) * (c[0] - a[0])


def _candidates(point: Spot, width: float, height: float) -> Iterable[Place]:
    x, y = point
    for dx, dy, moved in _NEAR:
        yield Place(_box(x + dx + moved * width, y + dy, width, height), False)
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            angle = 2 * math.pi * step / _DIRECTIONS
            right, down = distance * math.cos(angle), distance * math.sin(angle)
            moved = 0.0 if right > 1 else -1.0 if right < -1 else -0.5
            yield Place(_box(x + right + moved * width, y + down, width, height), True)


def _box(left: float, middle: float, width: float, height: float) -> Box:
    return Box(left, middle - height / 2, left + width, middle + height / 2)
