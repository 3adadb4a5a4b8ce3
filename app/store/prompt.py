"""Trips that the event loop makes by itself: what is quick to prepare and to read needs no thread that waits for it.

To hand a request over to a thread and back takes a sixth of what it takes to store a posted result. Where anything is
out of the ordinary there is no answer, and whoever asked goes the way that everything can go.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

import psycopg
from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import SQLAlchemyError

from app.store.liveness import TRIED_AFTER_S, has_ended
from app.store.pipeline import driver_of, prepared_on
from app.store.wire import Rows, Statement, exchange_in_loop

MOST = 4
"""How many trips are under way at once."""


@dataclass(frozen=True)
class _AtHand:
    """A connection that waits for the next trip since a time of the monotonic clock [s]."""

    pooled: PoolProxiedConnection
    since: float

    @property
    def is_good(self) -> bool:
        """Whether it can be used without being tried, which would be waited for."""
        return time.monotonic() - self.since < TRIED_AFTER_S and not has_ended(driver_of(self.pooled))


class Prompt:
    """Connections at hand, which are none of those that threads wait for."""

    def __init__(self, engine: Engine) -> None:
        """Take connections from this engine, which nobody else does."""
        self._engine = engine
        self._free: deque[_AtHand | None] = deque([None] * MOST)

    async def trip(self, statement: Statement) -> Rows | None:
        """Return the rows of a statement that is a transaction, or None: then nobody knows whether it was one.

        None where all connections are taken, the database is away, or it refuses the statement.
        """
        try:
            kept = self._free.pop()
        except IndexError:
            return None
        pooled = None
        try:
            pooled = kept.pooled if kept and kept.is_good else await asyncio.to_thread(self._taken, kept)
            (rows,) = await exchange_in_loop(driver_of(pooled), prepared_on(pooled), [statement])
        except BaseException as error:
            self._free.append(None)
            if pooled is not None:
                pooled.invalidate()
            if isinstance(error, psycopg.Error | SQLAlchemyError):
                return None
            raise
        self._free.append(_AtHand(pooled, time.monotonic()))
        return rows

    def _taken(self, kept: _AtHand | None) -> PoolProxiedConnection:
        """Return a connection that answers; what was kept for too long goes back to those that are tried."""
        if kept is not None:
            kept.pooled.close()
        return self._engine.raw_connection()

    def close(self) -> None:
        """Close all that is at hand."""
        for kept in self._free:
            if kept is not None:
                kept.pooled.close()
        self._engine.dispose()
