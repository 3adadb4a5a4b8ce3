"""Whole databases of a server: what one holds at one moment, and how another takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime

from psycopg.sql import SQL, Identifier
from sqlalchemy import URL, Connection, Engine, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from app.domain.errors import UnavailableError
from app.store.session import database_url, make_engine, take_long

MAINTENANCE = ("postgres", "template1")
"""Databases that every server has, from which others are made and renamed."""

READER = "ratchet_reader"
"""The role of docs/sql.md, which is of the server and in no database."""

VIEWS = "ratchet_views"
"""The schema that it reads."""

_HAS_READER = "select 1 from pg_roles where rolname = :name"
_ROWS = """
    select relname from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where nspname = 'public' and relkind in ('r', 'p') and not relispartition order by relname
"""
_FOREIGN = """
    select count(*) from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where nspname not in ('pg_catalog', 'information_schema') and nspname not like 'pg\\_toast%'
"""
_OF_OTHERS = """
    select count(*) from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where nspname not in ('pg_catalog', 'information_schema', 'public', 'ratchet_views')
      and nspname not like 'pg\\_toast%' and nspname not like 'pg\\_temp%'
"""
_DISCONNECT = """
    select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = :name and backend_type = 'client backend'
"""
NOT_ALLOWED = "42501"
"""SQLSTATE of what the user may not do."""

_MAKE_READER = (
    f"create role {READER} nologin",
    f"alter role {READER} set statement_timeout = '30s'",
    f"alter role {READER} set default_transaction_read_only = on",
)


@dataclass(frozen=True)
class Moment:
    """What a database holds at one moment, under a name by which another session sees the same."""

    snapshot: str
    at: datetime
    revision: str | None
    major: int
    server: str
    rows: Mapping[str, int]


@contextmanager
def moment(engine: Engine) -> Iterator[Moment]:
    """Hold the database's present for this block; sessions that take its snapshot see just that. It locks nothing."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(text(f"set local {setting} = 0"))
        snapshot = str(connection.scalar(text("select pg_export_snapshot()")))
        at = connection.execute(text("select clock_timestamp()")).scalar_one()
        rows = table_rows(connection)
        known = "alembic_version" in rows
        revision = connection.scalar(text("select version_num from alembic_version")) if known else None
        yield Moment(snapshot, at, revision, *_version(connection), rows)


def table_rows(connection: Connection) -> dict[str, int]:
    """Return how many rows each of our tables has; none where the database is empty."""
    names = connection.scalars(text(_ROWS)).all()
    counted = {}
    for name in names:
        query = SQL("select count(*) from {}").format(Identifier("public", name)).as_string()
        counted[name] = int(connection.scalar(text(query)) or 0)
    return counted


def grant_reader(engine: Engine) -> None:
    """Let the role that reads in SQL read all views of the database, as the migrations do, where there is the role."""
    with engine.begin() as connection:
        if connection.scalar(text(_HAS_READER), {"name": READER}) is None:
            return
        connection.execute(text(f"grant usage on schema {VIEWS} to {READER}"))
        connection.execute(text(f"grant select on all tables in schema {VIEWS} to {READER}"))


def _version(connection: Connection) -> tuple[int, str]:
    number = int(connection.execute(text("show server_version_num")).scalar_one())
    return number // 10_000, str(connection.execute(text("show server_version")).scalar_one())


class Server:
    """The server of a database's address, for making databases there and moving them about."""

    def __init__(self, url: str) -> None:
        self._url = database_url(url)
        if not self._url.database:
            raise UnavailableError("RATCHET_DATABASE_URL names no database", code="no_database")
        self.database: str = self._url.database

    def address(self, database: str) -> str:
        """Return the address of another database of the server; it has the password in it."""
        return self._url.set(database=database).render_as_string(hide_password=False)

    @property
    def url(self) -> URL:
        """Address of the database."""
        return self._url

    def major(self) -> int:
        """Return the server's major version."""
        with self._maintaining() as connection:
            return _version(connection)[0]

    def now(self) -> datetime:
        """Return the server's time."""
        with self._maintaining() as connection:
            found: datetime = connection.execute(text("select clock_timestamp()")).scalar_one()
            return found

    def has(self, database: str) -> bool:
        """Say whether there is a database of that name."""
        with self._maintaining() as connection:
            query = "select 1 from pg_database where datname = :name"
            return connection.scalar(text(query), {"name": database}) is not None

    def contents(self) -> dict[str, int] | None:
        """Return the rows of each table of the database: none where it is empty, None where there is no database.

        Raises UnavailableError where it holds something that is none of ours.
        """
        if not self.has(self.database):
            return None
        engine = make_engine(self.address(self.database), pool_size=1)
        try:
            with engine.connect() as connection:
                connection.execute(text("set statement_timeout = 0"))
                rows = table_rows(connection)
                if "alembic_version" not in rows and connection.scalar(text(_FOREIGN)):
                    raise UnavailableError(
                        f"the database {self.database} holds something that is none of Ratchet's: name another one"
                    )
                return rows
        finally:
            engine.dispose()

    def users(self) -> int:
        """Return how many connections of a service there are to the database."""
        query = """
            select count(*) from pg_stat_activity
            where datname = :name and application_name like 'ratchet%' and pid <> pg_backend_pid()
        """
        with self._maintaining() as connection:
            return int(connection.scalar(text(query), {"name": self.database}) or 0)

    def create(self, database: str) -> None:
        """Make an empty database. Raises UnavailableError where the user may not."""
        query = "create database {} template template0"
        try:
            self._do(query, database)
        except ProgrammingError as error:
            raise UnavailableError(
                f"the database user may make no databases ({str(error.orig).strip()}): an administrator lets it by "
                f"`alter role {self._url.username} createdb`"
            ) from error

    def drop(self, database: str) -> None:
        """Drop a database, if it is there, whoever is connected with it.

        A worker that vacuums there is the server's own, and not everybody's to end by force; without it the server ends
        it itself.
        """
        try:
            self._do("drop database if exists {} with (force)", database)
        except ProgrammingError as error:
            if getattr(error.orig, "sqlstate", None) != NOT_ALLOWED:
                raise
            self._do("drop database if exists {}", database)

    def drop_if_empty(self, database: str) -> bool:
        """Drop a database that holds no row of ours and nothing of anybody else's; say whether it is gone."""
        if not self.has(database):
            return True
        engine = make_engine(self.address(database), pool_size=1)
        try:
            with engine.connect() as connection:
                take_long(connection)
                has_rows = any(n for name, n in table_rows(connection).items() if name != "alembic_version")
                is_empty = not has_rows and not connection.scalar(text(_OF_OTHERS))
        finally:
            engine.dispose()
        if is_empty:
            self.drop(database)
        return is_empty

    def swap(self, fresh: str, aside: str) -> None:
        """Give the name of our database to another one, and ours the name `aside`, both at once.

        Whoever only reads there, as Grafana does, is disconnected. Raises UnavailableError where that may not be.
        """
        with self._maintaining() as connection:
            with suppress(ProgrammingError):  # somebody else's connection: then the renaming says so
                connection.execute(text(_DISCONNECT), {"name": self.database})
            is_there = connection.scalar(
                text("select 1 from pg_database where datname = :name"), {"name": self.database}
            )
            moves = [(self.database, aside)] if is_there else []
            try:
                connection.execute(text("begin"))
                for name, other in [*moves, (fresh, self.database)]:
                    query = SQL("alter database {} rename to {}").format(Identifier(name), Identifier(other))
                    connection.execute(text(query.as_string()))
                connection.execute(text("commit"))
            except OperationalError as error:
                connection.execute(text("rollback"))
                raise UnavailableError(
                    f"the database {self.database} is in use: {str(error.orig).strip()}. Stop what uses it"
                ) from error

    def make_reader(self) -> bool:
        """Make the role that reads in SQL where there is none; say whether it is there."""
        with self._maintaining() as connection:
            if connection.scalar(text(_HAS_READER), {"name": READER}) is not None:
                return True
            try:
                for statement in _MAKE_READER:
                    connection.execute(text(statement))
            except ProgrammingError:
                return False
            return True

    def _do(self, query: str, database: str) -> None:
        with self._maintaining() as connection:
            connection.execute(text(SQL(query).format(Identifier(database)).as_string()))

    @contextmanager
    def _maintaining(self) -> Iterator[Connection]:
        """Yield a connection with a database that is not ours, without a transaction."""
        engine, connection = self._opened()
        try:
            connection.execute(text("set statement_timeout = 0"))
            yield connection
        finally:
            connection.close()
            engine.dispose()

    def _opened(self) -> tuple[Engine, Connection]:
        last = MAINTENANCE[-1]
        for name in MAINTENANCE:
            engine = make_engine(self.address(name), pool_size=1)
            engine = engine.execution_options(isolation_level="AUTOCOMMIT")
            try:
                return engine, engine.connect()
            except OperationalError:
                engine.dispose()
                if name == last:
                    raise
        raise AssertionError("a server has a database")
