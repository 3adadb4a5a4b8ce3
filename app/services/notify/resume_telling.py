"""A restored service tells people again: from this moment on, and not what the backup had waiting.

Nobody knows which of those messages left after the backup was made, so that none of them is sent.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.notifications import Pace, kept_wishes, next_digest
from app.store.repositories import clock, notifications
from app.store.tables import Notifier

RESTORED = "restored from a backup, in which it waited: it may have been sent since"


def resume_telling(session: Session) -> int:
    """Settle what waits as not sent, and begin every digest anew; return how many messages that were."""
    now = clock.now(session)
    settled = notifications.give_up_waiting(session, RESTORED)
    for notifier in notifications.every(session):
        notifier.digest_from = now
        notifier.busy_until = notifier.spaced_until = None
        notifier.due_at = _due_at(session, notifier, now)
    session.flush()
    return settled


def _due_at(session: Session, notifier: Notifier, now: datetime) -> datetime | None:
    wishes = kept_wishes(notifier.wishes)
    if wishes.pace is not Pace.AT_ONCE and wishes.about:
        return next_digest(wishes, now)
    return now if notifications.has_news(session, notifier.id) else None
