"""Several statements in one round trip: PostgreSQL gets them together, and answers one after the other.

They run as they would each by itself: a statement sees what those before it did, and what others committed while one
before it waited for a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psycopg
from sqlalchemy.orm import Session


def in_one_trip(session: Session, *statements: tuple[str, Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """Return the rows of every statement.

    Args:
        session: its transaction is what they run in.
        statements: SQL with places like `%(name)s`, and what stands there.

    Raises:
        psycopg.Error: the first that failed; those after it did not run.
    """
    connection = session.connection().connection.driver_connection
    assert isinstance(connection, psycopg.Connection)
    with connection.pipeline():
        cursors = [connection.cursor(binary=True).execute(query, values) for query, values in statements]
    return [cursor.fetchall() if cursor.description else [] for cursor in cursors]
