"""Small pictures beside numbers: a quarter of weeks as a line, a share as a bar. The text beside them says the same."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 120, 30
_EDGE = 3
_LEAST_RANGE = 0.06
"""Of the middle: less than six percent from top to bottom is drawn as quiet as it is."""


def weeks_picture(values: Sequence[float | None]) -> Markup:
    """Return the line of some weeks, the newest marked; a week without points is a gap. Empty with fewer than two."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return Markup("")
    low, high = _limits(known)
    places = [
        None if value is None else (_x(row, len(values)), _y(value, low, high))
        for row, value in enumerate(values)
    ]
    path, is_gap = "", True
    for place in places:
        if place is not None:
            path += f"{'M' if is_gap else 'L'}{place[0]:.1f} {place[1]:.1f}"
        is_gap = place is None
    last = next(place for place in reversed(places) if place is not None)
    return Markup(
        '<svg class="weeks" viewBox="0 0 {} {}" aria-hidden="true"><path d="{}"/>'
        '<circle cx="{:.1f}" cy="{:.1f}" r="2.6"/></svg>'
    ).format(WIDTH, HEIGHT, path, *last)


def share_picture(share: float) -> Markup:
    """Return a bar of a share of one; what is more than one is full."""
    width = max(0.0, min(1.0, share)) * 100
    return Markup(
        '<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="all" width="100" height="6"/><rect width="{:.1f}" height="6"/></svg>'
    ).format(width)


def _limits(known: Sequence[float]) -> tuple[float, float]:
    low, high = min(known), max(known)
    middle, least = (low + high) / 2, _LEAST_RANGE * abs(low + high) / 2
    half = max(high - low, least) / 2 or 1.0
    return middle - half, middle + half


def _x(row: int, n: int) -> float:
    return _EDGE + row * (WIDTH - 2 * _EDGE) / (n - 1)


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - _EDGE - (value - low) / (high - low) * (HEIGHT - 2 * _EDGE)
