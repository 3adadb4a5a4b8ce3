"""`ratchet import` of five years of asv: 1 400 files of 50 benchmarks, into a service whose tasks run beside it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.asv_tree import make_tree
from benchmarks.figure import Figure
from benchmarks.stack import RATCHET, data_folder, running

FILES, BENCHMARKS = 1_400, 50


def figures() -> Iterator[Figure]:
    """Yield the time of the import, of the same again, and how many numbers did not come in (none may)."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        n_numbers = make_tree(folder / "results", files=FILES, benchmarks=BENCHMARKS)
        first, stored = _import(folder / "results", url, token)
        again, known = _import(folder / "results", url, token)
    yield Figure(f"import of {FILES} asv files, {n_numbers} numbers", first, 60, "s")
    yield Figure("the same import again", again, 60, "s")
    yield Figure("numbers that did not come in, or came twice", _wrong(n_numbers, stored, known), 0, "")


def _wrong(n_numbers: int, first: dict[str, Any], again: dict[str, Any]) -> int:
    return abs(n_numbers - first["stored"]) + abs(n_numbers - again["known"]) + again["stored"]


def _import(results: Path, url: str, token: str) -> tuple[float, dict[str, Any]]:
    """Return how long the command takes [s], and what it says came of it."""
    command = [*RATCHET, "import", str(results), "--project", "bench/asv", "--json"]
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        env=os.environ | {"RATCHET_URL": url, "RATCHET_TOKEN": token},
        stdout=subprocess.PIPE,
        check=True,
    )
    return time.perf_counter() - begun, json.loads(done.stdout)
