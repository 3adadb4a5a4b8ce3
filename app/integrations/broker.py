"""Is the broker there? Asked by the health page, never by anything that works: work never waits for Redis."""

from __future__ import annotations

from typing import Any

from celery import Celery

from app.domain.errors import UnavailableError
from app.domain.units import format_quantity

_ONE_TRY = {
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "socket_connect_timeout": 1,
    "socket_timeout": 1,
}
"""A reader waits for the answer: a second at most, and no second try."""


class RedisBroker:
    """The broker of a Celery app."""

    def __init__(self, celery: Celery) -> None:
        self._celery = celery

    def describe(self) -> str:
        """Return the server's version and memory in use. Raises UnavailableError when it does not answer."""
        try:
            facts = self._info()
        except Exception as error:
            # Whatever client and transport raise on the way: to a reader it is all one.
            raise UnavailableError(f"does not answer: {error}") from error
        return f"Redis {facts['redis_version']}, {format_quantity(facts['used_memory'], 'B')} in use"

    def _info(self) -> dict[str, Any]:
        with self._celery.connection_for_read() as connection:
            connection.transport_options = connection.transport_options | _ONE_TRY
            facts: dict[str, Any] = connection.default_channel.client.info()
        return facts
