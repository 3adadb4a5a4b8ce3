"""Alerts in a time: what is open and how old, what was opened and closed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Integer, cast, func, select, text
from sqlalchemy.orm import Session

from app.domain.alerts import CLOSED_STATES, OPEN_STATES, AlertEvent, AlertState
from app.domain.changes import ChangeState
from app.store.tables import Alert, AlertChange, AlertLog, ChangePoint, Project


class Ages(NamedTuple):
    """So many open alerts in a state that are so many whole days old, and how many of them nobody has."""

    state: AlertState
    days: int
    n: int
    n_unowned: int


def ages(session: Session, project_ids: Collection[int], now: datetime) -> list[Ages]:
    """Return how old the open alerts are."""
    days = cast(func.floor(func.extract("epoch", now - Alert.opened_at) / 86_400), Integer)
    rows = session.execute(
        select(Alert.state, days, func.count(), func.count().filter(Alert.owner.is_(None)))
        .where(Alert.state.in_(OPEN_STATES), Alert.project_id.in_(project_ids))
        .group_by(Alert.state, days)
    )
    return [Ages(AlertState(state), max(0, day), n, unowned) for state, day, n, unowned in rows]


def oldest_open(
    session: Session, project_ids: Collection[int], most: int
) -> Sequence[tuple[Alert, str, int]]:
    """Return the oldest open alerts with their project's name, and how many changes of each stand."""
    n_changes = (
        select(func.count())
        .select_from(AlertChange)
        .join(ChangePoint, ChangePoint.id == AlertChange.change_point_id)
        .where(AlertChange.alert_id == Alert.id, ChangePoint.state == ChangeState.CONFIRMED)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Alert, Project.name, n_changes)
        .join(Project, Project.id == Alert.project_id)
        .where(Alert.state.in_(OPEN_STATES), Alert.project_id.in_(project_ids))
        .order_by(Alert.opened_at, Alert.id)
        .limit(most)
    )
    return [(row[0], row[1], row[2]) for row in rows]


def opened(session: Session, project_ids: Collection[int], start: datetime, end: datetime) -> int:
    """Return how many alerts were opened between two moments."""
    return (
        session.scalar(
            select(func.count())
            .select_from(Alert)
            .where(Alert.project_id.in_(project_ids), Alert.opened_at >= start, Alert.opened_at < end)
        )
        or 0
    )


def closed(
    session: Session, project_ids: Collection[int], start: datetime, end: datetime
) -> dict[AlertState, int]:
    """Return how many alerts were closed between two moments and not opened again then, by their state after that.

    An alert that moved then is in its state since then at the earliest, so that only these are looked at.
    """
    which = {
        "projects": list(project_ids),
        "start": start,
        "end": end,
        "closed": [str(state) for state in CLOSED_STATES],
    }
    return {AlertState(state): n for state, n in session.execute(_CLOSED, which)}


_CLOSED = text(
    """
    select state, count(*)
    from (
      select distinct on (alert.id) what, detail ->> 'to' as state
      from alert join alert_log on alert_log.alert_id = alert.id
      where project_id = any(cast(:projects as bigint[])) and moved_at >= :start
        and at >= :start and at < :end and what in ('moved', 'reopened')
      order by alert.id, alert_log.id desc) as last
    where what = 'moved' and state = any(cast(:closed as text[])) group by state
    """
)


def reopened(session: Session, project_ids: Collection[int], start: datetime, end: datetime) -> int:
    """Return how many alerts were opened again between two moments."""
    return (
        session.scalar(
            select(func.count(func.distinct(AlertLog.alert_id)))
            .join(Alert, Alert.id == AlertLog.alert_id)
            .where(
                Alert.project_id.in_(project_ids),
                Alert.moved_at >= start,
                AlertLog.at >= start,
                AlertLog.at < end,
                AlertLog.what == AlertEvent.REOPENED,
            )
        )
        or 0
    )
