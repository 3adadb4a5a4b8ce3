"""Send the messages that wait for a notifier: one at a time, the oldest first, each until it has arrived.

A message is claimed, sent without a session, and then noted as sent. Whoever dies between the last two sends it once
more, under the same key: a receiver that keeps keys takes it once.
"""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.domain.notifications import Letter, Message, MessageKind, NotifierKind, SendState, message_of
from app.integrations.notifiers import (
    CHANNELS,
    Reach,
    ReceiverBusyError,
    ReceiverGoneError,
    ReceiverPartlyError,
    ReceiverRefusedError,
)
from app.reports.notifications.mail_page import mail_page
from app.reports.notifications.plain_text import message_text
from app.reports.notifications.slack_text import slack_body
from app.reports.notifications.webhook_body import webhook_body
from app.services.notify.reach import reach_of
from app.services.notify.seal import unseal
from app.services.notify.wanting import send_later, want_sending
from app.store.repositories import access, clock, notifications, restorations
from app.store.tables import Notification, Notifier

log = logging.getLogger(__name__)

MARGIN_S = 60.0
"""A turn lasts as long as a try may take, and so much longer: whoever has it may die in it [s]."""

REST_S = 1.0
"""Between two messages to one notifier, as Slack asks for [s]."""

FIRST_WAIT_S, LONGEST_WAIT_S, FACTOR = 5.0, 4 * 3600.0, 4.0
MOST_TRIES = 10
"""With these a receiver is tried for 7 to 14 hours before a message is given up."""

GONE_AFTER = 3
"""A receiver is left alone that has answered 404 so often in a row; 410 is believed at once."""


@dataclass(frozen=True)
class Turn:
    """One message to be sent, and all that is needed for it."""

    notifier_id: int
    notification_id: int
    kind: NotifierKind
    address: dict[str, str]
    letter: Letter
    reach: Reach
    attempts: int
    """Tries, with this one."""
    gone: int = 0
    """How often in a row it was answered that nobody is there."""


@dataclass(frozen=True)
class Sent:
    """How it went."""

    error: str = ""
    is_final: bool = False
    taken_by: tuple[str, ...] = ()
    """Who of several has taken it."""
    says_gone: bool = False
    is_gone: bool = False
    """Whether nobody is there: the receiver is left alone."""
    wait_s: float = REST_S


def take_turn(session: Session, settings: ServiceSettings, notifier_id: int) -> Turn | None:
    """Return what is to be sent next; None where there is nothing, or it is not its time yet."""
    if restorations.is_observing(session):
        return None
    notifier = notifications.locked(session, notifier_id)
    if notifier is None or notifier.paused_at is not None:
        return None
    row = notifications.next_message(session, notifier_id)
    if row is None:
        return None
    now = clock.now(session)
    waits_until = max(row.not_before, notifier.busy_until or row.not_before)
    if waits_until > now:
        want_sending(session, notifier_id, delay_s=(waits_until - now).total_seconds())
        return None
    try:
        address, reach = unseal(session, settings, notifier.address), reach_of(settings)
    except UnavailableError as error:
        _put_off(session, notifier, row, Sent(str(error), wait_s=LONGEST_WAIT_S / 4), now)
        return None
    row.attempts += 1
    kind = NotifierKind(notifier.kind)
    notifier.busy_until = now + timedelta(seconds=CHANNELS[kind].longest_s + MARGIN_S)
    session.flush()
    return Turn(
        notifier_id, row.id, kind, address, _letter(session, kind, row), reach, row.attempts, row.gone
    )


def _letter(session: Session, kind: NotifierKind, row: Notification) -> Letter:
    """Return the message as this kind of receiver takes it."""
    message = message_of(row.message)
    first = notifications.by_key(session, row.thread) if row.thread else None
    return replace(letter_of(kind, message, row.key, first), taken_by=tuple(row.taken_by))


def letter_of(kind: NotifierKind, message: Message, key: str, first: Notification | None = None) -> Letter:
    """Return the message in its form; `first` is the one that it goes on from."""
    thread = first.key if first is not None else ""
    plain = Letter(key=key, title=message.title, text=message_text(message), thread=thread)
    if kind is NotifierKind.SLACK:
        told_first = _when(first.sent_at or first.created_at) if first is not None else ""
        return Letter(key, message.title, plain.text, body=slack_body(message, told_first=told_first))
    if kind is NotifierKind.WEBHOOK:
        return Letter(key, message.title, plain.text, body=webhook_body(message, thread=thread))
    title = message_of(first.message).title if first is not None else message.title
    page = message.html if message.kind is MessageKind.REPORT else ""
    html = message.letter or mail_page(message)
    return Letter(key, title, plain.text, html=html, page=page, thread=thread)


def _when(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"


def deliver(turn: Turn) -> Sent:
    """Send it; nothing that is secret comes back in an error."""
    send = CHANNELS[turn.kind].deliver
    if send is None:
        return Sent("this release does not send what is of this kind", is_final=True)
    try:
        send(turn.address, turn.letter, turn.reach)
    except ReceiverBusyError as error:
        # Whoever asks for less must not use up the tries in a few seconds.
        return Sent(str(error), wait_s=max(error.wait_s, backoff_s(turn.attempts)))
    except ReceiverPartlyError as error:
        return Sent(str(error), wait_s=backoff_s(turn.attempts), taken_by=error.taken_by)
    except ReceiverGoneError as error:
        is_gone = error.is_certain or turn.gone + 1 >= GONE_AFTER
        return Sent(str(error), says_gone=True, is_gone=is_gone, wait_s=backoff_s(turn.attempts))
    except ReceiverRefusedError as error:
        return Sent(str(error), is_final=True)
    except UnavailableError as error:
        return Sent(str(error), wait_s=backoff_s(turn.attempts))
    except Exception as error:  # one message that cannot be sent must not keep the others from being
        # Its text may hold the address: the kind of error has to do, and the log has no more.
        log.error("message %d could not be sent: %s", turn.notification_id, type(error).__name__)
        return Sent(f"a fault: {type(error).__name__}", wait_s=backoff_s(turn.attempts))
    return Sent()


def backoff_s(attempts: int) -> float:
    """Return how long to wait after so many tries: each time four times as long, and by chance up to half less."""
    wait_s = min(FIRST_WAIT_S * FACTOR ** (attempts - 1), LONGEST_WAIT_S)
    return wait_s * random.uniform(0.5, 1.0)


def end_turn(session: Session, turn: Turn, sent: Sent) -> None:
    """Store how it went, and have the rest sent."""
    notifier = notifications.locked(session, turn.notifier_id)
    if notifier is None:
        return
    row = session.get(Notification, turn.notification_id, populate_existing=True)
    if row is None or row.state != SendState.WAITING or row.attempts != turn.attempts:
        return  # The turn lasted too long: somebody else has it, or has ended it.
    now = clock.now(session)
    if not sent.error:
        row.state, row.sent_at, row.error = SendState.SENT, now, None
        notifier.busy_until = now + timedelta(seconds=REST_S)
    else:
        _put_off(session, notifier, row, sent, now)
    session.flush()
    if notifier.paused_at is None and (waiting := notifications.next_message(session, notifier.id)):
        until = max(waiting.not_before, notifier.busy_until or now)
        send_later(session, notifier.id, delay_s=max((until - now).total_seconds(), 0.0))


def _put_off(session: Session, notifier: Notifier, row: Notification, sent: Sent, now: datetime) -> None:
    log.warning("message %d to notifier %d: %s", row.id, notifier.id, sent.error)
    row.error = sent.error[:500]
    wait = timedelta(seconds=sent.wait_s)
    row.taken_by = [*row.taken_by, *sent.taken_by]
    row.gone = row.gone + 1 if sent.says_gone else 0
    is_given_up = row.attempts >= MOST_TRIES and not sent.is_gone  # of one that is paused the message stays
    if sent.is_final or is_given_up or row.kind == MessageKind.TEST:
        row.state = SendState.FAILED
        wait = timedelta(seconds=REST_S)
    row.not_before, notifier.busy_until = now + wait, now + timedelta(seconds=REST_S)
    if sent.is_gone:
        notifier.paused_at, notifier.paused_because = now, f"{sent.error}: nobody is at this address"[:500]
        access.audit(
            session, "ratchet", "notifier.paused", notifier.name, project=notifier.project_id, why=row.error
        )
