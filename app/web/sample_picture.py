"""The values behind a result, drawn small: in the order of their measurement, and beside that how they are spread.

Both parts have one axis. Shapes and labels only; colours come from the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from markupsafe import Markup

from app.domain.thinning import thinned
from app.domain.units import format_quantity
from app.services.read_samples import ArmSample, SampledSeries
from app.web.axis import Axis

WIDTH, HEIGHT = 400, 120
_MIDDLE, _RIGHT, _TOP, _BOTTOM = 296, WIDTH - 6, 8, HEIGHT - 8
_GAP = 10

COLUMNS = 80
"""Columns of the time order; at most six values stay of each."""

FEWEST_BARS, MOST_BARS = 4, 20


def sample_picture(series: SampledSeries) -> Markup:
    """Return the picture of all arms; an empty string where no arm has two values."""
    arms = [arm for arm in series.arms if len(arm.values) > 1]
    if not arms:
        return Markup("")
    axis = Axis([value for arm in arms for value in arm.values], series.unit, top=_TOP, bottom=_BOTTOM)
    longest = max(len(arm.values) for arm in arms)
    shapes = [_frame(axis)]
    shapes += [_in_time(arm, longest, axis) for arm in arms]
    shapes += [_spread(arm, axis) for arm in arms]
    return Markup('<svg class="raw" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, _told(arms, series.unit), Markup("").join(shapes)
    )


def _told(arms: Iterable[ArmSample], unit: str) -> str:
    return "; ".join(
        f"{arm.arm}: {len(arm.values)} values in time order and their distribution, half of them from "
        f"{format_quantity(arm.spread[1], unit)} to {format_quantity(arm.spread[3], unit)}"
        for arm in arms
    )


def _frame(axis: Axis) -> Markup:
    lines = f"M{axis.left} {_TOP}V{_BOTTOM}H{_MIDDLE}M{_MIDDLE + _GAP} {_TOP}V{_BOTTOM}"
    return Markup('<path class="frame" d="{}"/>{}').format(lines, axis.labels)


def _in_time(arm: ArmSample, longest: int, axis: Axis) -> Markup:
    step = (_MIDDLE - axis.left - 8) / max(longest - 1, 1)
    kept = thinned(arm.values, arm.values, arm.values, COLUMNS, keep=arm.void)
    places = {i: f"M{axis.left + 4 + i * step:.1f} {axis.y(arm.values[i]):.1f}h0" for i in kept}
    drawn = [("", [i for i in kept if i not in arm.void]), (" void", [i for i in kept if i in arm.void])]
    return Markup("").join(
        Markup('<path class="dots {}" d="{}"/>').format(arm.arm + kind, "".join(places[i] for i in its))
        for kind, its in drawn
        if its
    )


def _spread(arm: ArmSample, axis: Axis) -> Markup:
    """Return the arm's histogram lying on its side, with its median as a line."""
    values, left, width = arm.counted, _MIDDLE + _GAP, _RIGHT - _MIDDLE - _GAP
    n = max(FEWEST_BARS, min(MOST_BARS, math.ceil(math.sqrt(len(values)) * 1.5)))
    bars = [0] * n
    for value in values:
        bars[min(n - 1, int(axis.share(value) * n))] += 1
    tall, most = (_BOTTOM - _TOP) / n, max(bars)
    outline = "".join(
        f"V{_BOTTOM - i * tall:.1f}H{left + bar / most * width:.1f}" for i, bar in enumerate(bars)
    )
    middle = axis.y(arm.spread[2])
    return Markup(
        '<path class="bars {0}" d="M{1} {2}{3}V{4}H{1}"/><path class="level {0}" d="M{1} {5:.1f}h{6}"/>'
    ).format(arm.arm, left, _BOTTOM, outline, _TOP, middle, width)
