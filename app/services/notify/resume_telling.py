"""A restored service tells people again: from this moment on, and not what the backup had waiting.

Nobody knows which of those messages left after the backup was made, so that none of them is sent.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.notifications import kept_wishes
from app.services.notify.due import due_at
from app.store.repositories import clock, notifications

RESTORED = "restored from a backup, in which it waited: it may have been sent since"


def resume_telling(session: Session) -> int:
    """Settle what waits as not sent, and begin every digest anew; return how many messages that were."""
    now = clock.now(session)
    settled = notifications.give_up_waiting(session, RESTORED)
    for notifier in notifications.every(session):
        notifier.digest_from = now
        notifier.busy_until = notifier.spaced_until = None
        notifier.due_at = due_at(session, notifier, kept_wishes(notifier.wishes), now)
    session.flush()
    return settled
