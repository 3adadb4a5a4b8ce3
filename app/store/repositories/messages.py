"""Messages that the forge could not deliver: until when they were looked at, and which were asked for how often."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Delivery, Redelivery, Watermark

NAME = "forge.messages"


def looked_until(session: Session) -> datetime | None:
    """Return when the newest message was sent that was looked at; None before the first."""
    return session.scalars(select(Watermark.at).where(Watermark.name == NAME)).one_or_none()


def note_looked(session: Session, until: datetime) -> None:
    """Note that all messages that were sent until then were looked at; never an earlier time than is known."""
    statement = insert(Watermark).values(name=NAME, at=until)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"at": func.greatest(Watermark.at, until)}
        )
    )


def arrived(session: Session, guids: Collection[str]) -> set[str]:
    """Return those of these messages that are here."""
    return set(session.scalars(select(Delivery.guid).where(Delivery.guid.in_(guids))))


def asked(session: Session, guids: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return of each message that was asked for again its try that had failed, and how often it was asked for."""
    rows = session.scalars(select(Redelivery).where(Redelivery.guid.in_(guids)))
    return {row.guid: (row.failed_id, row.attempts) for row in rows}


def note_asked(session: Session, guid: str, failed_id: int) -> None:
    """Note that a message is asked for again, because this try of it has failed."""
    statement = insert(Redelivery).values(guid=guid, failed_id=failed_id, attempts=1)
    statement = statement.on_conflict_do_update(
        index_elements=["guid"],
        set_={
            "failed_id": failed_id,
            "attempts": Redelivery.attempts + 1,
            "asked_at": func.clock_timestamp(),
        },
    )
    session.execute(statement)


def forget_asked(session: Session, *, older_than: timedelta) -> None:
    """Forget what was asked for so long ago."""
    late = func.clock_timestamp() - older_than
    session.execute(delete(Redelivery).where(Redelivery.asked_at < late))
