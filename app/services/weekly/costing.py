"""What changes cost, as the sections of the weekly report tell it: by what each project states, and in which order."""

from __future__ import annotations

from collections.abc import Mapping

from app.analysis.monthly import stated_monthly
from app.domain.costs import Costs
from app.domain.weekly import Monthly, SeriesRef

OwnCosts = Mapping[str, Costs]
"""By project."""


def stated(series: SeriesRef, before: float, after: float, costs: OwnCosts, devices: int) -> Monthly | None:
    """Return what a series takes more a month at another level; None where nobody stated what would tell it."""
    return stated_monthly(
        series.metric,
        series.unit,
        before,
        after,
        benchmark=series.benchmark,
        device_class=series.device_class,
        devices=devices,
        costs=costs.get(series.project, Costs()),
    )


def rank(monthly: Monthly | None) -> tuple[int, float]:
    """Return what orders amounts that are not of one kind: money before device hours before energy before nothing."""
    if monthly is None:
        return 3, 0.0
    if monthly.money:
        return 0, -sum(abs(money.amount) for money in monthly.money)
    if monthly.device_hours is not None:
        return 1, -abs(monthly.device_hours)
    return 2, -abs(monthly.kwh or 0.0)
