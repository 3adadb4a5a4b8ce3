"""Several statements in one round trip: PostgreSQL gets them together, and answers one after the other.

They run as they would each by itself: a statement sees what those before it did, and what others committed while one
before it waited for a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from psycopg.pq import ExecStatus
from pydantic_core import to_json
from sqlalchemy import ClauseElement
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

_DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call]

Statement = tuple[str, Mapping[str, Any]]
"""SQL with places like `%(name)s`, and what stands there."""


def in_one_trip(session: Session, *statements: Statement) -> list[list[tuple[Any, ...]]]:
    """Return the rows of every statement; what the session holds back is written before them.

    Args:
        session: its transaction is what they run in.
        statements: what is sent.

    Raises:
        DBAPIError: SQLAlchemy's own for the first that failed; those after it did not run.
    """
    session.flush()
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    try:
        with connection.pipeline():
            cursors = [connection.cursor(binary=True).execute(query, values) for query, values in statements]
    except psycopg.Error as error:
        sent = "; ".join(query for query, _ in statements)
        raise DBAPIError.instance(sent, None, error, psycopg.Error) from error
    return [cursor.fetchall() if _has_rows(cursor) else [] for cursor in cursors]


def _has_rows(cursor: psycopg.Cursor[Any]) -> bool:
    """Say whether the statement returns rows; `cursor.description` would make an object for each column."""
    return cursor.pgresult is not None and cursor.pgresult.status == ExecStatus.TUPLES_OK


def as_json(value: Any) -> str:
    """Return plain values, times among them, as a JSON document: a parameter that is many rows. Numbers are finite."""
    return to_json(value).decode()


def written(query: ClauseElement) -> str:
    """Return the query as text for a statement; the names of its `bindparam`s are those of the values."""
    return str(query.compile(dialect=_DIALECT))
