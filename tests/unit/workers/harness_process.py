"""Runs the real harness in a process of its own on benchmark files written for one test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HARNESS = Path(__file__).resolve().parents[3] / "workers" / "harness.py"
Record = dict[str, Any]

ALONE = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, as an agent's keeper
os.sched_setaffinity(0, {int(sys.argv[1])})
sys.exit(subprocess.run(sys.argv[2:]).returncode)
"""


@dataclass(frozen=True)
class Answer:
    """What one run of the harness left behind."""

    status: int
    stdout: str
    stderr: str
    lines: list[Record]

    def of_type(self, kind: str) -> list[Record]:
        return [line for line in self.lines if line["type"] == kind]

    @property
    def cases(self) -> list[Record]:
        return self.of_type("case")

    @property
    def only_case(self) -> Record:
        (case,) = self.cases
        return case

    @property
    def failures(self) -> list[Record]:
        return self.of_type("failure")


def case(benchmark: str, params: Record | None = None, **changes: Any) -> Record:
    """Return a case of a request: short, and found out as in a first block unless `changes` say otherwise."""
    timing = {"seed": 1, "k": None, "n_warmup": None, "n_batches": 10, "t_case_s": 0.1}
    return {"benchmark": benchmark, "params": params or {}, **timing, **changes}


def write_files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def run_harness(
    root: Path,
    files: dict[str, str],
    cases: list[Record] | None = None,
    *,
    simulate: Record | None = None,
    devices: list[str] | None = None,
    python: str = sys.executable,
    timeout_s: float = 60,
    cpu: int | None = None,
) -> Answer:
    """List the files' cases, or measure those given; raises `TimeoutExpired` as `subprocess.run` does.

    With `cpu` the harness runs on this processor alone and, as under an agent, is the only child of who started it.
    """
    write_files(root, files)
    result = root / "result of this test.jsonl"
    result.unlink(missing_ok=True)
    request = {
        "mode": "list" if cases is None else "measure",
        "root": str(root),
        "files": [name for name in files if Path(name).name.startswith("bench_")],
        "device": "cpu",
        "devices": devices or ["cpu"],
        "cases": cases or [],
        "result": str(result),
        "simulate": simulate,
        "spawned_ns": time.time_ns(),
    }
    done = subprocess.run(
        [python, str(HARNESS)] if cpu is None else [python, "-c", ALONE, str(cpu), python, str(HARNESS)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        cwd=root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    return Answer(done.returncode, done.stdout, done.stderr, read_lines(result))


def read_lines(result: Path) -> list[Record]:
    return [json.loads(line) for line in result.read_text().splitlines()]
