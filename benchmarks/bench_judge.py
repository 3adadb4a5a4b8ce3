"""The judge after a block: every open case of a check, all their pairs so far."""

import random

from app.analysis.judge import MetricPlan, Pair, judge_case

params = {"cases": [10, 200]}


def setup(ctx):
    draw = random.Random(ctx.seed)
    heads = [[0.01 * (1 + draw.gauss(0, 0.02)) for _ in range(16)] for _ in range(ctx.params["cases"])]
    return [[Pair(i, i // 2, 0.01, head) for i, head in enumerate(case)] for case in heads]


def run(ctx):
    plan = MetricPlan("latency_p50", "s", "lower")
    return [judge_case(plan, pairs, m=len(ctx.state)) for pairs in ctx.state]


def units(ctx):
    return {"samples": ctx.params["cases"]}
