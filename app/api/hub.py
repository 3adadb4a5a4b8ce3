"""Wake-ups inside one api process: a single LISTEN connection, and any number of routes that wait on it.

Nothing relies on a wake-up. While the connection is away every waiting route simply waits out its time, looks
again, and so does whoever calls it next.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator

import psycopg

from app.store.repositories.notify import CHANNEL
from app.store.session import database_url

log = logging.getLogger(__name__)

_RECONNECT_S = 2.0


class News:
    """One listener's bell."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake the listener."""
        self._event.set()

    async def wait(self, timeout_s: float) -> bool:
        """Wait for news; return False when none came within `timeout_s`."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Hub:
    """Hands what PostgreSQL notifies to the routes that wait for it."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._listeners: set[News] = set()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def listen(self, prefix: str) -> Iterator[News]:
        """Yield a bell that rings for every payload that begins with `prefix`."""
        news = News(prefix)
        self._listeners.add(news)
        try:
            yield news
        finally:
            self._listeners.discard(news)

    def start(self) -> None:
        """Begin to listen."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop listening; whoever still waits is woken, so that a shutdown need not wait for it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._ring("")

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except (psycopg.Error, OSError) as error:
                log.warning("lost the wake-up connection, trying again: %s", error)
            self._ring("")
            await asyncio.sleep(_RECONNECT_S)

    async def _listen(self) -> None:
        async with await psycopg.AsyncConnection.connect(libpq_url(self._url), autocommit=True) as connection:
            await connection.execute(f"listen {CHANNEL}")
            async for message in connection.notifies():
                self._ring(message.payload)

    def _ring(self, payload: str) -> None:
        for news in self._listeners:
            if not payload or payload.startswith(news.prefix):
                news.ring()


def libpq_url(url: str) -> str:
    """Return the address as libpq reads it, without SQLAlchemy's driver."""
    return database_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
