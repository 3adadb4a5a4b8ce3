"""Messages that GitHub could not deliver: it sends none again by itself, so those that failed are asked for.

Each look goes on where the one before ended. What has arrived meanwhile is left alone, and what fails each time is
asked for a few times in all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.domain.forge import LostMessage
from app.store.repositories import clock, messages

KEPT = timedelta(days=3)
"""What was sent longer ago GitHub does not send again."""

MOST_AT_ONCE = 30
"""Messages that are asked for in one look; the next look goes on."""

TRIES = 3


def look_from(session: Session) -> datetime:
    """Return since when messages are to be looked at."""
    oldest = clock.now(session) - KEPT
    known = messages.looked_until(session)
    return oldest if known is None else max(oldest, known)


@dataclass(frozen=True)
class Wanted:
    """Failed tries that are to be made again, the oldest first, and until when was looked once they are."""

    messages: tuple[LostMessage, ...]
    until: datetime | None


def to_ask_for(session: Session, lost: Sequence[LostMessage]) -> Wanted:
    """Return what is to be asked for of what was lost: of each message the newest try, and not too many at once."""
    newest = {message.guid: message for message in sorted(lost, key=_age)}
    here, asked = messages.arrived(session, newest.keys()), messages.asked(session, newest.keys())
    wanted: list[LostMessage] = []
    until = None
    for message in sorted(newest.values(), key=_age):
        if len(wanted) == MOST_AT_ONCE:
            break
        failed_id, attempts = asked.get(message.guid, (0, 0))
        if message.guid not in here and failed_id != message.id and attempts < TRIES:
            wanted.append(message)
        until = message.sent_at
    return Wanted(tuple(wanted), until)


def _age(message: LostMessage) -> tuple[datetime, int]:
    return message.sent_at, message.id


def note_asked(session: Session, message: LostMessage) -> None:
    """Note that a message is sent again, and that those before it were looked at."""
    messages.note_asked(session, message.guid, message.id)
    messages.note_looked(session, message.sent_at)


def end_look(session: Session, wanted: Wanted) -> None:
    """Note how far was looked."""
    if wanted.until is not None:
        messages.note_looked(session, wanted.until)
    messages.forget_asked(session, older_than=2 * KEPT)
