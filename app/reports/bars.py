"""The bars of the report's tables: one interval a row, all on one scale, and the axis above them.

Shapes only, as compact inline SVG in whole pixels: there may be a thousand. Colours come from the style sheet.
"""

from __future__ import annotations

from markupsafe import Markup

from app.reports.scale import EffectScale, Thresholds, tick_label
from app.reports.svg import text

WIDTH, HEIGHT = 240, 18
_MIDDLE, _REACH = WIDTH // 2, WIDTH // 2 - 8
_CHARACTER = 7
"""What a character of a label takes: on average, in a wide font at the style sheet's 10.5 px."""
_LABEL_GAP = 4


def scale_marks(scale: EffectScale, limits: Thresholds) -> Markup:
    """Return the lines behind a bar: zero, the minimum effect and the tolerance on both sides."""
    tau, tau0 = (
        "".join(f"M{_x(scale, side * effect)} 0V{HEIGHT}" for side in (-1, 1))
        for effect in (limits.tolerance, limits.minimum_effect)
    )
    return Markup(
        '<path class="tau" d="{}"/><path class="tau0" d="{}"/><path class="zero" d="M{} 0V{}"/>'
    ).format(tau, tau0, _MIDDLE, HEIGHT)


def interval_bar(
    scale: EffectScale,
    effect: float | None,
    low: float | None,
    high: float | None,
    *,
    bound: float | None = None,
    is_exact: bool = False,
) -> Markup:
    """Return the shapes of one row: the interval as a line with ends, the estimate as a dot.

    All ends are ln units, positive = worse. One that is missing or off the scale is an arrow; an exact metric has a
    dot only; without an estimate there is nothing. `bound` is the one-sided bound that settled the case: a mark on
    the line, or where it ends if the interval has no end there.
    """
    if effect is None:
        return Markup("")
    dot = f"M{_x(scale, effect)} 9h0"
    if is_exact:
        return Markup('<path class="dot" d="{}"/>').format(dot)
    if bound is None:
        return Markup('<path d="{}"/><path class="dot" d="{}"/>').format(_whiskers(scale, low, high), dot)
    x = _x(scale, bound)
    line = _whiskers(scale, low, high) if high is not None else _line_up_to(x, *_end(scale, low, -1))
    mark = f"M{x} 3v12"
    return Markup('<path d="{}"/><path class="bound" d="{}"/><path class="dot" d="{}"/>').format(
        line, mark, dot
    )


def scale_axis(scale: EffectScale) -> Markup:
    """Return the labelled axis that the bars share: raw changes of a lower-is-better metric, worse to the right."""
    labels = [text(_x(scale, tick), 12, tick_label(tick), "mid") for tick in scale.ticks(_label_length)]
    return Markup('<svg class="axis" viewBox="0 0 {} 16" aria-hidden="true">{}</svg>').format(
        WIDTH, Markup("").join(labels)
    )


def _label_length(tick: float) -> float:
    return (len(tick_label(tick)) * _CHARACTER + _LABEL_GAP) / _REACH


def _whiskers(scale: EffectScale, low: float | None, high: float | None) -> str:
    left, left_end = _end(scale, low, -1)
    right, right_end = _end(scale, high, 1)
    return f"M{left} 9H{right}{left_end}{right_end}"


def _line_up_to(x: int, left: int, left_end: str) -> str:
    return f"M{left} 9H{x}{left_end}"


def _end(scale: EffectScale, bound: float | None, side: int) -> tuple[int, str]:
    if bound is None or (abs(bound) > scale.limit and bound * side > 0):
        x = _MIDDLE + side * (_REACH + 5)
        return x, f"M{x - side * 5} 5l{side * 5} 4l{-side * 5} 4"
    x = _x(scale, bound)
    return x, f"M{x} 4v10"


def _x(scale: EffectScale, effect: float) -> int:
    return round(_MIDDLE + scale.position(effect) * _REACH)
