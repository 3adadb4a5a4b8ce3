"""How long the judge takes for the 200 cases that a block of a large check leaves open: best of several.

As the service does it: the looks at earlier blocks are known, every case has a history of its own, and all are examined
before the first is judged.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace

from app.analysis.discoveries import count_discoveries
from app.analysis.judge import MetricPlan, Pair, examine
from app.analysis.sequential import ALPHA, PAIRS_PER_BLOCK
from benchmarks.figure import Figure

CASES = 200
REPEATS = 9
LIMIT_MS = 50
PLAN = MetricPlan("latency_p50", "s", "lower", past_freedom=2.0)

Case = tuple[MetricPlan, list[Pair]]


def cases_of(n: int, effect: float, sd: float, plan: MetricPlan) -> list[Case]:
    """Return all cases with `n` pairs each, log-normal around 10 ms."""
    return [(_plan_of(case, sd, plan), _pairs_of(case, n, effect, sd)) for case in range(CASES)]


def _plan_of(case: int, sd: float, plan: MetricPlan) -> MetricPlan:
    past_sd = sd * random.Random(-case - 1).uniform(0.8, 1.2)
    return replace(plan, past_sd=past_sd, g=min(max((plan.tau / past_sd) ** 2, 1.0), 25.0))


def _pairs_of(case: int, n: int, effect: float, sd: float) -> list[Pair]:
    draw = random.Random(case)
    heads = [0.01 * 2.718281828 ** draw.gauss(effect, sd) for _ in range(n)]
    return [Pair(index, index // PAIRS_PER_BLOCK, 0.01, head) for index, head in enumerate(heads)]


def milliseconds(cases: list[Case], known: int) -> float:
    """Return the time to judge every case once whose newest look is at `known` pairs, the best of `REPEATS`."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        examined = [examine(plan, pairs, m=CASES, known=known) for plan, pairs in cases]
        found = count_discoveries([one.log_e for one in examined], alpha=ALPHA, m=CASES)
        for one in examined:
            one.judge(found=found)
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


def figures() -> Iterator[Figure]:
    """Yield one figure a situation."""
    situations = {
        "8 pairs, no change, sd 1 %": (8, 0.0, 0.01, PLAN),
        "16 pairs, 2 % slower, sd 1 %": (16, 0.02, 0.01, PLAN),
        "96 pairs, all still open, sd 20 %": (96, 0.02, 0.20, PLAN),
        "96 pairs, all open, with a budget": (96, 0.02, 0.20, replace(PLAN, budget_max=0.02)),
    }
    for name, (n, effect, sd, plan) in situations.items():
        cases = cases_of(n, effect, sd, plan)
        taken = milliseconds(cases, known=n - PAIRS_PER_BLOCK)
        yield Figure(f"judge {CASES} cases, {name}", taken, LIMIT_MS, "ms")
