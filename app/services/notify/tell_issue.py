"""Alerts as issues of the project's repository: what each should say is a target of the forge's, kept true.

An alert has an issue of its own, unless there are many at once: those are one. It is closed when all that it tells of
is settled, and opened again when one of them is back.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import IssueText
from app.domain.notifications import FEW, AlertItem, Message, SendState, What
from app.reports.notifications.issue_text import issue_body, issue_marker, issue_title
from app.services.forge.want_text import want_text
from app.services.notify.alert_items import Standing, items, standings
from app.services.notify.message_rows import Say, add_notification, alerts_message, note_told
from app.store.repositories import notifications, origins
from app.store.tables import Notification, Notifier, Repository, ToldAlert


def issue_key(message_key: str) -> str:
    """Return what an issue is known by: the message that it was opened with."""
    return f"issue/{message_key}"


def repository_of(session: Session, project_id: int) -> Repository | None:
    """Return the connected repository that a project's issues are opened in."""
    return next(iter(origins.repositories_of(session, project_id)), None)


def tell_issues(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldAlert],
    now: datetime,
) -> None:
    """Have the issues say how these alerts stand; a new one is opened for what is in none yet."""
    begun = [its for its in say if its[0].id in told]
    fresh = [its for its in say if its[0].id not in told]
    for part in [fresh] if len(fresh) > FEW else [[its] for its in fresh]:
        if part:
            row = hand_on(session, notifier, alerts_message(session, settings, notifier, part, now))
            note_told(session, notifier, part, told, row)
            _want(session, settings, notifier, row)
    threads = {its.notification_id for its in told.values() if its.notification_id is not None}
    note_told(session, notifier, begun, told, None)
    for thread in sorted(threads):
        first = session.get_one(Notification, thread)
        its_say = [its for its in begun if told[its[0].id].notification_id == thread]
        if its_say:
            message = alerts_message(session, settings, notifier, its_say, now)
            hand_on(session, notifier, message, thread=first.key)
            _want(session, settings, notifier, first)


def test_issue(
    session: Session, settings: ServiceSettings, notifier: Notifier, message: Message
) -> Notification:
    """Have an issue opened and closed at once. Raises DataError where no repository is connected."""
    repository = repository_of(session, notifier.project_id)
    if repository is None:
        raise DataError("the project has no repository on GitHub that this service is connected with")
    row = hand_on(session, notifier, message)
    marker = issue_marker(issue_key(row.key))
    text = IssueText(message.title, marker, f"{marker}\n\n{message.text}", is_closed=True)
    want_text(session, repository, issue_key(row.key), text)
    return row


def hand_on(session: Session, notifier: Notifier, message: Message, *, thread: str = "") -> Notification:
    """Store a message that an issue is to tell: the forge's own queue brings it there."""
    return add_notification(session, notifier, message, thread=thread, state=SendState.HANDED)


def _want(session: Session, settings: ServiceSettings, notifier: Notifier, first: Notification) -> None:
    """Have the issue of a first message say how all of its alerts stand just now."""
    known = standings(session, notifications.alerts_of_thread(session, first.id))
    told = items(session, settings, [(its, _what(its)) for its in known.values()])
    want_issue(session, notifier, first, _text(told, first, notifier, session))


def want_issue(session: Session, notifier: Notifier, first: Notification, text: IssueText) -> None:
    """Have the issue of a first message say this; where no repository is connected any more, the message says so."""
    repository = repository_of(session, notifier.project_id)
    if repository is None:
        first.error = "the project has no repository on GitHub that this service is connected with"
        return
    want_text(session, repository, issue_key(first.key), text)


def _what(its: Standing) -> What:
    return What.SETTLED if its.is_closed else What.OPEN


def _text(told: Sequence[AlertItem], first: Notification, notifier: Notifier, session: Session) -> IssueText:
    project = notifications.project_of(session, notifier).name
    marker = issue_marker(issue_key(first.key))
    is_closed = all(item.what is What.SETTLED for item in told)
    return IssueText(issue_title(told, project), marker, issue_body(told, marker), is_closed)
