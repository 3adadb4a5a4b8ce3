"""The database's clock: the only one that leases and deadlines are reckoned with."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session


def now(session: Session, *, plus_s: float = 0.0) -> datetime:
    """Return the database's time, not the transaction's, shifted by `plus_s` seconds."""
    value = session.scalar(select(later(plus_s)))
    assert isinstance(value, datetime)
    return value


def later(seconds: float) -> ColumnElement[datetime]:
    """Return the database's time at the statement that this is part of, and so many seconds."""
    return func.clock_timestamp() + timedelta(seconds=seconds)


def in_time(after: timedelta = timedelta(0)) -> Any:
    """Return the same for an attribute of a row: asking for the time first would be one more trip.

    Until the row is written it is no time that could be compared, and to read it afterwards is a statement.
    """
    return later(after.total_seconds())
