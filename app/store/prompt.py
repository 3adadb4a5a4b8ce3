"""Trips that the event loop makes by itself: what is quick to prepare and to read needs no thread that waits for it.

To hand a request over to a thread and back takes a sixth of what it takes to store a posted result. Where anything is
out of the ordinary there is no answer, and whoever asked goes the way that everything can go.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from dataclasses import dataclass

import psycopg
from sqlalchemy import Engine, PoolProxiedConnection
from sqlalchemy.exc import SQLAlchemyError

from app.store.liveness import TRIED_AFTER_S, has_ended
from app.store.pipeline import driver_of, prepared_on
from app.store.wire import Rows, Statement, exchange_in_loop

log = logging.getLogger(__name__)

FAILURES = (psycopg.Error, SQLAlchemyError)

MOST = 4
"""How many trips are under way at once."""

WITHIN_S = 35.0
"""What is not answered by then is given up [s]; the database gives up a statement before."""

REST_S = 5.0
"""How long nobody tries anew after the database took no connection [s]."""


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
        self._rests_until = 0.0
        self._is_closed = False

    async def trip(self, statement: Statement) -> Rows | None:
        """Return the rows of a statement that is a transaction, or None: then nobody knows whether it was one.

        None where all connections are taken, the database is away, or it refuses the statement.
        """
        if self._is_closed or time.monotonic() < self._rests_until:
            return None
        try:
            kept = self._free.pop()
        except IndexError:
            return None
        left = None
        try:
            pooled = kept.pooled if kept and kept.is_good else await asyncio.to_thread(self._taken, kept)
            rows = await self._asked(pooled, statement)
            left = _AtHand(pooled, time.monotonic())
        except (*FAILURES, TimeoutError) as error:
            why = str(error).partition("\n")[0] or "no answer in time"
            log.warning("a document is stored the longer way: %s", why)
            return None
        finally:
            self._give_back(left)
        return rows

    async def _asked(self, pooled: PoolProxiedConnection, statement: Statement) -> Rows:
        try:
            async with asyncio.timeout(WITHIN_S):
                (rows,) = await exchange_in_loop(driver_of(pooled), prepared_on(pooled), [statement])
        except BaseException:
            pooled.invalidate()
            raise
        return rows

    def _give_back(self, left: _AtHand | None) -> None:
        self._free.append(left)
        if self._is_closed:
            self.close()

    def _taken(self, kept: _AtHand | None) -> PoolProxiedConnection:
        """Return a connection that answers: the one that was kept for too long, or another."""
        if kept is not None:
            try:
                self._engine.dialect.do_ping(driver_of(kept.pooled))  # type: ignore[arg-type]
                return kept.pooled
            except psycopg.Error:
                kept.pooled.invalidate()
        try:
            return self._engine.raw_connection()
        except FAILURES:
            self._rests_until = time.monotonic() + REST_S
            raise

    def close(self) -> None:
        """Close all that is at hand; nothing more is asked."""
        self._is_closed = True
        while self._free:
            if (kept := self._free.pop()) is not None:
                kept.pooled.invalidate()  # its pool may be gone
        self._engine.dispose()
