"""Messages of the forge: kept as they came, looked at once, and forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Delivery


def keep(session: Session, guid: str, event: str, payload: dict[str, Any]) -> int | None:
    """Keep a message; return its id, None where it is kept already."""
    statement = insert(Delivery).values(guid=guid, event=event, payload=payload)
    return session.scalar(statement.on_conflict_do_nothing(index_elements=["guid"]).returning(Delivery.id))


def waiting(session: Session, delivery_id: int) -> Delivery | None:
    """Lock and return a message that nobody looked at yet; None if somebody did, or is about to."""
    query = select(Delivery).where(Delivery.id == delivery_id, Delivery.outcome.is_(None))
    return session.scalars(query.with_for_update(skip_locked=True)).one_or_none()


def left_over(session: Session, *, older_than: timedelta) -> Sequence[int]:
    """Return messages that nobody has looked at for so long."""
    return session.scalars(
        select(Delivery.id)
        .where(Delivery.outcome.is_(None), Delivery.received_at < func.clock_timestamp() - older_than)
        .order_by(Delivery.id)
    ).all()
