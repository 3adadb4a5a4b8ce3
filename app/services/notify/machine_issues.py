"""Incidents of machines as issues of the project's repository, as alerts are: one each, or one of many at once.

An issue is closed when all that it tells of is over.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.forge import IssueText
from app.domain.notifications import FEW, What, message_of
from app.reports.notifications.issue_text import issue_marker, machine_issue_body, machine_issue_title
from app.services.notify.machine_items import Say
from app.services.notify.machine_rows import machines_message, note_told_machines
from app.services.notify.tell_issue import hand_on, issue_key, want_issue
from app.store.repositories import incidents
from app.store.tables import Notification, Notifier, ToldIncident


def tell_machine_issues(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldIncident],
    now: datetime,
) -> None:
    """Have the issues say how these incidents stand; a new one is opened for what is in none yet."""
    fresh = [its for its in say if its[0].id not in told]
    for part in [fresh] if len(fresh) > FEW else [[its] for its in fresh]:
        if part:
            row = hand_on(session, notifier, machines_message(session, settings, notifier, part, now))
            note_told_machines(session, notifier, part, told, row)
            _want(session, settings, notifier, row, now)
    begun = [its for its in say if its[0].id in told]
    note_told_machines(session, notifier, begun, told, None)
    threads = {its: told[its[0].id].notification_id for its in begun}
    for thread in sorted({thread for thread in threads.values() if thread is not None}):
        first = session.get_one(Notification, thread)
        part = [its for its in begun if threads[its] == thread]
        message = machines_message(session, settings, notifier, part, now)
        hand_on(session, notifier, message, thread=first.key)
        _want(session, settings, notifier, first, now)


def _want(
    session: Session, settings: ServiceSettings, notifier: Notifier, first: Notification, now: datetime
) -> None:
    """Have the issue of a first message say how all of its incidents stand just now."""
    its = incidents.of_thread(session, first.id)
    say = [(one, What.OPEN if one.closed_at is None else What.SETTLED) for one in its]
    message = machines_message(session, settings, notifier, say, now, most=len(say))
    marker = issue_marker(issue_key(first.key))
    title, body = machine_issue_title(message_of(first.message)), machine_issue_body(message, marker)
    is_closed = all(what is What.SETTLED for _, what in say)
    want_issue(session, notifier, first, IssueText(title, marker, body, is_closed))
