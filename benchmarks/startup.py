"""How soon a person can begin: `ratchet --help`, and the second `ratchet up` on a data folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure
from benchmarks.stack import RATCHET, data_folder, running, seconds_to

REPEATS = 7
STARTS = 3


def figures() -> Iterator[Figure]:
    """Yield the median start-up times."""
    yield Figure("ratchet --help", median(seconds_to([*RATCHET, "--help"]) for _ in range(REPEATS)), 0.3, "s")
    with data_folder() as folder:
        first, *later = [_seconds_until_ready(folder / "data") for _ in range(1 + STARTS)]
        yield Figure("ratchet up, first time, until ready", first, 10, "s")
        yield Figure("ratchet up, second time, until ready", median(later), 5, "s")


def _seconds_until_ready(data: Path) -> float:
    begun = time.perf_counter()
    with running(data):
        return time.perf_counter() - begun
