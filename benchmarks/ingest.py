"""Posting results from elsewhere: one document of 1 000 results with 10 values each, over HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import httpx

from benchmarks.bench_documents import VALUES, posted_document
from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running

RESULTS, POSTS = 1_000, 5


def figures() -> Iterator[Figure]:
    """Yield the time of the first post, which makes its series, and the median of later ones."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            first, *later = [_seconds(client, number) for number in range(1 + POSTS)]
    yield Figure(f"POST /results, {RESULTS} × {VALUES}, all series new", first, 1, "s")
    yield Figure(f"POST /results, {RESULTS} × {VALUES}, series known", median(later), 1, "s")


def _seconds(client: httpx.Client, number: int) -> float:
    body = posted_document(RESULTS, commit=f"{number:040x}", seed=number)
    begun = time.perf_counter()
    client.post("/api/v1/results", json=body).raise_for_status()
    return time.perf_counter() - begun
