"""The service's clock: Celery's scheduler, but ticks do not pile up while nobody takes them."""

from __future__ import annotations

from typing import Any

from celery.beat import ScheduleEntry, Scheduler

from app.integrations.alive import note_alive
from app.integrations.queue import MOST_TICKS, QUEUE, waiting


class Clock(Scheduler):  # type: ignore[misc]  # Celery is untyped
    """Sends a tick when it is due, unless too many messages wait already.

    A tick's `expires` does not bound the queue: Celery looks at it when the message is taken, and without
    `ratchet tasks` nobody takes one.
    """

    def apply_async(
        self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **kwargs: Any
    ) -> Any:
        """Send the entry's task. Celery logs whatever the broker raises, and goes on with the next tick."""
        note_alive(self.app.conf.get("ratchet_alive_file", ""))
        if waiting(self.app, QUEUE) < MOST_TICKS:
            return super().apply_async(entry, producer=producer, advance=advance, **kwargs)
        return None
