"""Engines and sessions. Sessions are synchronous and short: no transaction is open across a network call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Engine, create_engine
from sqlalchemy.orm import Session, sessionmaker

STATEMENT_TIMEOUT_MS = 30_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 60_000


def make_engine(url: str, *, pool_size: int = 10) -> Engine:
    """Return an engine on PostgreSQL; a connection that died with a restarted server is replaced on use.

    Args:
        url: SQLAlchemy address; `postgresql://` is read as `postgresql+psycopg://`.
        pool_size: connections kept; as many again are opened under load.
    """
    options = (
        f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
        f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_TIMEOUT_MS}"
        " -c timezone=UTC"
    )
    return create_engine(
        with_driver(url),
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_pre_ping=True,
        connect_args={"options": options, "application_name": "ratchet", "connect_timeout": 5},
    )


def with_driver(url: str) -> str:
    """Return `url` with the driver that Ratchet uses."""
    for prefix in ("postgresql://", "postgres://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    return url


class Database:
    """The engine and its sessions. The door that opens a session commits it; services only flush."""

    def __init__(self, url: str, *, pool_size: int = 10) -> None:
        self.engine = make_engine(url, pool_size=pool_size)
        self._sessions = sessionmaker(self.engine, expire_on_commit=False)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """Yield a session; it is committed at the end of the block, or rolled back if the block raises."""
        with self._sessions.begin() as session:
            yield session

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()
