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
    gpus: tuple[GpuName, ...]
    until: float
    told: Told


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
            if known is None or known.gpus != tuple(gpus) or known.until < time.monotonic():
                known = self._remember(week, self._ask(week, tuple(gpus)))
            return known.told
        finally:
            self._asking.release()

    def _ask(self, week: Week, gpus: tuple[GpuName, ...]) -> _Known:
        # Takes a tenth of a second, which only those pay that ask.
        from app.integrations.dcgm import Gpu, seen_in_steps

        named = [Gpu.named(its.uuid, parent=its.gpu_uuid, instance=its.gpu_instance) for its in gpus]
        end = min(week.end, datetime.now(UTC))
        told = seen_in_steps(self._prometheus, named, week.start.timestamp(), end.timestamp())
        fresh_s = AGAIN_S if told.is_unanswered else FRESH_S
        return _Known(gpus, time.monotonic() + fresh_s, told)

    def _remember(self, week: Week, known: _Known) -> _Known:
        """Keep what was told last; what was told before is not lost to a server that is away now."""
        before = self._known.pop(week, None)
        if before and before.gpus == known.gpus and len(before.told.seen) > len(known.told.seen):
            known = replace(before, until=known.until)
        self._known[week] = known
        while len(self._known) > WEEKS:
            del self._known[next(iter(self._known))]
        return known


def look(database: Database, scope: Scope, week: Week, watch: Watch | None) -> Told | None:
    """Return what the GPUs did that were there in the week; None where nobody is asked.

    Only a report of the whole installation tells of devices. The caller has no transaction open.
    """
    if watch is None or not scope.is_installation:
        return None
    with database.session() as session:
        gpus = [gpu_name(device) for device in weekly_fleet.there(session, KIND, week.start, week.end)]
    return watch.of(week, gpus) if gpus else None
