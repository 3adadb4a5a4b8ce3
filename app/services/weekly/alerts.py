"""Alerts in a week: what is open now and how old, what was opened and closed, and how right the detector was.

What is open is told as of now, as an alert's earlier states are not counted back; how right the detector was is of all
times, as a week has too few alerts to tell by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.analysis.proportion import Proportion
from app.domain.alerts import AlertState
from app.domain.week import Week
from app.domain.weekly_alerts import AlertsWeek, OpenAlert, Rate, WorstChange, by_age
from app.services.alerts.detector_quality import quality_of
from app.services.weekly.scope import Scope
from app.store.repositories import alerts, clock, weekly_alerts
from app.store.tables import Alert

OLDEST = 5
"""Open alerts that are told one by one."""


def alerts_week(session: Session, scope: Scope, week: Week) -> AlertsWeek:
    """Return what became of alerts in a week, in a fixed number of statements."""
    whose, now = scope.project_ids, clock.now(session)
    ages = weekly_alerts.ages(session, whose, now)
    by_state: dict[AlertState, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for one in ages:
        by_state[one.state][one.days] += one.n
    quality = quality_of(session, whose)
    return AlertsWeek(
        ages={state: by_age(days) for state, days in by_state.items()},
        n_unowned=sum(one.n_unowned for one in ages),
        oldest=_oldest(session, weekly_alerts.oldest_open(session, whose, OLDEST)) if ages else (),
        opened=weekly_alerts.opened(session, whose, week.start, week.end),
        reopened=weekly_alerts.reopened(session, whose, week.start, week.end),
        closed=weekly_alerts.closed(session, whose, week.start, week.end),
        precision=_rate(quality.precision),
        recall=_rate(quality.recall),
        now=now,
    )


def _oldest(session: Session, found: Sequence[tuple[Alert, str, int]]) -> tuple[OpenAlert, ...]:
    ids = [alert.id for alert, _, _ in found]
    worst = {
        told.alert_id: WorstChange(
            told.case.benchmark, told.case.params, told.series.metric, told.change.change
        )
        for told in alerts.told_changes(session, ids, most=1)
        if told.stands
    }
    checks: dict[int, str] = {}
    for alert_id, check in alerts.told_checks(session, ids):
        checks.setdefault(alert_id, check.title or f"check {check.id}")
    return tuple(
        OpenAlert(
            id=alert.id,
            project=project,
            state=AlertState(alert.state),
            owner=alert.owner,
            opened_at=alert.opened_at,
            n_changes=n_changes,
            worst=worst.get(alert.id),
            check=checks.get(alert.id),
        )
        for alert, project, n_changes in found
    )


def _rate(its: Proportion) -> Rate:
    return Rate(its.k, its.n, its.share, its.low, its.high)
