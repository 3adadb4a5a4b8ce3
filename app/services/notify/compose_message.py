"""Make a message of what a notifier has not been told, in the transaction that notes that it is told.

What is said follows from how each alert stands and what was said of it last, never from how often something happened:
to compose twice says nothing twice. An alert that came and went before anybody was told is not told; a digest names it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.notifications import (
    FEW,
    NotifierKind,
    Pace,
    Wishes,
    kept_wishes,
    quiet_until,
)
from app.services.notify.alert_items import standings
from app.services.notify.compose_digest import compose_digest
from app.services.notify.compose_machines import compose_machines
from app.services.notify.message_rows import Say, add_notification, alerts_message, note_told, thread_of
from app.services.notify.tell_issue import tell_issues
from app.services.notify.what_to_say import what_to_say
from app.store.repositories import clock, incidents, notifications, restorations
from app.store.tables import Notifier, ToldAlert

SPACING = timedelta(seconds=60)
"""After a message of many alerts the next one waits: a burst that takes longer than a sweep is two messages at most."""


def compose_message(session: Session, settings: ServiceSettings, notifier_id: int) -> bool:
    """Make the message that is due for a notifier, if there is anything to say; return whether there was."""
    if restorations.is_observing(session):
        return False
    notifier = notifications.locked(session, notifier_id)
    now = clock.now(session)
    if notifier is None or notifier.paused_at is not None:
        return False
    if notifier.due_at is None or notifier.due_at > now:
        return False
    wishes = kept_wishes(notifier.wishes)
    if wishes.pace is not Pace.AT_ONCE:
        return compose_digest(session, settings, notifier, wishes, now)
    return _compose(session, settings, notifier, wishes, now)


def _compose(
    session: Session, settings: ServiceSettings, notifier: Notifier, wishes: Wishes, now: datetime
) -> bool:
    """Make a message of alerts and one of machines; in quiet hours what is put off is told at their end."""
    until = quiet_until(wishes, now)
    n_alerts, are_kept = _say_alerts(session, settings, notifier, wishes, now, until)
    if until is None:
        n_machines = compose_machines(session, settings, notifier, wishes, now)
    else:
        n_machines, are_kept = 0, are_kept or bool(incidents.news_of(session, notifier.id))
    notifier.due_at = until if are_kept else None
    if max(n_alerts, n_machines) > FEW:
        notifier.spaced_until = now + SPACING
    session.flush()
    return bool(n_alerts or n_machines)


def _say_alerts(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    wishes: Wishes,
    now: datetime,
    until: datetime | None,
) -> tuple[int, bool]:
    """Make the message of alerts; return of how many it is, and whether any is put off until the quiet hours end."""
    waiting = notifications.news_of(session, notifier.id)
    known = standings(session, waiting)
    looked_at = [its for its in known.values() if until is None or its.breaks_through(wishes)]
    told = notifications.told(session, notifier.id, [its.id for its in looked_at])
    say = [(its, what) for its in looked_at if (what := what_to_say(its, told.get(its.id), wishes))]
    notifications.drop_news(session, notifier.id, [its.id for its in looked_at])
    if say and notifier.kind == NotifierKind.GITHUB_ISSUE:
        tell_issues(session, settings, notifier, say, told, now)
    elif say:
        _queue(session, settings, notifier, say, told, now)
    return len(say), len(looked_at) < len(waiting)


def _queue(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldAlert],
    now: datetime,
) -> None:
    """Put one message of all that is to be said among those that wait; alone it goes on from the alert's first."""
    message = alerts_message(session, settings, notifier, say, now)
    first = told.get(say[0][0].id) if len(say) == 1 else None
    row = add_notification(session, notifier, message, thread=thread_of(session, first))
    note_told(session, notifier, say, told, row)
