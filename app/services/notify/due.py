"""When a message is to be made for a notifier: soon, once what belongs together has come, or with its next digest."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.domain.notifications import Pace, Wishes, kept_wishes, next_digest
from app.services.notify.wanting import want_composing
from app.store.repositories import notifications
from app.store.tables import Notifier


def due_at(session: Session, row: Notifier, wishes: Wishes, now: datetime) -> datetime | None:
    """Return when a message is to be made for a notifier, as things stand; None where there is nothing to wait for.

    Who is told of reports alone has a digest all the same where something waits: the end of what it was told before.
    """
    has_news = notifications.has_news(session, row.id)
    if wishes.pace is Pace.AT_ONCE:
        return now if has_news else None
    return next_digest(wishes, now) if wishes.about or has_news else None


def tell_soon(session: Session, row: Notifier, now: datetime, *, window: timedelta) -> None:
    """Have a notifier told once what comes within the window has come, or with its next digest.

    The caller has locked it.
    """
    wishes = kept_wishes(row.wishes)
    is_soon = wishes.pace is Pace.AT_ONCE
    at = max(now + window, row.spaced_until or now) if is_soon else next_digest(wishes, now)
    if row.due_at is None or row.due_at > at:
        row.due_at = at
        session.flush()
    if is_soon and row.paused_at is None:
        want_composing(session, row.id, delay_s=max((row.due_at - now).total_seconds(), 0.0))
