"""Slow drifts: series that became worse over months by more than their confirmed changes come to, the dearest first."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.analysis.drift import Rest, rest_of
from app.domain.results import Better
from app.domain.week import Week
from app.domain.weekly import Drift, Level, MovedSeries, SeriesRef
from app.services.weekly.costing import OwnCosts, rank, stated
from app.services.weekly.levels import Weeks
from app.services.weekly.scope import Scope
from app.store.repositories import weekly

DRIFT_WEEKS = (13, 8, 4)
"""Weeks back that a series is held against, the first of them in which it has points."""


def read_drifts(session: Session, scope: Scope, its: Weeks, costs: OwnCosts) -> list[Drift]:
    """Return what drifted, the dearest first."""
    then: dict[int, tuple[Week, Level]] = {}
    for back in DRIFT_WEEKS:
        week = its.week.before(back)
        for series_id, level in weekly.levels(session, scope.project_ids, week).items():
            then.setdefault(series_id, (week, level))
    confirmed = weekly.confirmed_effects(
        session, scope.project_ids, its.week.before(DRIFT_WEEKS[0]).start, its.week.end
    )
    ways = [
        _Way(series_id, *then[series_id], now, its.week, confirmed.get(series_id, ()))
        for series_id, now in its.levels.items()
        if series_id in then
    ]
    found = {way.series_id: way for way in ways if any(_is_drift(way, better) for better in BOTH)}
    series = weekly.series_of(session, found)
    drifted = {series_id: way for series_id, way in found.items() if _is_drift(way, series[series_id].better)}
    devices = _devices_now(session, drifted)
    told = [
        _drift(series[series_id], way, costs, devices.get(series_id, 1)) for series_id, way in drifted.items()
    ]
    return sorted(told, key=lambda drift: (*rank(drift.monthly), -drift.rest, drift.moved.series.id))


@dataclass(frozen=True)
class _Way:
    """Where a series was and is, and the confirmed changes since the beginning of then: their times and effects."""

    series_id: int
    since: Week
    then: Level
    now: Level
    week: Week
    confirmed: Sequence[tuple[datetime, float]]

    def rest(self, better: Better) -> Rest | None:
        """Return what no confirmed change explains.

        Of a change within one of both weeks nobody knows how much of it their medians have: it counts where that
        makes the rest smaller.
        """
        sign = 1 if better == "lower" else -1
        effects = [
            sign * effect
            for at, effect in self.confirmed
            if (at >= self.since.end and at not in self.week)
            or (at >= self.since.start and sign * effect > 0)
        ]
        return rest_of(self.then, self.now, better, effects)


BOTH: tuple[Better, Better] = ("lower", "higher")


def _is_drift(way: _Way, better: Better) -> bool:
    rest = way.rest(better)
    return rest is not None and rest.is_drift


def _devices_now(session: Session, series_ids: Collection[int]) -> dict[int, int]:
    newest = weekly.newest_results(session, series_ids)
    behind = weekly.devices_behind(session, newest.values())
    return {series_id: behind[result_id] for series_id, result_id in newest.items() if result_id in behind}


def _drift(series: SeriesRef, way: _Way, costs: OwnCosts, devices: int) -> Drift:
    rest = way.rest(series.better)
    assert rest is not None
    before, after = way.then.median, way.now.median
    sign = 1 if series.better == "lower" else -1
    return Drift(
        moved=MovedSeries(series, before, after, after / before - 1, None, None, rest.effect),
        since=way.since,
        explained=rest.explained,
        rest=rest.rest,
        error=rest.error,
        monthly=stated(series, after / math.exp(sign * rest.rest), after, costs, devices),
    )
