"""The three wishes by which a notification comes about, each a message that only says: look."""

from __future__ import annotations

from datetime import timedelta
from typing import Unpack

from sqlalchemy.orm import Session

from app.store.repositories import notifications, outbox, restorations

PLAN, COMPOSE, SEND = "notify.plan", "notify.compose", "notify.send"


def want_planning(session: Session, project_id: int, **when: Unpack[outbox.When]) -> None:
    """Have looked at whom what happened to the project's alerts concerns."""
    outbox.put_again(session, PLAN, f"{PLAN}/{project_id}", {"project_id": project_id}, **when)


def want_composing(session: Session, notifier_id: int, **when: Unpack[outbox.When]) -> None:
    """Have a message made of what a notifier is to be told."""
    outbox.put_again(session, COMPOSE, f"{COMPOSE}/{notifier_id}", {"notifier_id": notifier_id}, **when)


def want_sending(session: Session, notifier_id: int, **when: Unpack[outbox.When]) -> None:
    """Have the messages to a notifier sent."""
    outbox.put_again(session, SEND, f"{SEND}/{notifier_id}", {"notifier_id": notifier_id}, **when)


def send_now(session: Session, notifier_id: int) -> None:
    """Have the messages to a notifier sent at once, even if they were put off."""
    send_later(session, notifier_id, delay_s=0.0)


def send_later(session: Session, notifier_id: int, *, delay_s: float) -> None:
    """Have the messages to a notifier sent after this time [s], whenever that was wanted before."""
    outbox.forget(session, f"{SEND}/{notifier_id}")
    want_sending(session, notifier_id, delay_s=delay_s)


def compose_now(session: Session, notifier_id: int) -> None:
    """Have a message made at once, even if that was put off."""
    outbox.forget(session, f"{COMPOSE}/{notifier_id}")
    want_composing(session, notifier_id)


def find_waiting(session: Session, *, older_than: timedelta) -> int:
    """Have done what is due, and what a task that died should have; return how much.

    Digests and the ends of quiet hours are found here, too: they are a time of the notifier's.
    A restored service that observes tells nobody.
    """
    if restorations.is_observing(session):
        return 0
    planned = notifications.projects_with_news(session, older_than)
    for project_id in planned:
        want_planning(session, project_id, sent_before=older_than)
    composed = notifications.due(session)
    for notifier_id in composed:
        want_composing(session, notifier_id, sent_before=older_than)
    sent = notifications.unsent(session)
    for notifier_id in sent:
        want_sending(session, notifier_id, sent_before=older_than)
    return len(planned) + len(composed) + len(sent)
