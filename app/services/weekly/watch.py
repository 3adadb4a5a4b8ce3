"""What GPUs did in a week, as Prometheus told: asked by one at a time, for a few seconds, and remembered by week.

Whoever reads a report asks for it, so that Prometheus must not be asked as often as that: a week is asked about again
after `FRESH_S`, or after `AGAIN_S` where not all was told. Nothing of it is asked with a transaction open.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from app.domain.device_use import Told
from app.domain.week import Week
from app.services.ask_activity import KIND, GpuName, gpu_name
from app.services.weekly.scope import Scope
from app.store.repositories import weekly_fleet
from app.store.session import Database

if TYPE_CHECKING:
    from app.integrations.dcgm import Prometheus

WITHIN_S = 5.0
"""How long Prometheus may take to tell of a week; a page waits for it [s]."""

FRESH_S, AGAIN_S = 600.0, 60.0
"""How long an answer is remembered, and one that is not all [s]."""

WEEKS = 4
"""Weeks that are remembered; of a hundred GPUs each is some megabytes."""


@dataclass(frozen=True)
class _Known:
    """What is remembered of a week: of which devices, since when it has been asked about, until when that is fresh.

    `done` are the devices that were told since then; of others what was told before stays.
    """

    gpus: tuple[GpuName, ...]
    begun: float
    until: float
    told: Told
    done: frozenset[str] = frozenset()


class Watch:
    """Asks a Prometheus, whose time limit is what a question may take."""

    def __init__(self, prometheus: Prometheus) -> None:
        """Take the server: one of its own, as a long question that it did not answer says little of short ones."""
        self._prometheus = prometheus
        self._asking = Lock()
        self._known: dict[Week, _Known] = {}

    def of(self, week: Week, gpus: Sequence[GpuName]) -> Told:
        """Return what was told of these in the week so far; why nothing was is in it."""
        if not self._asking.acquire(timeout=WITHIN_S):
            return Told(reason="Prometheus is asked about other weeks just now", is_unanswered=True)
        try:
            known = self._known.get(week)
            if known is None or known.gpus != tuple(gpus):
                known = _Known(tuple(gpus), 0.0, 0.0, Told())
            if known.until < time.monotonic():
                known = self._ask(week, known)
                self._remember(week, known)
            return known.told
        finally:
            self._asking.release()

    def _ask(self, week: Week, known: _Known) -> _Known:
        """Ask about the week: about what was not told lately, where that was not all. What was told is not lost."""
        now, before = time.monotonic(), known.told
        goes_on = before.is_unanswered and now < known.begun + FRESH_S
        done = known.done if goes_on else frozenset()
        told = self._look(week, [its for its in known.gpus if its.uuid not in done])
        seen = {**before.seen, **told.seen} if goes_on or told.is_unanswered else told.seen
        return _Known(
            known.gpus,
            begun=known.begun if goes_on else now,
            until=time.monotonic() + (AGAIN_S if told.is_unanswered else FRESH_S),
            told=replace(told, seen=seen, reason=told.reason if told.is_unanswered or not seen else None),
            done=done | told.seen.keys(),
        )

    def _look(self, week: Week, gpus: Sequence[GpuName]) -> Told:
        # Takes a tenth of a second, which only those pay that ask.
        from app.integrations.dcgm import Gpu, seen_in_steps

        named = [Gpu.named(its.uuid, parent=its.gpu_uuid, instance=its.gpu_instance) for its in gpus]
        end = min(week.end, datetime.now(UTC))
        return seen_in_steps(self._prometheus, named, week.start.timestamp(), end.timestamp())

    def _remember(self, week: Week, known: _Known) -> None:
        self._known.pop(week, None)
        self._known[week] = known
        while len(self._known) > WEEKS:
            del self._known[next(iter(self._known))]


def look(database: Database, scope: Scope, week: Week, watch: Watch | None) -> Told | None:
    """Return what the GPUs did that were there in the week; None where nobody is asked.

    Only a report of the whole installation tells of devices. The caller has no transaction open.
    """
    if watch is None or not scope.is_installation:
        return None
    with database.session() as session:
        gpus = [gpu_name(device) for device in weekly_fleet.there(session, KIND, week.start, week.end)]
    return watch.of(week, gpus) if gpus else None
