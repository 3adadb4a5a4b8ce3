"""What a device read while a run went on: for each invocation its lowest, middle and highest, in time order."""

from __future__ import annotations

from markupsafe import Markup

from app.domain.units import format_quantity
from app.reports.quantities import percent
from app.services.read_devices import ReadingStrip
from app.web.axis import Axis

WIDTH, HEIGHT = 400, 84
_RIGHT, _TOP, _BOTTOM = WIDTH - 6, 8, HEIGHT - 8

MOST = 300
"""Invocations that are drawn; of more, evenly spaced ones."""


def reading_picture(strip: ReadingStrip) -> Markup:
    """Return the picture of a reading of one invocation or more."""
    points = strip.points[:: -(-len(strip.points) // MOST)]
    ends = [end for _, (low, _, high) in points for end in (low, high)]
    axis = Axis(ends, strip.unit, top=_TOP, bottom=_BOTTOM, labels=2, are_shares=_has_shares(strip))
    step = (_RIGHT - axis.left) / len(points)
    shapes = [
        Markup('<path class="frame" d="M{} {}V{}H{}"/>').format(axis.left, _TOP, _BOTTOM, _RIGHT),
        axis.labels,
    ]
    for arm in ("base", "head"):
        its = [(axis.left + (i + 0.5) * step, point) for i, (one, point) in enumerate(points) if one == arm]
        ranges = "".join(f"M{x:.1f} {axis.y(low):.1f}V{axis.y(high):.1f}" for x, (low, _, high) in its)
        middles = "".join(f"M{x:.1f} {axis.y(middle):.1f}h0" for x, (_, middle, _) in its)
        shapes.append(
            Markup('<path class="range {0}" d="{1}"/><path class="dots {0}" d="{2}"/>').format(
                arm, ranges, middles
            )
        )
    lowest, highest = (_told(strip, end) for end in (min(ends), max(ends)))
    label = f"{len(strip.points)} invocations in time order, {lowest} to {highest}"
    return Markup('<svg class="raw" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, label, Markup("").join(shapes)
    )


def _has_shares(strip: ReadingStrip) -> bool:
    """Tell whether its values are shares: what a device reads has a unit otherwise."""
    return strip.unit == "1"


def _told(strip: ReadingStrip, value: float) -> str:
    return percent(value) if _has_shares(strip) else format_quantity(value, strip.unit)
