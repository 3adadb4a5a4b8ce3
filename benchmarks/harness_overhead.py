"""How far the harness is from a hand-written timing loop of the same code.

A round times the same function in the same process by both, one right after the other and in an order that
alternates, with the same warm-up, calls and batches; so what else runs on the machine meets both alike. Where
code and data happen to lie makes either of them faster for the whole life of a process, so rounds are made in
several processes, and the median over these is what counts.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from math import pi, sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import median

from benchmarks.figure import Figure
from workers import harness

WORKLOADS = {"1 ms": 250_000, "5 us": 1200}
"""Ones to add that take about that long. No memory is touched: its layout would be measured, too."""
SOURCE = """
from itertools import repeat

def run(ctx):
    return sum(repeat(1, {length}))
"""
PROCESSES, ROUNDS = 10, 10
WARM_UP, BATCHES = 10, 30
LIMIT = 0.005

Timer = Callable[[], float]
"""Returns a call's median time [s]."""


def time_by_hand(run, k: int) -> float:
    """Time a function as anyone would."""
    times = []
    for _ in range(WARM_UP + BATCHES):
        start = time.perf_counter()
        for _ in range(k):
            run(None)
        times.append((time.perf_counter() - start) / k)
    return median(times[WARM_UP:])


def by_harness(benchmark: harness.Benchmark, session: harness.Session, k: int | None) -> Callable[[], dict]:
    """Return what measures the whole case: with k None as in a first block, else as in those after it."""
    spec = {
        "benchmark": benchmark.name,
        "params": {},
        "seed": 0,
        "k": k,
        "n_batches": BATCHES,
        "t_case_s": 0.5,
    }
    spec["n_warmup"] = None if k is None else 1 + WARM_UP * k
    return lambda: harness.measure_case(benchmark, {}, spec, session)


def latency_s(record: dict) -> float:
    """Return the harness's estimate, from a record that must be good."""
    assert record["status"] == "ok", record
    return next(value["value"] for value in record["values"] if value["metric"] == "latency_p50")


def ratio_of_medians(first: Timer, second: Timer) -> float:
    """Return the median of first/second over rounds of alternating order."""
    ratios = []
    for index in range(ROUNDS):
        if index % 2:
            below, above = second(), first()
        else:
            above, below = first(), second()
        ratios.append(above / below)
    return median(ratios)


def compare(length: int) -> float:
    """Return the ratio harness/hand of one workload in this process."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bench_power.py").write_text(SOURCE.format(length=length))
        (benchmark,) = next(harness.load_files(folder, ["bench_power.py"])).benchmarks
        session = harness.Session({"root": folder, "device": "cpu", "simulate": None, "spawned_ns": 0})
        k = by_harness(benchmark, session, None)()["k"]
        measure = by_harness(benchmark, session, k)
        return ratio_of_medians(lambda: latency_s(measure()), lambda: time_by_hand(benchmark.owner.run, k))


def compare_all(_process: int) -> list[float]:
    """Return the ratio of each workload."""
    return [compare(length) for length in WORKLOADS.values()]


def describe(label: str, ratios: list[float]) -> str:
    """Return the median over processes and its standard error as text."""
    center = median(ratios)
    spread = 1.4826 * median([abs(ratio - center) for ratio in ratios])
    return f"{label} {center:.4f} ± {sqrt(pi / 2) * spread / sqrt(len(ratios)):.4f}"


def figures() -> Iterator[Figure]:
    """Yield how far the harness's median is from the hand-written loop's, for each workload."""
    with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        by_process = pool.map(compare_all, range(PROCESSES), chunksize=1)
    for label, ratios in zip(WORKLOADS, zip(*by_process, strict=True), strict=True):
        name = f"harness / hand-written loop: {describe(label, list(ratios))}"
        yield Figure(name, 100 * abs(median(ratios) - 1), 100 * LIMIT, "%")
