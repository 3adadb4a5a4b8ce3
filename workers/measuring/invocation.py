"""One invocation: what a fresh process of an arm is started with, and what came of it.

The two kinds of suite share these: benchmark files under the harness (`benchmarks`), and commands (`commands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from workers.measuring.plan import CaseRequest
from workers.programs.runner import Ended
from workers.programs.sandbox.bubblewrap import Confinement
from workers.protocol import CaseId, CaseMeasurement, CaseStatus


@dataclass(frozen=True)
class Start:
    """What a process is started with. `home` is its own folder; `locks` are the devices', to be inherited."""

    env: dict[str, str]
    home: Path
    checkout: Path
    python: Path
    timeout_s: float
    locks: tuple[int, ...]
    simulate: dict[str, Any] | None = None
    confinement: Confinement | None = None
    """What it may see of this machine; None where its code is trusted."""


@dataclass(frozen=True)
class Taken:
    """What an invocation gave: how its process ended, and a measurement of each case asked for."""

    ended: Ended
    cases: list[CaseMeasurement] = field(default_factory=list)
    duration_ns: int = 0
    """Of all its processes together."""
    startup_s: float | None = None
    mem_peak_rss_b: int | None = None
    timer_resolution_s: float = 1e-6
    harness_version: str = ""


class Suite(Protocol):
    """A kind of suite, ready to run."""

    def invoke(self, start: Start, cases: Sequence[CaseRequest]) -> Taken:
        """Measure these cases in a fresh process."""


def unmeasured(
    case: CaseId | CaseRequest, status: CaseStatus, reason: str, log_tail: str = ""
) -> CaseMeasurement:
    """Return what is said of a case that gave no values."""
    return CaseMeasurement(
        benchmark=case.benchmark, params=dict(case.params), status=status, reason=reason, log_tail=log_tail
    )


def key_of(case: CaseRequest) -> str:
    """Return the key of the case that a request is about."""
    return CaseId(benchmark=case.benchmark, params=case.params).key
