"""Posting results from elsewhere: one document of 1 000 results with 10 values each, over HTTP."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from statistics import median

import httpx

from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running

RESULTS, VALUES, POSTS = 1_000, 10, 5


def figures() -> Iterator[Figure]:
    """Yield the time of the first post, which makes its series, and the median of later ones."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            first, *later = [_seconds(client, number) for number in range(1 + POSTS)]
    yield Figure(f"POST /results, {RESULTS} × {VALUES}, all series new", first, 1, "s")
    yield Figure(f"POST /results, {RESULTS} × {VALUES}, series known", median(later), 1, "s")


def _seconds(client: httpx.Client, number: int) -> float:
    draw = random.Random(number)
    results = [
        {
            "benchmark": f"benchmark_{i}",
            "params": {"batch": i % 8},
            "metric": "latency_p50",
            "unit": "ms",
            "better": "lower",
            "values": [draw.gauss(10, 0.1) for _ in range(VALUES)],
        }
        for i in range(RESULTS)
    ]
    body = {
        "project": "bench/ingest",
        "commit": f"{number:040x}",
        "device_class": "cpu-bench",
        "results": results,
    }
    begun = time.perf_counter()
    client.post("/api/v1/results", json=body).raise_for_status()
    return time.perf_counter() - begun
