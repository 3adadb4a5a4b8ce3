"""A commit against itself, many times, on a machine that is busy with something else: how often is it `regressed`?

    python -m benchmarks.self_check [CHECKS] [--busy]

Each check has 5 cases and half a device minute, so 100 take about an hour. With `--busy` the other cores are kept
busy, by turns, while it measures. Prints a line a check, and the counts at the end.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from benchmarks.stack import RATCHET, data_folder, make_repository, running

SETTINGS = """
[project]
name = "bench/self"

[[suite]]
name = "s"
benchmarks = "bench_*.py"

[gate]
device_minutes = 0.5
"""
BENCHMARK = """
params = {"size": [1000, 3000, 10000, 30000, 100000]}

def setup(ctx):
    return list(range(ctx.params["size"]))

def run(ctx):
    return sum(x * x for x in ctx.state)
"""


def disturb(stop: multiprocessing.synchronize.Event) -> None:
    """Work and rest for random times, like a neighbour."""
    draw = random.Random(os.getpid())
    while not stop.is_set():
        until = time.monotonic() + draw.uniform(0.2, 3)
        while time.monotonic() < until:
            sum(range(10_000))
        time.sleep(draw.uniform(0.2, 3))


def main(checks: int, *, busy: bool) -> None:
    """Run the checks one after the other."""
    stop = multiprocessing.Event()
    neighbours = [multiprocessing.Process(target=disturb, args=(stop,), daemon=True) for _ in range(busy * 2)]
    for neighbour in neighbours:
        neighbour.start()
    conclusions: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    with data_folder() as folder:
        repository = make_repository(
            folder / "repository", {"ratchet.toml": SETTINGS, "bench_sum.py": BENCHMARK}
        )
        with running(folder / "data") as (url, token, _):
            for number in range(checks):
                document = _check(repository, url, token)
                cases = [c for suite in document["suites"] for c in suite["cases"] if c["gating"]]
                conclusions[document["conclusion"]] += 1
                verdicts.update(c["verdict"] for c in cases)
                print(number + 1, document["conclusion"], document["title"], flush=True)
    stop.set()
    print("conclusions:", dict(conclusions), "gating verdicts:", dict(verdicts))


def _check(repository: Path, url: str, token: str) -> dict[str, object]:
    command = [*RATCHET, "check", "--repo", str(repository), "--base", "HEAD", "--head", "HEAD", "--json"]
    env = os.environ | {"RATCHET_URL": url, "RATCHET_TOKEN": token}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    found: dict[str, object] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 100, busy="--busy" in sys.argv)
