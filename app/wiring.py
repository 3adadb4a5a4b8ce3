"""The one place that builds engine, queue and settings for a process."""

from __future__ import annotations

from functools import cached_property

from app.config import ServiceSettings
from app.integrations.queue import CeleryQueue, Nudger, make_celery
from app.store.session import Database


class Service:
    """What a door needs: settings, database and queue, built on first use."""

    def __init__(self, settings: ServiceSettings | None = None) -> None:
        self.settings = settings or ServiceSettings()  # type: ignore[call-arg]  # read from the environment

    @cached_property
    def database(self) -> Database:
        """The database."""
        return Database(self.settings.database_url)

    @cached_property
    def queue(self) -> CeleryQueue:
        """The queue."""
        return CeleryQueue(make_celery(self.settings.redis_url))

    @cached_property
    def nudger(self) -> Nudger:
        """What sends the nudges."""
        return Nudger(self.queue.nudge)

    def nudge(self) -> None:
        """Have the outbox read soon; without a broker the next tick of the relay does it."""
        self.nudger.nudge()

    def close(self) -> None:
        """Close what was opened."""
        if "nudger" in self.__dict__:
            self.nudger.close()
        if "database" in self.__dict__:
            self.database.close()
