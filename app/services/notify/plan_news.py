"""Something happened to alerts: note for each of the project's notifiers that it may have to be told."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.domain.notifications import Pace, kept_wishes
from app.services.notify.wanting import want_composing
from app.store.repositories import alerts, clock, notifications, restorations
from app.store.tables import Notifier

WINDOW = timedelta(seconds=2)
"""What happens within this time is one message: what one sweep raises, and what somebody answers at once."""


def plan_news(session: Session, project_id: int) -> int:
    """Note what happened to the project's alerts for whoever is told of them; return to how many it did."""
    if restorations.is_observing(session):
        return 0
    alerts.lock_project(session, project_id)
    news = notifications.take_news(session, project_id)
    if not news:
        return 0
    now = clock.now(session)
    for notifier in notifications.of_project(session, project_id):
        its_news = [alert_id for alert_id, at in news.items() if at >= notifier.created_at]
        if its_news and kept_wishes(notifier.wishes).of_alerts:
            _note(session, notifier, its_news, now)
    return len(news)


def _note(session: Session, notifier: Notifier, alert_ids: list[int], now: datetime) -> None:
    row = notifications.locked(session, notifier.id)
    if row is None:
        return
    notifications.add_news(session, row.id, alert_ids)
    tell_soon(session, row, now, window=WINDOW)


def tell_soon(session: Session, row: Notifier, now: datetime, *, window: timedelta) -> None:
    """Have a notifier told, unless it waits for its digest, once what comes within the window has come.

    The caller has locked it.
    """
    if kept_wishes(row.wishes).pace is not Pace.AT_ONCE:
        return
    soon = max(now + window, row.spaced_until or now)
    if row.due_at is None or row.due_at > soon:
        row.due_at = soon
        session.flush()
    if row.paused_at is None:
        want_composing(session, row.id, delay_s=max((row.due_at - now).total_seconds(), 0.0))
