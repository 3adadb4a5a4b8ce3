"""Holding a lease: heartbeats beside the work, and the end of the work when the lease ends.

The service may hand the devices on once the lease has expired, so an agent that cannot confirm its lease in time ends
its own work first (the self-fence). The time that counts is when a confirmed heartbeat was sent, not when its answer
came.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from enum import StrEnum
from functools import partial
from typing import Self

from workers.errors import LeaseEndedError, ServiceError, StaleLeaseError
from workers.host.clock import Clock
from workers.lease.client import ServiceClient
from workers.protocol import Heartbeat, Lease, Phase, Registered

log = logging.getLogger(__name__)

LONGEST_ANSWER_S = 10.0
SHORTEST_ANSWER_S = 0.5
RETRIES_PER_BEAT = 4
LAST_BEAT_S = 2.0
"""How long a beat on its way is waited for when the work is done; its answer changes nothing any more."""


class End(StrEnum):
    """Why a lease is over for this agent."""

    STALE = "stale_lease"
    FENCED = "self_fenced"
    CANCELLED = "cancelled"
    STOPPED = "agent_stopped"


LOST = frozenset({End.STALE, End.FENCED})
"""After these the lease may already be somebody else's: nothing more may be said under it."""


class Tenure:
    """One lease, from claim to finish; as a context manager it beats in a thread of its own.

    `over` is set at the lease's end and makes waiting requests give up. `on_end` runs then, in whatever thread
    notices, and must kill what is being measured.
    """

    def __init__(
        self, lease: Lease, times: Registered, client: ServiceClient, clock: Clock, claimed_at: float
    ) -> None:
        self.lease = lease
        self.over = threading.Event()
        self.on_end: Callable[[], None] = lambda: None
        self.device_s = 0.0
        """Device time spent so far [s]; kept by whoever measures, told with each heartbeat."""
        self._times = times
        self._client = client
        self._clock = clock
        self._confirmed_at = claimed_at
        self._is_silent = False
        self._phase = Phase.PREPARING
        self._detail = ""
        self._why: End | None = None
        self._why_guard = threading.Lock()
        self._beat_now = threading.Event()
        self._closed = False
        beat_on = partial(copy_context().run, self._beat_on)  # its lines are about the same run
        self._thread = threading.Thread(target=beat_on, name=f"heartbeat {lease.run_id}", daemon=True)

    @property
    def why(self) -> End | None:
        """Why the lease is over; None while it is not."""
        return self._why

    @property
    def is_lost(self) -> bool:
        """Whether the lease may be somebody else's by now."""
        return self._why in LOST

    def enter(self, phase: Phase, detail: str = "") -> None:
        """Begin a phase and tell the service at once, without waiting for the answer.

        Raises:
            LeaseEndedError: the lease is over.
        """
        self.check()
        self._phase, self._detail = phase, detail
        self._beat_now.set()

    def check(self) -> None:
        """Raise `LeaseEndedError` if the lease is over."""
        if self._why is not None:
            raise LeaseEndedError(self._why)

    def end(self, why: End) -> None:
        """End the work. The first reason stays, but for the loss of the lease, which outranks the others."""
        with self._why_guard:
            if self._why in LOST or (self._why is not None and why not in LOST):
                return
            self._why = why
        log.warning("run %d ends: %s", self.lease.run_id, why)
        self.over.set()
        self.on_end()

    def beat(self) -> float:
        """Send one heartbeat, draw the consequences, and return the time until the next [s]."""
        sent_at = self._clock.now()
        message = Heartbeat(phase=self._phase, detail=self._detail, device_s=self.device_s)
        try:
            answer = self._client.heartbeat(self.lease.lease_id, message, answer_s=self._answer_s())
        except StaleLeaseError:
            self.end(End.STALE)
        except ServiceError as error:
            if not self._is_silent:
                log.warning("run %d: heartbeat not confirmed, trying on: %s", self.lease.run_id, error)
            return self._after_silence()
        else:
            self._confirmed_at, self._is_silent = sent_at, False
            if answer.cancel:
                self.end(End.CANCELLED)
        return self._times.heartbeat_s

    def _after_silence(self) -> float:
        self._is_silent = True
        left_s = self._left_s()
        if left_s <= 0:
            self.end(End.FENCED)
        return min(self._times.heartbeat_s / RETRIES_PER_BEAT, max(left_s, 0.0))

    def _left_s(self) -> float:
        """Return the time until the self-fence [s]."""
        return self._confirmed_at + self._times.self_fence_s - self._clock.now()

    def _answer_s(self) -> float:
        return min(LONGEST_ANSWER_S, max(self._left_s(), SHORTEST_ANSWER_S))

    def _beat_on(self) -> None:
        while True:
            self._beat_now.clear()  # before the look, so that what is set after it ends the wait below
            if self._closed or self.is_lost:
                return
            try:
                pause_s = self.beat()
            except Exception:  # whatever it is, an unconfirmed lease must reach the fence
                log.exception("run %d: heartbeat failed", self.lease.run_id)
                pause_s = self._after_silence()
            self._clock.wait(self._beat_now, pause_s)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._beat_now.set()
        self._thread.join(LAST_BEAT_S)
