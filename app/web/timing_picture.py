"""The raw timings of one case, drawn small: every invocation's batches in time order, its median as a line.

Shapes and two labels only; colours come from the style sheet. What lies far above the rest is put at the
upper edge, so that one spike does not flatten everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median, quantiles

from markupsafe import Markup

from app.domain.units import format_quantity
from app.services.read_run import Burst, CaseTimings

WIDTH, HEIGHT = 400, 104
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, WIDTH - 6, 8, HEIGHT - 8

MOST_POINTS = 1_500
"""Points of one picture: with many invocations each one shows fewer of its batches."""


def timing_picture(case: CaseTimings) -> Markup:
    """Return the picture; an empty string where nothing was timed."""
    bursts = [burst for burst in case.bursts if burst.seconds]
    if not bursts:
        return Markup("")
    low, high = _range([value for burst in bursts for value in burst.seconds])
    slot = (_RIGHT - _LEFT) / len(bursts)
    each = max(1, MOST_POINTS // len(bursts))
    shapes = [_labels(low, high)]
    for index, burst in enumerate(bursts):
        shapes.append(_draw(burst, _LEFT + index * slot, slot, each, (low, high)))
    label = f"{len(bursts)} invocations in time order, {_seconds(low)} to {_seconds(high)} for one iteration"
    return Markup('<svg class="raw" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, Markup("").join(shapes)
    )


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the limits of the axis: all values, except that the highest hundredth may not stretch it."""
    low, high = min(values), max(values)
    if len(values) >= 2:
        usual = quantiles(values, n=100, method="inclusive")[98]
        high = min(high, low + 2 * (usual - low)) if usual > low else high
    margin = (high - low) * 0.06 or low * 0.01 or 1e-9
    return low - margin, high + margin


def _draw(burst: Burst, left: float, slot: float, most: int, limits: tuple[float, float]) -> Markup:
    shown = _thinned(burst.seconds, most)
    step = slot * 0.8 / max(len(shown) - 1, 1)
    first = left + slot * (0.1 if len(shown) > 1 else 0.5)
    places = [(first + index * step, _y(value, limits)) for index, value in enumerate(shown)]
    kind = f"{burst.arm} void" if burst.is_void else burst.arm
    level = _y(median(burst.seconds), limits)
    return Markup(
        '<path class="dots {0}" d="{1}"/><path class="level {0}" d="M{2:.1f} {3}h{4:.1f}"/>'
    ).format(kind, _points(places), left + slot * 0.06, level, slot * 0.88)


def _thinned(values: Sequence[float], most: int) -> Sequence[float]:
    return values[:: -(-len(values) // most)]


def _points(places: Iterable[tuple[float, int]]) -> str:
    return "".join(f"M{x:.1f} {y}h0" for x, y in places)


def _y(value: float, limits: tuple[float, float]) -> int:
    low, high = limits
    share = max(0.0, min(1.0, (value - low) / (high - low)))
    return round(_BOTTOM - share * (_BOTTOM - _TOP))


def _labels(low: float, high: float) -> Markup:
    return Markup(
        '<path class="frame" d="M{left} {top}V{bottom}H{right}"/>'
        '<text x="{x}" y="{upper}">{high}</text><text x="{x}" y="{bottom}">{low}</text>'
    ).format(
        left=_LEFT, right=_RIGHT, top=_TOP, bottom=_BOTTOM, x=_LEFT - 6, upper=_TOP + 9,
        high=_seconds(high), low=_seconds(low),
    )  # fmt: skip


def _seconds(value: float) -> str:
    return format_quantity(max(value, 0.0), "s")
