"""Weekly reports as things stand, for many readers at once: who asks while one is made shares the next.

Nobody is given a report that was begun before they asked: whoever has just changed something sees it. So of any number
who ask at once for the same, two make it. What is the same is told by the projects that somebody may see.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import count
from threading import Lock
from typing import Generic, TypeVar

from app.config import ServiceSettings
from app.domain.week import Week
from app.domain.weekly_report import WeeklyReport
from app.services.weekly.read_weekly import read_weekly
from app.services.weekly.scope import Scope
from app.services.weekly.watch import Watch, look
from app.store.session import Database

Value = TypeVar("Value")


class CurrentReports:
    """Makes reports in sessions of its own; whoever waits for one has no transaction open."""

    def __init__(self, database: Database, settings: ServiceSettings, watch: Watch | None) -> None:
        """Take what reports are made of; `watch` is asked what GPUs did, None where nobody is."""
        self._database, self._settings = database, settings
        self.watch = watch
        self._shared: Shared[WeeklyReport] = Shared()

    def read(self, scope: Scope, week: Week) -> WeeklyReport:
        """Return a week's report. Raises as `read_weekly` does."""
        whose = scope.name, tuple(scope.project_ids), scope.sees_all
        return self._shared.of((whose, week), lambda: self._make(scope, week))

    def _make(self, scope: Scope, week: Week) -> WeeklyReport:
        told = look(self._database, scope, week, self.watch)
        with self._database.session() as session:
            return read_weekly(session, scope, week, self._settings, told)


class Shared(Generic[Value]):
    """Work that several threads want done at once, by its key."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._moments = count(1)
        self._works: dict[Hashable, _Work[Value]] = {}

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return what `make` does, or what somebody else's did that was begun after this was called."""
        with self._lock:
            asked = next(self._moments)
            work = self._works.setdefault(key, _Work())
            work.n_wanted += 1
        try:
            with work.lock:
                if work.done is None or work.done[0] < asked:
                    begun = next(self._moments)
                    work.done = begun, make()
                return work.done[1]
        finally:
            with self._lock:
                work.n_wanted -= 1
                if not work.n_wanted:
                    del self._works[key]


class _Work(Generic[Value]):
    """One piece of work: when the last that was done began, and what came of it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.n_wanted = 0
        self.done: tuple[int, Value] | None = None
