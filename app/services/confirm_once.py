"""A commit has one confirmed change in a history: what is confirmed there next is the same one, or takes its place."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.changes import ChangeState
from app.services.change_settled import change_settled
from app.store.repositories import changes, clock
from app.store.tables import ChangePoint

OTHERWISE = "later results of its commit say otherwise, told by a row of its own"


def is_rise(change: ChangePoint) -> bool:
    """Return whether the level rose."""
    return (change.after or 0.0) > (change.before or 0.0)


def confirm_once(session: Session, change: ChangePoint, reason: str) -> None:
    """Confirm a suspicion for this reason.

    Where its commit has a confirmed change already, the suspicion is withdrawn if that goes the same way, and corrects
    it otherwise.
    """
    now = clock.now(session)
    other = changes.confirmed_at(session, change.series_id, change.branch, change.commit_id)
    if other is not None and is_rise(other) == is_rise(change):
        change.state, change.closed_at = ChangeState.WITHDRAWN, now
        change.reason = f"its commit has the confirmed change {other.id} already"
        return
    if other is not None:
        correct(session, other, OTHERWISE)
        change.corrects_id = other.id
    change.state, change.confirmed_at, change.reason = ChangeState.CONFIRMED, now, reason
    change_settled(session, change)


def correct(session: Session, change: ChangePoint, reason: str) -> None:
    """Take a confirmed change back, at once: another row tells it better."""
    change.state, change.closed_at, change.reason = ChangeState.CORRECTED, clock.now(session), reason
    session.flush()
    change_settled(session, change)
