"""How often the control workload runs: often enough to see a machine move, seldom enough to cost little.

A short probe takes about a second, the full kit some ten; a block of quick benchmarks takes no longer. So a probe is
due when at least twenty times its own duration has passed since the last one, and the full kit when it would be a
twentieth of the job's device time at most and the last one is a quarter of an hour old. A soft gate asks for a probe
at any time.
"""

from __future__ import annotations

import time
from pathlib import Path

SHARE = 20
FULL_EVERY_S = 900.0
FULL_TAKES_S = 10.0


class Pace:
    """Decides for one run; `folder` remembers the last full kit of this agent."""

    def __init__(self, folder: Path, budget_s: float) -> None:
        self._mark = folder / "last-full"
        self._budget_s = budget_s
        self._next_probe_s = 0.0

    def wants_full(self, marker: str) -> bool:
        """Tell whether the full kit is due; `marker` names what it is about, such as the machine's hash."""
        if self._budget_s < SHARE * FULL_TAKES_S:
            return False
        try:
            is_recent = time.time() - self._mark.stat().st_mtime < FULL_EVERY_S
            return not (is_recent and self._mark.read_text() == marker)
        except OSError:
            return True

    def note_full(self, marker: str) -> None:
        """Remember that the full kit was run just now."""
        self._mark.parent.mkdir(parents=True, exist_ok=True)
        self._mark.write_text(marker)

    def wants_probe(self, now_s: float) -> bool:
        """Tell whether a short probe is due at a moment of the run's clock [s]."""
        return now_s >= self._next_probe_s

    def note_probe(self, now_s: float, took_s: float) -> None:
        """Remember a probe that has just ended and how long it took [s]."""
        self._next_probe_s = now_s + SHARE * took_s
