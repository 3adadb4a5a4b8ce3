"""For commands that work on the service's database itself: where it is, and a connection to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.defaults import chosen_data_dir
from app.domain.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from app.store.session import Database


@contextmanager
def opened_database() -> Iterator[Database]:
    """Yield the service's database, by one connection. Raises UnavailableError where that does not answer."""
    from app.store.migrate import require_current
    from app.store.session import Database, answering

    database = Database(database_url(), pool_size=1)
    try:
        with answering():
            require_current(database.engine)
            yield database
    finally:
        database.close()


@contextmanager
def service_session() -> Iterator[Session]:
    """Yield a session on the service's database. Raises UnavailableError where that does not answer."""
    with opened_database() as database, database.session() as session:
        yield session


def database_url() -> str:
    """Return the database's address. Raises UsageError where neither the environment nor a service names one."""
    given = os.environ.get("RATCHET_DATABASE_URL")
    if given:
        return given
    from app.embedded import EmbeddedPostgres
    from app.local.data_dir import DataDir

    data = DataDir(chosen_data_dir())
    if data.running() is None or not data.postgres.exists():
        raise UsageError(
            f"which service? No `ratchet up` with a PostgreSQL of its own runs on {data.path}: name its data folder "
            "by RATCHET_DATA_DIR, or the database of a deployment by RATCHET_DATABASE_URL"
        )
    return EmbeddedPostgres(data.postgres).url()
