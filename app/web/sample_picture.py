"""The values behind a result, drawn small: in the order of their measurement, and beside that how they are spread.

Both parts have one scale. Shapes and labels only; colours come from the style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from app.domain.thinning import thinned
from app.domain.units import format_quantity
from app.reports import svg
from app.services.read_samples import ArmSample, SampledSeries
from app.web.picture_scale import shown_range, tick_labels

WIDTH, HEIGHT = 400, 120
_MIDDLE, _RIGHT, _TOP, _BOTTOM = 296, WIDTH - 6, 8, HEIGHT - 8
_GAP = 10

_LETTER = 5.6
"""Width of a letter of a label, about."""

COLUMNS = 80
"""Columns of the time order; at most six values stay of each."""

FEWEST_BARS, MOST_BARS = 4, 20


class _Scale:
    """Where values are, from the bottom up, and how much room their labels need to the left."""

    def __init__(self, values: Sequence[float], unit: str) -> None:
        self.low, self.high = shown_range(values)
        edge = (self.high - self.low) * 0.06
        self.marks = self.low + edge, (self.low + self.high) / 2, self.high - edge
        self.labels = tick_labels(self.marks, unit)
        self.left = round(max(map(len, self.labels)) * _LETTER) + 14

    def share(self, value: float) -> float:
        return max(0.0, min(1.0, (value - self.low) / (self.high - self.low)))

    def y(self, value: float) -> float:
        return _BOTTOM - self.share(value) * (_BOTTOM - _TOP)


def sample_picture(series: SampledSeries) -> Markup:
    """Return the picture of all arms; an empty string where no arm has two values."""
    arms = [arm for arm in series.arms if len(arm.values) > 1]
    if not arms:
        return Markup("")
    scale = _Scale([value for arm in arms for value in arm.values], series.unit)
    longest = max(len(arm.values) for arm in arms)
    shapes = [_frame(scale)]
    shapes += [_in_time(arm, longest, scale) for arm in arms]
    shapes += [_spread(arm, scale) for arm in arms]
    return Markup('<svg class="raw" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, _told(arms, series.unit), Markup("").join(shapes)
    )


def _told(arms: Iterable[ArmSample], unit: str) -> str:
    return "; ".join(
        f"{arm.arm}: {len(arm.values)} values in time order and their distribution, half of them from "
        f"{format_quantity(arm.spread[1], unit)} to {format_quantity(arm.spread[3], unit)}"
        for arm in arms
    )


def _frame(scale: _Scale) -> Markup:
    lines = f"M{scale.left} {_TOP}V{_BOTTOM}H{_MIDDLE}M{_MIDDLE + _GAP} {_TOP}V{_BOTTOM}"
    labels = [
        svg.text(scale.left - 6, round(scale.y(mark)) + 4, label)
        for mark, label in zip(scale.marks, scale.labels, strict=True)
    ]
    return Markup('<path class="frame" d="{}"/>{}').format(lines, Markup("").join(labels))


def _in_time(arm: ArmSample, longest: int, scale: _Scale) -> Markup:
    step = (_MIDDLE - scale.left - 8) / max(longest - 1, 1)
    kept = thinned(arm.values, arm.values, arm.values, COLUMNS, keep=arm.void)
    places = {i: f"M{scale.left + 4 + i * step:.1f} {scale.y(arm.values[i]):.1f}h0" for i in kept}
    drawn = [("", [i for i in kept if i not in arm.void]), (" void", [i for i in kept if i in arm.void])]
    return Markup("").join(
        Markup('<path class="dots {}" d="{}"/>').format(arm.arm + kind, "".join(places[i] for i in its))
        for kind, its in drawn
        if its
    )


def _spread(arm: ArmSample, scale: _Scale) -> Markup:
    """Return the arm's histogram lying on its side, with its median as a line."""
    values, left, width = arm.counted, _MIDDLE + _GAP, _RIGHT - _MIDDLE - _GAP
    n = max(FEWEST_BARS, min(MOST_BARS, math.ceil(math.sqrt(len(values)) * 1.5)))
    bars = [0] * n
    for value in values:
        bars[min(n - 1, int(scale.share(value) * n))] += 1
    tall, most = (_BOTTOM - _TOP) / n, max(bars)
    outline = "".join(
        f"V{_BOTTOM - i * tall:.1f}H{left + bar / most * width:.1f}" for i, bar in enumerate(bars)
    )
    middle = scale.y(arm.spread[2])
    return Markup(
        '<path class="bars {0}" d="M{1} {2}{3}V{4}H{1}"/><path class="level {0}" d="M{1} {5:.1f}h{6}"/>'
    ).format(arm.arm, left, _BOTTOM, outline, _TOP, middle, width)
