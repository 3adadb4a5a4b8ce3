"""What has moved: losses that stand, by cause and with what they cost, and what got better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy.orm import Session

from app.analysis.monthly import total
from app.config import ServiceSettings
from app.domain.alerts import AlertState
from app.domain.week import Week
from app.domain.weekly import Cause, Changes, Drift, Monthly, MovedSeries
from app.services.list_checks import commit_ref
from app.services.weekly.costing import OwnCosts, rank, stated
from app.services.weekly.drifts import read_drifts
from app.services.weekly.levels import Weeks
from app.services.weekly.scope import Scope
from app.store.repositories import weekly
from app.store.repositories.weekly import StoredChange
from workers.protocol import params_key

SHOWN = 12
"""Causes, gains and drifts that are told each by itself; the others are counted."""

SERIES_SHOWN = 4
"""Series of one cause that are named."""

WEEKS_BACK = 13
"""Weeks of a picture, the report's own the last: a quarter."""

LATE = timedelta(days=28)
"""How long after its commit a change may become known and still be news."""

WEEKS_KNOWN = 5
"""Weeks after which the level of a series is not known any more."""

MENDED = 0.25
"""Of a loss of which no more than this share is left, three quarters were taken back: it is mended."""

Priced = Mapping[int, Monthly | None]
"""By change point."""


def read_changes(
    session: Session, scope: Scope, its: Weeks, costs: OwnCosts, settings: ServiceSettings
) -> Changes:
    """Return what has moved, as of the end of the week."""
    week = its.week
    losses = _still_there(session, its, weekly.standing_losses(session, scope.project_ids, week.end))
    gains = weekly.gains_between(session, scope.project_ids, week.start, week.end)
    devices = _devices(session, [*losses, *gains])
    waste = _ranked(_causes(losses, week, costs, devices, settings))
    better = _ranked(_causes(gains, week, costs, devices, settings))
    drifts = read_drifts(session, scope, its, costs)
    shown = waste[:SHOWN], better[:SHOWN], drifts[:SHOWN]
    pictures = _pictures(session, week, shown)
    return Changes(
        waste=tuple(_drawn(cause, pictures) for cause in shown[0]),
        n_waste=len(waste),
        n_new=sum(cause.is_new for cause in waste),
        gains=tuple(_drawn(cause, pictures) for cause in shown[1]),
        n_gains=len(better),
        drifts=tuple(
            replace(one, moved=replace(one.moved, weeks=pictures.get(one.moved.series.id, ())))
            for one in shown[2]
        ),
        n_drifts=len(drifts),
        n_suspected=weekly.suspected_between(session, scope.project_ids, week.start, week.end),
        waste_total=total(cause.monthly for cause in waste if cause.monthly),
        gains_total=total(cause.monthly for cause in better if cause.monthly),
    )


# --- causes -----------------------------------------------------------------------------------------------------


def _devices(session: Session, changes: Sequence[StoredChange]) -> dict[int, int]:
    """Return how many devices worked on the first point of each change's new level; one where nobody told."""
    behind = weekly.devices_behind(session, [its.change.result_id for its in changes])
    return {its.change.id: behind.get(its.change.result_id, 1) for its in changes}


def _still_there(session: Session, its: Weeks, losses: Sequence[StoredChange]) -> list[StoredChange]:
    """Return the losses that the level of late still shows; those of the week itself all are.

    Three quarters may have come back by several changes, or little by little; and what nobody has measured for weeks
    costs nobody anything that is known.
    """
    ids = {loss.series.id for loss in losses} - its.levels.keys()
    newest = weekly.newest_values(session, ids, its.week.end, since=its.week.before(WEEKS_KNOWN).end)
    now = newest | {series_id: level.median for series_id, level in its.levels.items()}

    def stands(loss: StoredChange) -> bool:
        level = now.get(loss.series.id)
        return level is not None and (loss.since in its.week or _share_left(loss, level) > MENDED)

    return list(filter(stands, losses))


def _share_left(loss: StoredChange, level: float) -> float:
    """Return how much of a loss a level still has: 1 all of it, 0 nothing."""
    before, after = _levels(loss)
    return math.log(level / before) / math.log(after / before) if level > 0 else 0.0


def _levels(its: StoredChange) -> tuple[float, float]:
    assert its.change.before is not None
    assert its.change.after is not None
    return its.change.before, its.change.after


def _causes(
    changes: Sequence[StoredChange],
    week: Week,
    costs: OwnCosts,
    devices: Mapping[int, int],
    settings: ServiceSettings,
) -> list[Cause]:
    priced = {its.change.id: _monthly(its, costs, devices[its.change.id]) for its in changes}
    counted = _counted(changes, priced)
    of_cause: dict[tuple[object, ...], list[StoredChange]] = defaultdict(list)
    for its in changes:
        of_cause[_key(its)].append(its)
    return [_cause(each, week, priced, counted, settings) for each in of_cause.values()]


def _key(its: StoredChange) -> tuple[object, ...]:
    """Return what changes of one cause have in common: the alert, or else the commit that they begin with."""
    return ("alert", its.alert_id) if its.alert_id is not None else ("commit", its.commit.id)


def _counted(changes: Iterable[StoredChange], priced: Priced) -> frozenset[int]:
    """Return the changes whose amounts are added up, so that no work is counted twice.

    Several metrics of a case on a device class tell the same time, or the same energy: that which tells most counts,
    with all of its changes.
    """
    amounts: dict[tuple[object, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for its in changes:
        if monthly := priced[its.change.id]:
            amounts[_work(its, monthly)][its.series.metric] += _weight(monthly)
    best = {work: max(of, key=lambda metric: (of[metric], metric)) for work, of in amounts.items()}
    return frozenset(
        its.change.id
        for its in changes
        if (monthly := priced[its.change.id]) and best[_work(its, monthly)] == its.series.metric
    )


def _work(its: StoredChange, monthly: Monthly) -> tuple[object, ...]:
    series = its.series
    kind = "energy" if monthly.kwh is not None else "time"
    return series.project, series.benchmark, params_key(series.params), series.device_class, kind


def _cause(
    changes: Sequence[StoredChange],
    week: Week,
    priced: Priced,
    counted: frozenset[int],
    settings: ServiceSettings,
) -> Cause:
    ordered = sorted(
        changes,
        key=lambda its: (
            its.change.id not in counted,
            -_weight(priced[its.change.id]),
            -abs(_effect(its)),
            its.change.id,
        ),
    )
    first = ordered[0]
    amounts = (priced[its.change.id] for its in changes if its.change.id in counted)
    return Cause(
        project=first.series.project,
        series=tuple(_moved(its) for its in ordered[:SERIES_SHOWN]),
        n_series=len({its.series.id for its in changes}),
        commit=commit_ref(first.commit),
        previous=first.previous_sha,
        since=first.since,
        is_new=any(_is_new(its, week) for its in changes),
        monthly=total(amount for amount in amounts if amount),
        alert_id=first.alert_id,
        state=AlertState(first.state) if first.state else None,
        owner=first.owner,
        pull=first.pull,
        pull_url=settings.pull_address(first.slug, first.pull) if first.slug and first.pull else None,
    )


def _monthly(its: StoredChange, costs: OwnCosts, devices: int) -> Monthly | None:
    return stated(its.series, *_levels(its), costs, devices)


def _is_new(its: StoredChange, week: Week) -> bool:
    if its.since in week:
        return True
    confirmed = its.change.confirmed_at
    return confirmed is not None and confirmed in week and its.since >= week.start - LATE


def _moved(its: StoredChange) -> MovedSeries:
    before, after = _levels(its)
    change = its.change
    return MovedSeries(
        its.series, before, after, after / before - 1, change.ci_low, change.ci_high, _effect(its)
    )


def _effect(its: StoredChange) -> float:
    before, after = _levels(its)
    effect = math.log(after / before)
    return effect if its.series.better == "lower" else -effect


def _weight(monthly: Monthly | None) -> float:
    """Return how dear it is: in money where that is known, which here orders one cause's series alone."""
    if monthly is None:
        return 0.0
    if monthly.money:
        return abs(monthly.money[0].amount)
    return abs(monthly.device_hours or monthly.kwh or 0.0)


def _ranked(causes: Iterable[Cause]) -> list[Cause]:
    """Return causes with money first, the dearest first; then those with hours; then the others by their size."""
    return sorted(
        causes, key=lambda cause: (*rank(cause.monthly), -abs(cause.worst.effect), cause.commit.sha)
    )


# --- pictures ---------------------------------------------------------------------------------------------------

Pictures = Mapping[int, tuple[float | None, ...]]


def _pictures(
    session: Session, week: Week, shown: tuple[Sequence[Cause], Sequence[Cause], Sequence[Drift]]
) -> Pictures:
    """Return the weeks of all series that are shown first, in one statement."""
    waste, gains, drifts = shown
    ids = {cause.worst.series.id for cause in (*waste, *gains)} | {one.moved.series.id for one in drifts}
    return weekly.weekly_medians(session, ids, quarter(week))


def quarter(week: Week) -> list[Week]:
    """Return the weeks of a picture, the oldest first."""
    return [week.before(back) for back in reversed(range(WEEKS_BACK))]


def _drawn(cause: Cause, pictures: Pictures) -> Cause:
    first = replace(cause.worst, weeks=pictures.get(cause.worst.series.id, ()))
    return replace(cause, series=(first, *cause.series[1:]))
