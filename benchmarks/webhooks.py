"""GitHub's messages at the door: how long each waits for its answer at fifty a second, with tasks at work on them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median, quantiles

import httpx

from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running
from tests.factories.webhooks import connected_env, signed

A_SECOND, SECONDS = 50, 20
BODY_B = 25_000
"""About as much as GitHub tells of a pull request."""


def figures() -> Iterator[Figure]:
    """Yield median and 99th percentile of a message's answer."""
    with data_folder() as folder:
        env = connected_env(folder, "http://127.0.0.1:9")
        with running(folder / "data", "--worker", "none", env=env) as (url, _, _pid):
            waits = _waits_s(url)
    yield Figure(f"webhook answered at {A_SECOND}/s, median", median(waits), 1, "s")
    yield Figure(f"webhook answered at {A_SECOND}/s, p99", quantiles(waits, n=100)[98], 1, "s")


def _waits_s(url: str) -> list[float]:
    """Send messages at their times, whatever became of those before; return how long each took [s]."""
    begun = time.perf_counter() + 1.0
    limits = httpx.Limits(max_connections=64)
    with httpx.Client(base_url=url, limits=limits) as client, ThreadPoolExecutor(64) as pool:
        return list(pool.map(lambda n: _send(client, n, begun + n / A_SECOND), range(A_SECOND * SECONDS)))


def _send(client: httpx.Client, number: int, when: float) -> float:
    body = json.dumps(
        {
            "action": "assigned",
            "repository": {"id": 1, "full_name": "bench/webhooks"},
            "pull_request": {"number": number, "body": "x" * BODY_B},
        }
    ).encode()
    headers = signed("pull_request", body, f"bench-{number}")
    time.sleep(max(0.0, when - time.perf_counter()))
    answer = client.post("/webhooks/github", content=body, headers=headers)
    answer.raise_for_status()
    return time.perf_counter() - when
