"""What is marked in a picture of a trend beside its curve: each kind has a shape of its own, so that no colour counts.

A machine that arrives is a dotted line under a triangle, a budget a line of long dashes with its words, void values
are ticks on the axis, a run without a point is a cross on it, and the control is a curve below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from app.reports import quantities, svg
from app.reports.mark_words import budget_words
from app.services.read_marks import ControlLine, FailedRun, TrendBudget, TrendEpoch, VoidPoint
from app.web.mark_words import epoch_words, failed_words, limits

LEAST_DEVIATION = 0.02
"""The control's scale reaches this far at the least: a machine may move by less without harm."""

_STRIP = 40
"""How high the control's curve may go, both ways together."""

_GAP = 18
_USUAL = 0.98
"""The share of the control's values that its scale is made for; others are drawn at its edge."""


class Place(NamedTuple):
    """The picture's part that values are drawn in, and where rows and values are in it."""

    left: float
    right: float
    top: float
    bottom: float
    x: Callable[[float], float]
    y: Callable[[float], float]


def is_shown(run: FailedRun, first: int, last: int) -> bool:
    """Tell whether a run without a point lies among these rows, or right after the last one."""
    return first < run.row <= last + 1


def epochs(place: Place, found: Iterable[TrendEpoch]) -> Iterator[Markup]:
    """Yield a line for each machine that arrives, with what changed."""
    for epoch in found:
        x = place.x(epoch.row - 0.5)
        yield Markup(
            '<g class="epoch"><title>{}</title><path class="rule" d="M{:.1f} {}V{}"/>'
            '<path class="head" d="M{:.1f} {}h10l-5 8z"/></g>'
        ).format(epoch_words(epoch), x, place.top, place.bottom, x - 5, place.top)


def budget(place: Place, its: TrendBudget | None, unit: str, shown: tuple[float, float]) -> Iterator[Markup]:
    """Yield each limit as a line, or where it is out of the range that is shown, its words at that edge."""
    for limit, is_minimum in limits(its):
        words = budget_words(limit, unit, is_minimum=is_minimum)
        y = place.y(limit)
        if shown[0] <= limit <= shown[1]:
            yield Markup('<path class="budget" d="M{} {:.1f}H{}"/>').format(place.left, y, place.right)
        else:
            words += " ↑" if limit > shown[1] else " ↓"
        below = y - 5 < place.top + 8
        yield svg.text(round(place.right) - 4, round(y + 13 if below else y - 5), words, "end")


def void(place: Place, found: Sequence[VoidPoint]) -> Iterator[Markup]:
    """Yield a tick on the axis for every point with void values."""
    if found:
        ticks = "".join(f"M{place.x(point.row):.1f} {place.bottom}v-8" for point in found)
        yield Markup('<path class="void" d="{}"/>').format(ticks)


def failed(place: Place, found: Iterable[FailedRun], last: int) -> Iterator[Markup]:
    """Yield a cross on the axis for every run without a point; what is newer than all points is at the end."""
    for run in found:
        x = place.x(min(run.row - 0.5, last))
        yield Markup('<g class="failed"><title>{}</title><path d="M{:.1f} {:.1f}l8 8m0-8l-8 8"/></g>').format(
            f"{run.sha[:10]}: {failed_words(run)}", x - 4, place.bottom - 4
        )


def control(place: Place, line: ControlLine, below: float) -> Iterator[Markup]:
    """Yield the control's curve in a strip below the values; 0 is what it usually takes, up is slower."""
    if not line.row:
        return
    reach = control_reach(line.deviation)
    middle = below + _GAP + _STRIP / 2

    def y(deviation: float) -> float:
        return middle - max(-1.0, min(1.0, deviation / reach)) * _STRIP / 2

    grid = "".join(f"M{place.left} {y(value):.1f}H{place.right}" for value in (-reach, 0.0, reach))
    yield Markup('<path class="grid" d="{}"/>').format(grid)
    yield svg.text(round(place.left) - 8, round(y(reach)) + 4, quantities.change(reach), "end")
    yield svg.text(round(place.left) - 8, round(middle) + 4, "control", "end")
    yield svg.text(round(place.left) - 8, round(y(-reach)) + 4, quantities.change(-reach), "end")
    places = "L".join(
        f"{place.x(row):.1f} {y(value):.1f}" for row, value in zip(line.row, line.deviation, strict=True)
    )
    yield Markup('<path class="control" d="M{}h0"/>').format(places)


def control_reach(deviations: Sequence[float]) -> float:
    """Return how far the control's scale reaches either way, as a share."""
    sizes = sorted(map(abs, deviations))
    return max(LEAST_DEVIATION, sizes[round(_USUAL * (len(sizes) - 1))]) if sizes else LEAST_DEVIATION
