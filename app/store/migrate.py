"""Bring a database to this release's schema, by one process at a time."""

from __future__ import annotations

from importlib.resources import as_file, files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from app.domain.errors import UnavailableError

ADVISORY_LOCK = 0x52415443
"""Key of the lock that lets one process migrate while the others wait ("RATC")."""


def migrate(engine: Engine, revision: str = "head") -> None:
    """Upgrade the database to `revision`; other processes that call this meanwhile wait and then do nothing."""
    with engine.connect() as connection:
        # A migration, and the wait for another process's, may take longer than a request may.
        connection.execute(text("set statement_timeout = 0; set idle_in_transaction_session_timeout = 0"))
        connection.execute(text("select pg_advisory_lock(:key)"), {"key": ADVISORY_LOCK})
        connection.commit()
        try:
            _run(connection, revision)
        finally:
            connection.rollback()
            connection.execute(text("select pg_advisory_unlock(:key)"), {"key": ADVISORY_LOCK})
            connection.commit()


def require_current(engine: Engine) -> None:
    """Raise UnavailableError unless the database has exactly this release's schema."""
    with engine.connect() as connection:
        found = MigrationContext.configure(connection).get_current_revision()
    with as_file(files("migrations")) as folder:
        wanted = ScriptDirectory(str(folder)).get_current_head()
    if found != wanted:
        raise UnavailableError(
            f"the database is at schema revision {found or 'none'}, this release needs {wanted}: "
            "run `ratchet migrate` (with RATCHET_DATABASE_URL set) or start `ratchet up`",
            code="schema_mismatch",
        )


def is_known(revision: str) -> bool:
    """Say whether this release knows a schema's revision, and so can bring it to its own."""
    with as_file(files("migrations")) as folder:
        script = ScriptDirectory(str(folder))
        return any(its.revision == revision for its in script.walk_revisions())


def _run(connection: Connection, revision: str) -> None:
    with as_file(files("migrations")) as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        config.attributes["connection"] = connection
        if revision == "base" or revision.startswith("-"):
            command.downgrade(config, revision)
        else:
            command.upgrade(config, revision)
