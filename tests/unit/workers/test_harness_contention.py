"""What the harness makes of a shared processor: the time of other programs is told and taken out, its own is not.

Each call works for a fixed amount of processor time, so that what it should take is known however busy the machine is.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.workers.harness_process import Record, case, run_harness
from workers.protocol import CaseMeasurement

WORK_S = 0.008
WORK = f"""
import time
def run(ctx):
    until = time.thread_time() + {WORK_S}
    while time.thread_time() < until: pass
"""
NEIGHBOUR = "import os; os.sched_setaffinity(0, {%d})\nwhile True: pass"

WITH_A_CHILD = f"""{WORK}
import subprocess, sys
def setup(ctx):
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])
def teardown(ctx):
    ctx.state.kill()
    ctx.state.wait()
"""
WITH_AN_ORPHAN = f"""{WORK}
import os, signal, subprocess, sys
SPAWN = (
    "import subprocess, sys; "
    "print(subprocess.Popen([sys.executable, '-c', 'while True: pass'], stdout=subprocess.DEVNULL).pid)"
)
def setup(ctx):
    return int(subprocess.check_output([sys.executable, "-c", SPAWN]))
def teardown(ctx):
    os.kill(ctx.state, signal.SIGKILL)
"""
WITH_A_THREAD = f"""{WORK}
import hashlib, threading
def setup(ctx):
    ctx.end = threading.Event()
    def busy():
        while not ctx.end.is_set(): hashlib.sha256(bytes(10_000_000))
    thread = threading.Thread(target=busy)
    thread.start()
    return thread
def teardown(ctx):
    ctx.end.set()
    ctx.state.join()
"""

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="this kernel does not tell of a process's children",
)


@pytest.fixture
def cpu() -> int:
    return min(os.sched_getaffinity(0))


@pytest.fixture
def neighbour(cpu: int) -> Iterator[None]:
    """Another program that wants the same processor all the time."""
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR % cpu])
    yield
    process.kill()
    process.wait()


def measured(tmp_path: Path, text: str, cpu: int) -> Record:
    wanted = case("x", k=1, n_warmup=5, n_batches=30, t_case_s=2.0)
    return run_harness(tmp_path, {"bench_x.py": text}, [wanted], cpu=cpu).only_case


def latency(record: Record) -> Record:
    return next(value for value in record["values"] if value["metric"] == "latency_p50")


def waited_share(record: Record) -> float:
    return sum(record["batches"]["wait_ns"]) / sum(record["batches"]["host_ns"])


@pytest.mark.usefixtures("neighbour")
def test_what_a_neighbour_took_is_told_and_taken_out(tmp_path: Path, cpu: int) -> None:
    record = measured(tmp_path, WORK, cpu)
    assert "processor_shared" in record["flags"]
    assert waited_share(record) > 0.2
    assert latency(record)["value"] > 1.25 * WORK_S
    assert latency(record)["net"] == pytest.approx(WORK_S, rel=0.25)
    batches = CaseMeasurement.model_validate(record).batches
    assert latency(record)["net"] == pytest.approx(statistics.median(batches.net_ns) / 1e9)


@pytest.mark.parametrize(
    "text", [WITH_A_CHILD, WITH_AN_ORPHAN, WITH_A_THREAD], ids=["child", "orphan", "thread"]
)
def test_what_the_program_itself_took_stays_in(tmp_path: Path, cpu: int, text: str) -> None:
    record = measured(tmp_path, text, cpu)
    assert "processor_contended" in record["flags"]
    assert record["batches"]["wait_ns"] == []
    assert latency(record)["net"] is None
    assert latency(record)["value"] > 1.25 * WORK_S
