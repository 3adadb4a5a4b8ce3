"""Insert-or-find: whoever comes second finds, by the unique constraint, what the first has made."""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Table

Row = TypeVar("Row", bound=Table)


def get_or_create(session: Session, table: type[Row], key: dict[str, Any], **rest: Any) -> tuple[Row, bool]:
    """Return the row of `table` that has `key`, and whether this call made it; for rows that are mostly new.

    Args:
        session: the session; the row is flushed, not committed.
        table: a table whose unique constraint is exactly the columns of `key`.
        key: values of the unique columns.
        rest: the other columns, used only where the row is new.
    """
    statement = (
        insert(table).values(**key, **rest).on_conflict_do_nothing(index_elements=list(key)).returning(table)
    )
    made = session.scalars(statement).one_or_none()
    if made is not None:
        return made, True
    return session.scalars(select(table).filter_by(**key)).one(), False


def find_or_create(session: Session, table: type[Row], key: dict[str, Any], **rest: Any) -> Row:
    """Return the row of `table` that has `key`, made if it is new; for rows that are mostly there.

    Takes what `get_or_create` takes.
    """
    found = session.scalars(select(table).filter_by(**key)).one_or_none()
    return found if found is not None else get_or_create(session, table, key, **rest)[0]
