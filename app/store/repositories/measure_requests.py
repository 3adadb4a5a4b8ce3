"""What people have asked to be measured of connected repositories, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.store.repositories.upsert import get_or_create
from app.store.tables import MeasureRequest


def keep(session: Session, key: str, told: dict[str, Any], asked_by: str) -> tuple[MeasureRequest, bool]:
    """Store a request; return it, and whether it is new: the same key again is the same request."""
    return get_or_create(session, MeasureRequest, {"key": key}, asked_by=asked_by, **told)


def one(session: Session, request_id: int) -> MeasureRequest | None:
    """Return a request, or None."""
    return session.get(MeasureRequest, request_id, populate_existing=True)


def waiting(session: Session, request_id: int) -> MeasureRequest | None:
    """Lock and return a request that nothing came of yet; None where something did."""
    query = select(MeasureRequest).where(MeasureRequest.id == request_id, MeasureRequest.outcome.is_(None))
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()


def all_waiting(session: Session, *, older_than: timedelta) -> Sequence[int]:
    """Return the requests that nothing has come of for so long."""
    old = MeasureRequest.created_at < func.clock_timestamp() - older_than
    query = select(MeasureRequest.id).where(MeasureRequest.outcome.is_(None), old)
    return session.scalars(query.order_by(MeasureRequest.id)).all()
