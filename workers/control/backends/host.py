"""What every backend shares: the host's clock, the probe of the host, and sizes that follow from a device's memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat

from workers.control.backends.interface import Work
from workers.control.pacing import Run
from workers.control.probes import TIMES

MIB = 1024**2
GIB = 1024**3
COPY_B = 64 * MIB
"""What `h2d` and `d2h` move at once."""
LOOPS = 20_000
"""Rounds of one iteration of `host_loop`."""


def on_host_clock(step: Callable[[], object], wait: Callable[[], object] = lambda: None) -> Run:
    """Return what runs `step` k times, then waits for the device, and says how long that took."""

    def run(k: int) -> float:
        start = time.perf_counter_ns()
        for _ in repeat(None, k):
            step()
        wait()
        return (time.perf_counter_ns() - start) / 1e9

    return run


@contextmanager
def host_loop() -> Iterator[Work]:
    """Give the host's own probe: a loop of the interpreter on whole numbers, nothing else."""
    yield Work("host_loop", on_host_clock(_loop), 1, TIMES)


def _loop() -> int:
    state = 0
    for i in range(LOOPS):
        state = (state * 5 + i) & 1023
    return state


def stream_b(memory_b: int) -> int:
    """Return how long each of the three arrays of a device's triad is [B].

    Far beyond its cache and a small part of its memory. The bounds lie between the sizes that are sold, as what a
    driver keeps for itself differs from version to version.
    """
    if memory_b >= 28 * GIB:
        return 256 * MIB
    return 128 * MIB if memory_b >= 7 * GIB else 64 * MIB
