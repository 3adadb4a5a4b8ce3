"""The outbox: what must happen outside the database, and whether it has been sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
from app.store.tables import Outbox
from app.store.wire import Statement

RETRY = timedelta(seconds=2)


class When(TypedDict, total=False):
    """When a message leaves, as `put_again` takes it."""

    delay_s: float
    sent_before: timedelta


def put(session: Session, topic: str, key: str, payload: dict[str, Any]) -> None:
    """Add a message in the running transaction; the same key again changes nothing."""
    statement = insert(Outbox).values(topic=topic, key=key, payload=payload)
    session.execute(statement.on_conflict_do_nothing(index_elements=["key"]))


def put_again(
    session: Session,
    topic: str,
    key: str,
    payload: dict[str, Any],
    *,
    delay_s: float = 0,
    sent_before: timedelta = timedelta(0),
) -> None:
    """Make the message of this key unsent again, or add it: it may have been lost.

    Args:
        session: the session.
        topic: what the message is about.
        key: what makes it one message.
        payload: what it says.
        delay_s: it leaves after this time [s].
        sent_before: one that left more recently than this is left alone.
    """
    in_one_trip(session, renewed(topic, key, payload, delay_s=delay_s, sent_before=sent_before))


def renewed(
    topic: str,
    key: str,
    payload: dict[str, Any],
    *,
    delay_s: float = 0,
    sent_before: timedelta = timedelta(0),
) -> Statement:
    """Return what does as `put_again`."""
    its = {"topic": topic, "key": key, "payload": as_json(payload)}
    return _RENEW, its | {"delay": timedelta(seconds=delay_s), "age": sent_before}


def renewing(which: str) -> str:
    """Return the SQL that does as `put_again` for rows of `topic`, `key` and `payload`; it takes `delay` and `age`."""
    return f"""
    insert into outbox as known (topic, key, payload, available_at)
    select topic, key, payload, clock_timestamp() + %(delay)s from ({which}) as renewed
    on conflict (key) do update
    set sent_at = null, available_at = excluded.available_at
    where known.sent_at <= clock_timestamp() - %(age)s
    """  # noqa: S608  # nothing of it is anybody's but ours


_RENEW = renewing("select %(topic)s as topic, %(key)s as key, %(payload)s::jsonb as payload")


def send_again(session: Session, topic: str, *, sent_before: timedelta) -> None:
    """Make the messages of a topic unsent that left so long ago and are still there: who acts on them forgets them."""
    late = func.clock_timestamp() - sent_before
    session.execute(
        update(Outbox)
        .where(Outbox.topic == topic, Outbox.sent_at <= late)
        .values(sent_at=None, available_at=func.clock_timestamp())
    )


def forget(session: Session, key: str) -> bool:
    """Delete a message, as what it was about is done; False where somebody else has."""
    return session.scalar(delete(Outbox).where(Outbox.key == key).returning(Outbox.id)) is not None


def claim_unsent(session: Session, limit: int) -> Sequence[Outbox]:
    """Lock and return up to `limit` messages that are due; other relays skip them."""
    return session.scalars(
        select(Outbox)
        .where(Outbox.sent_at.is_(None), Outbox.available_at <= func.clock_timestamp())
        .order_by(Outbox.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def next_due_s(session: Session) -> float | None:
    """Return after how long the next message is due that waits [s]; None where there is none.

    It may have become due just now. What the broker did not take is none of them.
    """
    wait = func.extract("epoch", func.min(Outbox.available_at) - func.clock_timestamp())
    found = session.scalar(select(wait).where(Outbox.sent_at.is_(None), Outbox.error.is_(None)))
    return None if found is None else max(0.0, float(found))


def mark_sent(session: Session, message: Outbox) -> None:
    """Record that the message has left."""
    session.execute(
        update(Outbox)
        .where(Outbox.id == message.id)
        .values(sent_at=func.clock_timestamp(), attempts=Outbox.attempts + 1, error=None)
    )


def mark_failed(session: Session, message: Outbox, error: str, *, again: timedelta = RETRY) -> None:
    """Record that sending failed; it is due again after that time."""
    session.execute(
        update(Outbox)
        .where(Outbox.id == message.id)
        .values(available_at=func.clock_timestamp() + again, attempts=Outbox.attempts + 1, error=error[:500])
    )


def depth(session: Session) -> tuple[int, float]:
    """Return how many messages wait and the age of the oldest [s]."""
    row = session.execute(
        text(
            "select count(*), coalesce(extract(epoch from clock_timestamp() - min(available_at)), 0)"
            " from outbox where sent_at is null and available_at <= clock_timestamp()"
        )
    ).one()
    return int(row[0]), float(row[1])
