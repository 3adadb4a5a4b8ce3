"""What commands that work on the service's database share: a session on it, and lists as aligned columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from app.config import default_data_dir
from app.domain.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@contextmanager
def service_session() -> Iterator[Session]:
    """Yield a session on the database of RATCHET_DATABASE_URL, else of the service on the data folder.

    Raises UsageError where there is neither, UnavailableError where it does not answer.
    """
    from app.store.migrate import require_current
    from app.store.session import Database, answering

    database = Database(_database_url(), pool_size=1)
    try:
        with answering():
            require_current(database.engine)
            with database.session() as session:
                yield session
    finally:
        database.close()


def _database_url() -> str:
    """Return the database's address. Raises UsageError where neither the environment nor a service names one."""
    given = os.environ.get("RATCHET_DATABASE_URL")
    if given:
        return given
    from app.embedded import EmbeddedPostgres
    from app.local.data_dir import DataDir

    data = DataDir(Path(os.environ.get("RATCHET_DATA_DIR") or default_data_dir()))
    if data.running() is None or not data.postgres.exists():
        raise UsageError(
            f"which service? No `ratchet up` with a PostgreSQL of its own runs on {data.path}: name its data folder "
            "by RATCHET_DATA_DIR, or the database of a deployment by RATCHET_DATABASE_URL"
        )
    return EmbeddedPostgres(data.postgres).url()


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as lines of aligned columns; what is not printable in a name is shown escaped."""
    cells = [["".join(c if c.isprintable() else repr(c)[1:-1] for c in cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "\n".join(line.rstrip() for line in lines)
