"""A check is not where it was: whoever watches it is told, and so is the forge where something waits for it there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

from sqlalchemy.orm import Session

from app.store.repositories import awaiting, outbox

TOPIC = "check.show"


def check_moved(session: Session, check_id: int) -> None:
    """Tell that something of a check is new; many such words at once are one message to the forge."""
    show_awaited(session, awaiting.wake(session, check_id))


def show_awaited(session: Session, woken: Iterable[awaiting.Woken]) -> None:
    """Have the forge told of those of the checks that it waits for."""
    for check in woken:
        if check.is_awaited:
            want_showing(session, check.id)


def want_showing(session: Session, check_id: int, **when: Unpack[outbox.When]) -> None:
    """Have the forge told how a check stands; several wishes are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{check_id}", {"check_id": check_id}, **when)
