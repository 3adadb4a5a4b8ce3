"""Alerts as people and programs read them: the list, and one with all that it tells and what was done with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.alerts import OPEN_STATES, AlertEvent, AlertState
from app.domain.errors import NotFoundError
from app.domain.results import CommitRef
from app.services.access import Principal
from app.services.list_checks import commit_ref
from app.services.query_changes import is_worse
from app.services.visibility import chosen_projects, may_see
from app.store.repositories import alerts
from app.store.repositories.alerts import Listed, Told
from app.store.tables import Check, Repository

PAGE = 50
FEW, MANY = 3, 500
"""Changes of each alert in a list, and of one alert."""


@dataclass(frozen=True)
class AlertChangeLine:
    """One change of an alert; `stands` is False when it was taken back, for `reason`."""

    id: int
    series_id: int
    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    device_class: str
    before: float | None
    after: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    worse: bool | None
    commit: CommitRef
    previous: str
    stands: bool
    reason: str
    accepted_by: str | None


@dataclass(frozen=True)
class AlertCheckLine:
    """One failed check of an alert."""

    id: int
    title: str
    concluded_at: datetime | None


@dataclass(frozen=True)
class AlertLine:
    """An alert of a list, with the largest of its changes and its newest checks."""

    id: int
    project: str
    project_id: int
    branch: str
    is_own_branch: bool
    """Whether that is the project's."""
    state: AlertState
    owner: str | None
    commit: CommitRef
    previous: str
    number: int | None
    pull_url: str | None
    n_changes: int
    n_checks: int
    device_classes: tuple[str, ...]
    """Of all the changes that stand."""
    changes: tuple[AlertChangeLine, ...]
    checks: tuple[AlertCheckLine, ...]
    opened_at: datetime
    moved_at: datetime


@dataclass(frozen=True)
class AlertDeed:
    """Who did what to an alert."""

    at: datetime
    by: str
    what: AlertEvent
    detail: Mapping[str, Any]


@dataclass(frozen=True)
class WholeAlert:
    """One alert with its history, the oldest entry first."""

    line: AlertLine
    deeds: tuple[AlertDeed, ...]


@dataclass(frozen=True)
class AlertList:
    """A page of alerts; `older` is where the next page begins, None on the last one. `counts` are of all there are."""

    lines: tuple[AlertLine, ...]
    counts: Mapping[AlertState, int]
    owners: tuple[str, ...]
    older: int | None


def list_alerts(
    session: Session,
    principal: Principal | None,
    *,
    settings: ServiceSettings,
    project: str | None = None,
    states: Collection[AlertState] = (),
    owner: str | None = None,
    before: int | None = None,
    limit: int = PAGE,
) -> AlertList:
    """Return a page of alerts, the newest first, in a fixed number of statements.

    Args:
        session: the session.
        principal: who reads.
        settings: of the service.
        project: only this project's.
        states: only those in one of these states; empty means any.
        owner: only this person's; "" means those that nobody has.
        before: only those older than this alert.
        limit: the most alerts to return.

    Raises NotFoundError for an unknown project.
    """
    project_ids = chosen_projects(session, principal, project)
    found = alerts.listed(
        session, project_ids=project_ids, states=states, owner=owner, before=before, limit=limit + 1
    )
    shown = found[:limit]
    return AlertList(
        lines=tuple(_lines(session, shown, settings, FEW)),
        counts=alerts.counts(session, project_ids),
        owners=tuple(alerts.owners(session, project_ids)),
        older=shown[-1].alert.id if len(found) > limit else None,
    )


def newest_open(
    session: Session,
    principal: Principal | None,
    *,
    settings: ServiceSettings,
    project: str | None,
    limit: int,
) -> tuple[tuple[AlertLine, ...], int]:
    """Return the newest open alerts, and how many are open: in one statement where there are none."""
    project_ids = chosen_projects(session, principal, project)
    found = alerts.listed(
        session, project_ids=project_ids, states=OPEN_STATES, owner=None, before=None, limit=limit + 1
    )
    if len(found) <= limit:
        return tuple(_lines(session, found, settings, FEW)), len(found)
    counts = alerts.counts(session, project_ids)
    n_open = sum(counts.get(state, 0) for state in OPEN_STATES)
    return tuple(_lines(session, found[:limit], settings, FEW)), n_open


def read_alert(
    session: Session, principal: Principal | None, alert_id: int, *, settings: ServiceSettings
) -> WholeAlert:
    """Return one alert. Raises NotFoundError, the same for an unknown one and for one not to be seen."""
    found = alerts.listed(
        session, project_ids=None, states=(), owner=None, before=None, limit=1, alert_id=alert_id
    )
    if not found or not may_see(principal, found[0].project.id):
        raise NotFoundError(f"there is no alert {alert_id} that you may see")
    (line,) = _lines(session, found, settings, MANY)
    log = alerts.history(session, alert_id, MANY)
    return WholeAlert(line, tuple(AlertDeed(row.at, row.by, AlertEvent(row.what), row.detail) for row in log))


def _lines(
    session: Session, found: Iterable[Listed], settings: ServiceSettings, most: int
) -> Iterable[AlertLine]:
    rows = list(found)
    if not rows:
        return
    ids = [row.alert.id for row in rows]
    changes: dict[int, list[AlertChangeLine]] = defaultdict(list)
    for told in alerts.told_changes(session, ids, most=most):
        changes[told.alert_id].append(_change(told))
    checks: dict[int, list[AlertCheckLine]] = defaultdict(list)
    for alert_id, check in alerts.told_checks(session, ids):
        checks[alert_id].append(_check(check))
    for row in rows:
        its = row.alert
        yield AlertLine(
            id=its.id,
            project=row.project.name,
            project_id=row.project.id,
            branch=its.branch,
            is_own_branch=its.branch == row.project.branch,
            state=AlertState(its.state),
            owner=its.owner,
            commit=commit_ref(row.commit),
            previous=row.previous.sha,
            number=its.number,
            pull_url=_pull_url(row.repository, its.number, settings),
            n_changes=row.n_changes,
            n_checks=row.n_checks,
            device_classes=tuple(row.device_classes or ()),
            changes=tuple(changes[its.id]),
            checks=tuple(checks[its.id][:most]),
            opened_at=its.opened_at,
            moved_at=its.moved_at,
        )


def _pull_url(repository: Repository | None, number: int | None, settings: ServiceSettings) -> str | None:
    return None if repository is None or number is None else settings.pull_address(repository.slug, number)


def _change(told: Told) -> AlertChangeLine:
    change, series = told.change, told.series
    return AlertChangeLine(
        id=change.id,
        series_id=series.id,
        benchmark=told.case.benchmark,
        params=told.case.params,
        metric=series.metric,
        unit=series.unit,
        device_class=series.device_class,
        before=change.before,
        after=change.after,
        change=change.change,
        ci_low=change.ci_low,
        ci_high=change.ci_high,
        worse=is_worse(change, series.better),
        commit=commit_ref(told.commit),
        previous=told.previous.sha,
        stands=told.stands,
        reason=change.reason or "",
        accepted_by=told.acceptance.accepted_by if told.acceptance else None,
    )


def _check(check: Check) -> AlertCheckLine:
    return AlertCheckLine(check.id, check.title or f"check {check.id}", check.concluded_at)
