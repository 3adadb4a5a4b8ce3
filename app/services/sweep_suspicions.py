"""Suspicions that nothing moves by itself: measured meanwhile, still to be measured, or open for too long."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.changes import ChangeState
from app.services.confirm_change import ask_to_confirm, settle_by_measurement
from app.store.repositories import changes, clock, history
from app.store.tables import ChangePoint

_BATCH = 100


def find_stale_suspicions(session: Session, settings: ServiceSettings) -> Sequence[int]:
    """Return the suspicions that are to be looked at, each once."""
    found = [
        *changes.answered(session, _BATCH),
        *changes.unasked(session, timedelta(seconds=settings.hint_age_s), _BATCH),
        *changes.forgotten(session, timedelta(seconds=settings.suspicion_keep_s), _BATCH),
    ]
    return list(dict.fromkeys(found))


def sweep_suspicion(session: Session, settings: ServiceSettings, change_id: int) -> None:
    """Settle the suspicion by its measurement, ask for one, or withdraw it because its time is over."""
    series_id = session.get_one(ChangePoint, change_id).series_id
    history.lock(session, series_id)  # as its examination does, which may be going on
    change = session.get_one(ChangePoint, change_id, populate_existing=True)
    if change.state != ChangeState.SUSPECTED:
        return
    if change.request_id is not None:
        settle_by_measurement(session, change)
    else:
        ask_to_confirm(session, settings, change)
    now = clock.now(session)
    change.examined_at = now
    age_s = (now - change.first_seen_at).total_seconds()
    if change.state == ChangeState.SUSPECTED and age_s > settings.suspicion_keep_s:
        change.state, change.closed_at = ChangeState.WITHDRAWN, now
        change.reason = "nothing settled it in time"
