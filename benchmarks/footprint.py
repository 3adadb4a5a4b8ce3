"""What service and agent take from the machine while a benchmark runs: their share of one core."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import httpx

from benchmarks.figure import Figure
from benchmarks.stack import RATCHET, command_of, cpu_s, data_folder, descendants, make_repository, running

WINDOW_S, FIRST_PAIRS = 30.0, 5
SETTINGS = """
[project]
name = "bench/footprint"

[[suite]]
name = "s"
benchmarks = "bench_*.py"

[gate]
device_minutes = 5
"""
BENCHMARK = """
import random, time

def run(ctx):
    time.sleep(random.SystemRandom().uniform(0.3, 1.5))
"""
"""Each invocation takes its two seconds, as in a check of the default length; the case is too noisy to settle."""


def figures() -> Iterator[Figure]:
    """Yield the share over a window in the middle of a check."""
    with data_folder() as folder:
        repository = make_repository(
            folder / "repository",
            {"ratchet.toml": SETTINGS, "bench_sleep.py": BENCHMARK},
            {"bench_sleep.py": BENCHMARK + "\n"},
        )
        with running(folder / "data") as (url, token, pid):
            command = [*RATCHET, "check", "--repo", str(repository), "--base", "HEAD~1", "--head", "HEAD"]
            env = {"RATCHET_URL": url, "RATCHET_TOKEN": token, "PATH": "/usr/bin:/bin"}
            check = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _wait_for_first_look(url, check)
            share = _share(pid)
            check.terminate()
            check.wait()
    yield Figure("agent and service while a benchmark runs, of one core", 100 * share, 2, "%")


def _share(pid: int) -> float:
    """Return the processor time of everything under `pid` but the measured processes, over the window."""
    before = cpu_s(_ours(pid))
    time.sleep(WINDOW_S)
    after = cpu_s(_ours(pid))
    return sum(after[p] - before.get(p, 0.0) for p in after) / WINDOW_S


def _ours(pid: int) -> list[int]:
    return [p for p in descendants(pid) if "harness.py" not in command_of(p)]


def _wait_for_first_look(url: str, check: subprocess.Popen[bytes]) -> None:
    """Wait until the service has judged once: what it loads for that is no part of what measuring takes.

    Raises RuntimeError where the check ends before.
    """
    pairs = 0
    while pairs < FIRST_PAIRS:
        time.sleep(0.2)
        if check.poll() is not None:
            raise RuntimeError(
                f"the check ended with {check.returncode} after {pairs} of {FIRST_PAIRS} pairs"
            )
        checks = httpx.get(f"{url}/api/v1/checks").json()["checks"]
        if checks:
            progress = httpx.get(f"{url}/api/v1/checks/{checks[0]['check']}/progress").json()
            pairs = progress["jobs"][0]["pairs"]
