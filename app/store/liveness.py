"""A connection that died with a restarted server is replaced when it is taken from the pool.

A server that ends sends its farewell and closes the connection, so that there is something to read on it, which there
never is on an idle one. To look for that takes no round trip. What has been idle for long may have been forgotten on
the way, by a firewall or a balancer, without a word: it is tried.
"""

from __future__ import annotations

import select
import time

import psycopg
from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry

TRIED_AFTER_S = 10.0
"""How long a connection is idle until it is tried, not only looked at [s]."""

_IDLE_SINCE = "idle_since"


def replace_dead_connections(engine: Engine) -> None:
    """Have the engine's pool replace a dead connection, and all older ones, by new ones."""

    def give_back(_connection: psycopg.Connection | None, entry: ConnectionPoolEntry) -> None:
        entry.info[_IDLE_SINCE] = time.monotonic()

    def take(connection: psycopg.Connection, entry: ConnectionPoolEntry, _proxy: object) -> None:
        idle_since = entry.info.get(_IDLE_SINCE)
        if idle_since is None:
            return
        if has_ended(connection):
            raise InvalidatePoolError
        if time.monotonic() - idle_since > TRIED_AFTER_S:
            try:
                engine.dialect.do_ping(connection)  # type: ignore[arg-type]
            except psycopg.Error:
                raise InvalidatePoolError from None

    event.listen(engine, "checkin", give_back)
    event.listen(engine, "checkout", take)


def has_ended(connection: psycopg.Connection) -> bool:
    """Say whether an idle connection's server has said farewell, or it was closed here."""
    if connection.closed:
        return True
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))
