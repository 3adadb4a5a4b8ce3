"""`ratchet import` of five years of asv: 1 400 files of 50 benchmarks, into a service whose tasks run beside it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.asv_tree import make_tree
from benchmarks.figure import Figure
from benchmarks.stack import RATCHET, data_folder, running

FILES, BENCHMARKS = 1_400, 50
MOST_MIB = 150
"""Of memory: as much as the command itself takes and some of the largest file, whatever the tree holds."""


def figures() -> Iterator[Figure]:
    """Yield time and memory of the import, the time of the same again, and how many numbers did not come in."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        n_numbers = make_tree(folder / "results", files=FILES, benchmarks=BENCHMARKS)
        first, peak_mib, stored = _import(folder, url, token)
        again, _, known = _import(folder, url, token)
    yield Figure(f"import of {FILES} asv files, {n_numbers} numbers", first, 60, "s")
    yield Figure("memory of the import", peak_mib, MOST_MIB, "MiB")
    yield Figure("the same import again", again, 60, "s")
    yield Figure("numbers that did not come in, or came twice", _wrong(n_numbers, stored, known), 0, "")


def _wrong(n_numbers: int, first: dict[str, Any], again: dict[str, Any]) -> int:
    return abs(n_numbers - first["stored"]) + abs(n_numbers - again["known"]) + again["stored"]


def _import(folder: Path, url: str, token: str) -> tuple[float, float, dict[str, Any]]:
    """Return how long the command takes [s], how much memory at most [MiB], and what it says came of it."""
    command = [*RATCHET, "import", str(folder / "results"), "--project", "bench/asv", "--json"]
    begun = time.perf_counter()
    with (folder / "told.json").open("w+b") as told:
        pid = os.posix_spawnp(
            command[0],
            command,
            os.environ | {"RATCHET_URL": url, "RATCHET_TOKEN": token},
            file_actions=[(os.POSIX_SPAWN_DUP2, told.fileno(), 1)],
        )
        _, status, used = os.wait4(pid, 0)
        if status:
            raise RuntimeError(f"the import ended with {os.waitstatus_to_exitcode(status)}")
        told.seek(0)
        return time.perf_counter() - begun, used.ru_maxrss / 1024, json.load(told)
