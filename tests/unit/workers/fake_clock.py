"""Time that tests turn by hand."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass
class FakeClock:
    """A clock that moves when told, or when somebody waits on it."""

    time_s: float = 1000.0
    waits: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.time_s

    def wait(self, event: threading.Event, timeout_s: float) -> bool:
        if not event.is_set():
            self.waits.append(timeout_s)
            self.time_s += timeout_s
        return event.is_set()
