"""A series' newest points as a small line, with a mark where its level changed."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from app.web.picture_scale import shown_range

WIDTH, HEIGHT = 160, 32
_EDGE = 3


def spark_picture(values: Sequence[float], marks: Sequence[int]) -> Markup:
    """Return the picture; an empty string where there are fewer than two points. The text beside it says the same."""
    if len(values) < 2:
        return Markup("")
    limits = shown_range(values)
    places = [(_x(row, len(values)), _y(value, limits)) for row, value in enumerate(values)]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    level = "".join(f"M{_x(mark - 0.5, len(values)):.1f} 0V{HEIGHT}" for mark in marks)
    end_x, end_y = places[-1]
    return Markup(
        '<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true"><path class="mark" d="{}"/>'
        '<path class="line" d="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="2.2"/></svg>'
    ).format(WIDTH, HEIGHT, level, line, end_x, end_y)


def _x(row: float, n: int) -> float:
    return _EDGE + row * (WIDTH - 2 * _EDGE) / (n - 1)


def _y(value: float, limits: tuple[float, float]) -> float:
    low, high = limits
    share = max(0.0, min(1.0, (value - low) / (high - low)))
    return HEIGHT - _EDGE - share * (HEIGHT - 2 * _EDGE)
