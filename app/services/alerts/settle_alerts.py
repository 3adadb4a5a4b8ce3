"""Open alerts that settle by themselves: what they tell of was taken back, accepted, mended, or passes now."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.alerts import OPEN_STATES, SERVICE, AlertEvent, AlertState
from app.domain.verdicts import Conclusion
from app.services.alerts.raise_alerts import WITHIN
from app.services.notify.wanting import want_planning
from app.store.repositories import alerts, clock
from app.store.repositories.alerts import Standing
from app.store.tables import Alert


def settle_alerts(session: Session, project_id: int) -> int:
    """Close the project's open alerts that nobody has to look at any more; return how many."""
    alerts.lock_project(session, project_id)
    n_gone = _tell_gone(session, project_id)
    still_open = _left_to_us(session, project_id)
    ids = [row.id for row in still_open]
    standing, told = alerts.standing(session, ids), alerts.changes_of(session, ids)
    pulls = alerts.answered_pulls(session, still_open)
    newest_failed: dict[int, int] = {}
    for alert_id, check in alerts.told_checks(session, ids):
        newest_failed.setdefault(alert_id, check.id)
    n_closed = 0
    for row in still_open:
        if row.id in standing:
            n_closed += _settle_changes(session, row, standing[row.id])
        elif row.id in newest_failed:
            n_closed += _settle_checks(session, row, newest_failed[row.id], pulls.get(row.id))
        elif row.id in told:
            n_closed += _close(session, row, AlertState.NOISE, SERVICE, "all that it told of was taken back")
    if n_closed or n_gone:
        want_planning(session, project_id)
    return n_closed


def _left_to_us(session: Session, project_id: int) -> list[Alert]:
    """Return the open alerts in id order, but for those that somebody has opened again: he knows why."""
    rows = [row for row in alerts.of_project(session, project_id, WITHIN) if row.state in OPEN_STATES]
    theirs = alerts.reopened_by_people(session, [row.id for row in rows])
    return [row for row in reversed(rows) if row.id not in theirs]


def _tell_gone(session: Session, project_id: int) -> int:
    gone = alerts.gone(session, project_id)
    for membership, change in gone:
        membership.has_left = True
        reason = change.reason or change.state
        alerts.log(session, membership.alert_id, SERVICE, AlertEvent.LEFT, change=change.id, comment=reason)
    return len(gone)


def _settle_changes(session: Session, row: Alert, its: Standing) -> bool:
    if its.n_accepted == its.n and its.accepted_by:
        return _close(session, row, AlertState.ACCEPTED, its.accepted_by, its.reason or "")
    if its.n_mended == its.n and its.mended_by:
        return _close(session, row, AlertState.FIXED, SERVICE, f"mended by {its.mended_by[:10]}")
    return False


def _settle_checks(
    session: Session, row: Alert, failed_id: int, pull: tuple[str, int | None, str | None] | None
) -> bool:
    if pull is None:
        return False
    state, check_id, conclusion = pull
    if state == "closed":
        return _close(session, row, AlertState.FIXED, SERVICE, "closed without being merged")
    if conclusion == Conclusion.PASSED and check_id is not None and check_id > failed_id:
        return _close(session, row, AlertState.FIXED, SERVICE, f"check {check_id} passed")
    return False


def _close(session: Session, row: Alert, state: AlertState, by: str, comment: str) -> bool:
    """Close an alert, unless somebody has done so meanwhile."""
    alerts.locked(session, [row.id])
    if row.state not in OPEN_STATES:
        return False
    detail = {"from": row.state, "to": state, "comment": comment}
    row.state, row.moved_at = state, clock.now(session)
    alerts.log(session, row.id, by, AlertEvent.MOVED, **detail)
    return True
