"""Something happened to alerts: note for each of the project's notifiers that it may have to be told."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.domain.notifications import kept_wishes
from app.services.notify.due import tell_soon
from app.store.repositories import alerts, clock, notifications, restorations
from app.store.tables import Notifier

WINDOW = timedelta(seconds=2)
"""What happens within this time is one message: what one sweep raises, and what somebody answers at once."""


def plan_news(session: Session, project_id: int) -> int:
    """Note what happened to the project's alerts for whoever is told of them; return to how many it did.

    Whoever was told of an alert is told that it is settled, whatever else they want to be told by then.
    """
    if restorations.is_observing(session):
        return 0
    alerts.lock_project(session, project_id)
    news = notifications.take_news(session, project_id)
    if not news:
        return 0
    now = clock.now(session)
    for notifier in sorted(notifications.of_project(session, project_id), key=_number):
        its_news = notifications.begun(session, notifier.id, list(news))
        if kept_wishes(notifier.wishes).of_alerts:
            its_news |= {alert_id for alert_id, at in news.items() if at >= notifier.created_at}
        if its_news:
            _note(session, notifier, its_news, now)
    return len(news)


def _number(notifier: Notifier) -> int:
    """Return what notifiers are locked by: one order everywhere, so that none deadlock."""
    return notifier.id


def _note(session: Session, notifier: Notifier, alert_ids: set[int], now: datetime) -> None:
    row = notifications.locked(session, notifier.id)
    if row is None:
        return
    notifications.add_news(session, row.id, alert_ids)
    tell_soon(session, row, now, window=WINDOW)
