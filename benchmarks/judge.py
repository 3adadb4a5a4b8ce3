"""How long the judge takes for the 200 cases that a block of a large check leaves open: best of several."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

from app.analysis.judge import MetricPlan, Pair, judge_case
from benchmarks.figure import Figure

CASES = 200
REPEATS = 9
LIMIT_MS = 50
PLAN = MetricPlan("latency_p50", "s", "lower")


def pairs_of(case: int, n: int, effect: float, sd: float) -> list[Pair]:
    """Return `n` pairs of one case, log-normal around 10 ms."""
    draw = random.Random(case)
    heads = [0.01 * 2.718281828 ** draw.gauss(effect, sd) for _ in range(n)]
    return [Pair(index, index // 2, 0.01, head) for index, head in enumerate(heads)]


def milliseconds(checks: list[list[Pair]]) -> float:
    """Return the time to judge every case once, the best of `REPEATS`."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for pairs in checks:
            judge_case(PLAN, pairs, m=CASES)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def figures() -> Iterator[Figure]:
    """Yield one figure a situation."""
    situations = {
        "8 pairs, no change, sd 1 %": (8, 0.0, 0.01),
        "16 pairs, 2 % slower, sd 1 %": (16, 0.02, 0.01),
        "96 pairs, all still open, sd 20 %": (96, 0.02, 0.20),
    }
    for name, (n, effect, sd) in situations.items():
        checks = [pairs_of(case, n, effect, sd) for case in range(CASES)]
        yield Figure(f"judge {CASES} cases, {name}", milliseconds(checks), LIMIT_MS, "ms")
