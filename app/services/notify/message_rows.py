"""The messages to a notifier as rows: what is said of alerts, stored with what the notifier knows from then on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from urllib.parse import urlencode
from uuid import uuid4

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.notifications import FEW, Message, MessageKind, SendState, What
from app.reports.notifications.titles import title_of
from app.services.notify.alert_items import Standing, items
from app.services.notify.wanting import want_sending
from app.store.repositories import notifications
from app.store.tables import Notification, Notifier, ToldAlert, ToldIncident

Say = Sequence[tuple[Standing, What]]
"""Alerts, and what is said of each."""


def alerts_message(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    now: datetime,
) -> Message:
    """Return what is said of these alerts: how many, and the first few with the largest changes."""
    project = notifications.project_of(session, notifier)
    first = sorted(say, key=lambda its: (its[1] is What.SETTLED, -its[0].level, its[0].id))[:FEW]
    told = items(session, settings, first)
    counts = dict(Counter(str(what) for _, what in say))
    alone = len(say) == 1
    return Message(
        kind=MessageKind.ALERTS,
        project=project.name,
        title=title_of(project.name, counts, told),
        url=told[0].url if alone else list_url(settings, project.name),
        at=now.isoformat(),
        items=told,
        counts=counts,
    )


def list_url(settings: ServiceSettings, project: str) -> str:
    """Return where the project's alerts are listed."""
    return f"{settings.address}/alerts?{urlencode({'project': project})}"


def thread_of(session: Session, told: ToldAlert | ToldIncident | None) -> str:
    """Return the key of the message that told of something first, for the next to go on from; else an empty text."""
    first = session.get(Notification, told.notification_id) if told and told.notification_id else None
    return first.key if first is not None else ""


def add_notification(
    session: Session,
    notifier: Notifier,
    message: Message,
    *,
    thread: str = "",
    state: SendState = SendState.WAITING,
    key: str = "",
) -> Notification:
    """Store a message to a notifier, and have it sent unless it is handed on otherwise."""
    row = Notification(
        notifier_id=notifier.id,
        kind=message.kind,
        key=key or f"msg_{uuid4().hex}",
        thread=thread,
        message=message.document(),
        state=state,
    )
    session.add(row)
    session.flush()
    if state is SendState.WAITING:
        want_sending(session, notifier.id)
    return row


def note_told(
    session: Session,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldAlert],
    row: Notification | None,
) -> None:
    """Note what the notifier knows of each alert from now on; `row` is the message that those begin with."""
    for its, _ in say:
        known = told.get(its.id)
        if known is None:
            known = ToldAlert(notifier_id=notifier.id, alert_id=its.id, notification_id=row and row.id)
            session.add(known)
        known.state, known.level = its.state, its.level
    session.flush()
