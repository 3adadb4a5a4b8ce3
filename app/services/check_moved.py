"""A check is not where it was: whoever watches it is told, and so is the forge where something waits for it there."""

from __future__ import annotations

from typing import Unpack

from sqlalchemy.orm import Session

from app.store.repositories import awaiting, notify, outbox

TOPIC = "check.show"


def check_moved(session: Session, check_id: int) -> None:
    """Tell that something of a check is new; many such words at once are one message to the forge."""
    notify.check_changed(session, check_id)
    if awaiting.is_awaited(session, check_id):
        want_showing(session, check_id)


def want_showing(session: Session, check_id: int, **when: Unpack[outbox.When]) -> None:
    """Have the forge told how a check stands; several wishes are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{check_id}", {"check_id": check_id}, **when)
