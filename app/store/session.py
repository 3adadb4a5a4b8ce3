"""Engines and sessions. Sessions are synchronous and short: no transaction is open across a network call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from pydantic_core import from_json
from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.orm import Session, sessionmaker

from app.domain.errors import UnavailableError, UsageError
from app.store.liveness import replace_dead_connections
from app.store.pipeline import READS, know_what_is_forgotten
from app.store.prompt import MOST, Prompt

STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000

UNHEARD_MS = 10_000
"""After so long a server that does not take what it was sent is lost; the system itself waits a quarter of an hour."""

DRIVER = "postgresql+psycopg"
POSTGRESQL = (DRIVER, "postgresql", "postgres")
"""Schemes of an address that is taken; the driver is always the same."""

LOCKED = ("55P03", "40P01")
"""SQLSTATE of a lock that was not to be had."""
AWAY = ("08", "57P", "28", "3D", "53300")
"""Beginnings of the SQLSTATE of a server that takes no connection."""


def make_engine(url: str, *, pool_size: int = 10) -> Engine:
    """Return an engine on PostgreSQL; a connection that died with a restarted server is replaced on use.

    Args:
        url: the server's address, as postgresql://user:password@host:port/database.
        pool_size: connections kept; as many again are opened under load.
    """
    options = (
        f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
        f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}"
        " -c timezone=UTC"
    )
    engine = create_engine(
        database_url(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        connect_args={
            "options": options,
            "application_name": "ratchet",
            "connect_timeout": 5,
            "tcp_user_timeout": UNHEARD_MS,
        },
        json_deserializer=_read_json,
    )
    replace_dead_connections(engine)
    know_what_is_forgotten(engine)
    return engine


def _read_json(document: str | bytes) -> Any:
    """Return a stored document; what is nested deeper than the fast parser goes is read as well."""
    try:
        return from_json(document)
    except ValueError:
        return json.loads(document)


def database_url(url: str) -> URL:
    """Return the address with the driver that Ratchet uses. Raises UsageError where it is none of a PostgreSQL."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # The text may hold a password, so it is not repeated.
        raise UsageError(
            "RATCHET_DATABASE_URL cannot be read: right is postgresql://user:password@host:5432/database "
            "(a special character in the password is written as %XX)"
        ) from None
    if parsed.drivername not in POSTGRESQL:
        raise UsageError(
            f"RATCHET_DATABASE_URL names {parsed.drivername!r}; Ratchet keeps its state in PostgreSQL: "
            "postgresql://user:password@host:5432/database"
        )
    return parsed.set(drivername=DRIVER)


def take_long(connection: Connection | Session) -> None:
    """Have the statements of the transaction take as long as they need, and wait for the next as long."""
    for setting in ("statement_timeout", "idle_in_transaction_session_timeout"):
        connection.execute(text(f"set local {setting} = 0"))


def is_away(error: BaseException) -> bool:
    """Say whether the error is that the database takes no connection, or lost it."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    return isinstance(error, OperationalError) and (state is None or state.startswith(AWAY))


@contextmanager
def answering() -> Iterator[None]:
    """Raise UnavailableError, with the server's word, where the database is away or gives up within this block."""
    try:
        yield
    except OperationalError as error:
        reason = str(error.orig).strip().partition("\n")[0]
        state = getattr(error.orig, "sqlstate", None)
        if state in LOCKED:
            what = (
                f"the database's tables are in use: {reason}. Stop `ratchet api` and `tasks`, then try again"
            )
        elif is_away(error):
            what = f"the database does not answer: {reason}. Is it up, and does RATCHET_DATABASE_URL name it?"
        else:
            what = f"the database could not go on: {reason}"
        raise UnavailableError(what) from error


@contextmanager
def ended(session: Session) -> Iterator[Session]:
    """Yield the session; what it has under way is committed at the end, or rolled back if the block raises."""
    try:
        yield session
        if session.in_transaction():
            session.commit()
    except BaseException:
        session.rollback()
        raise
    finally:
        session.close()


class Database:
    """The engine and its sessions. The door that opens a session commits it; services only flush."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.engine = make_engine(url, pool_size=pool_size)
        self.connections_most = 2 * pool_size
        """How many connections there may be at once."""
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)
        reading = self.engine.execution_options(isolation_level="AUTOCOMMIT")
        self._readings = sessionmaker(reading, expire_on_commit=False, info={READS: True})
        self._url = url

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session; it is committed at the end of the block, or rolled back if the block raises."""
        with ended(self._sessions()) as session:
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session that only reads: each statement is a transaction, so that none has to be begun or ended."""
        with ended(self._readings()) as session:
            yield session

    @cached_property
    def prompt(self) -> Prompt:
        """Connections of the event loop's own."""
        return Prompt(make_engine(self._url, pool_size=MOST))

    def close(self) -> None:
        """Close all connections."""
        if "prompt" in self.__dict__:
            self.prompt.close()
        self.engine.dispose()
