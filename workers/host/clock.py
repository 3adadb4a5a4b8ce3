"""Time as the agent lives by it, so that tests can turn it by hand.

It never jumps and, where the kernel can tell, goes on while the machine sleeps: a lease expires during sleep, too.
Measured times do not come from here.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Seconds since an arbitrary moment, and a way to wait."""

    def now(self) -> float:
        """Return the seconds since an arbitrary moment."""

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait until `event` is set, for `timeout_s` at most; return whether it is."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return the seconds since boot, sleep included where the kernel counts it."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        """Wait until `event` is set, for `timeout_s` at most; return whether it is."""
        return event.wait(timeout_s)
