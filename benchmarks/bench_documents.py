"""Documents at the doors: posted results, settings, an invocation."""

import json
import random
from datetime import UTC, datetime

from app.formats.results_payload import read_payload
from app.settings import read_settings
from workers.protocol import Invocation

NOW = datetime(2026, 1, 1, tzinfo=UTC)


VALUES = 10
"""Repeated measurements of each posted result."""


def posted_document(n_results, *, commit, seed):
    """Return a document of results from elsewhere: latencies of about 10 ms [ms], `VALUES` of each case.

    `benchmarks.ingest` posts the same to a service. It is here because a benchmark file travels alone between commits.
    """
    draw = random.Random(seed)
    results = [
        {
            "benchmark": f"benchmark_{i}",
            "params": {"batch": i % 8},
            "metric": "latency_p50",
            "unit": "ms",
            "better": "lower",
            "values": [draw.gauss(10, 0.1) for _ in range(VALUES)],
        }
        for i in range(n_results)
    ]
    return {"project": "bench/documents", "commit": commit, "device_class": "cpu-bench", "results": results}


class BenchResults:
    params = {"results": [10, 1000]}

    def setup(self, ctx):
        return json.dumps(posted_document(ctx.params["results"], commit="a" * 40, seed=1)).encode()

    def run(self, ctx):
        return read_payload(ctx.state, now=NOW)


class BenchSettings:
    def setup(self, ctx):
        suites = "".join(f'[[suite]]\nname = "s{i}"\ncommand = "true"\n' for i in range(20))
        return f'[project]\nname = "p"\n{suites}'

    def run(self, ctx):
        return read_settings(ctx.state)


class BenchInvocation:
    params = {"cases": [5, 100]}

    def setup(self, ctx):
        case = {"benchmark": "b", "status": "ok", "batches": {"host_ns": list(range(10_000, 10_300))}}
        return json.dumps(
            {
                "arm": "base", "block": 0, "pair_index": 0, "position": 0, "attempt": 1, "seed": 1, "env_pad": 0,
                "started_at": "2026-01-01T00:00:00Z", "t_start_ns": 1, "duration_ns": 1, "exit_code": 0,
                "status": "ok", "device_s": 1.0,
                "cases": [case | {"params": {"i": i}} for i in range(ctx.params["cases"])],
            }
        )  # fmt: skip

    def run(self, ctx):
        return Invocation.model_validate_json(ctx.state)
