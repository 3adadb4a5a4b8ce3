"""Posting results from elsewhere over HTTP: large documents, small ones one after the other, and batches of them.

The peer is Conbench, measured on two cores with its database and the client beside it: 58 single results a second with
one client, 441 MiB of its api process. `benchmarks.peer` asks both in the same run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from statistics import median

import httpx
from sqlalchemy import Engine, text

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import make_engine
from benchmarks.bench_documents import VALUES, posted_document
from benchmarks.figure import Figure
from benchmarks.stack import api_mib, data_folder, running

RESULTS, POSTS = 1_000, 5
SINGLE, AT_ONCE, BATCHES = 600, 500, 20
PEER_PER_S = 58
API_MIB = 200


def figures() -> Iterator[Figure]:
    """Yield waits for posts [s], what each takes against the limits, and the memory of the api process afterwards."""
    with data_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, pid):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            first, *later = [_seconds(client, number) for number in range(1 + POSTS)]
            yield Figure(f"POST /results, {RESULTS} × {VALUES}, all series new", first, 1, "s")
            yield Figure(f"POST /results, {RESULTS} × {VALUES}, series known", median(later), 1, "s")
            single_s = _single_s(client)
            yield Figure("a single result posted, one client, mean", single_s, 1 / (4 * PEER_PER_S), "s")
            result_s = median(_seconds(client, 100 + n, AT_ONCE) for n in range(BATCHES)) / AT_ONCE
            yield Figure(f"a result in a document of {AT_ONCE}", result_s, 1 / (100 * PEER_PER_S), "s")
            batch_s = _batched_s(client) / AT_ONCE
            yield Figure(f"a result in a batch of {AT_ONCE} documents", batch_s, 1 / (100 * PEER_PER_S), "s")
            engine = make_engine(EmbeddedPostgres(folder / "data" / "postgres").url())
            copy_s = _copy_s(engine)
            engine.dispose()
            yield Figure(
                f"a result in a document of {AT_ONCE} against COPY of it", result_s / copy_s, 1 / 0.15, "×"
            )
            yield Figure("memory of the api process afterwards", api_mib(pid), API_MIB, "MiB")


def _seconds(client: httpx.Client, number: int, results: int = RESULTS) -> float:
    body = posted_document(results, commit=f"{number:040x}", seed=number)
    begun = time.perf_counter()
    client.post("/api/v1/results", json=body).raise_for_status()
    return time.perf_counter() - begun


def _single_s(client: httpx.Client) -> float:
    """Return the mean time of a post of one result [s]."""
    bodies = [posted_document(1, commit=f"a{number:039x}", seed=number) for number in range(SINGLE)]
    for body in bodies[: SINGLE // 10]:
        client.post("/api/v1/results", json=body).raise_for_status()
    begun = time.perf_counter()
    for body in bodies[SINGLE // 10 :]:
        client.post("/api/v1/results", json=body).raise_for_status()
    return (time.perf_counter() - begun) / (SINGLE - SINGLE // 10)


def _batched_s(client: httpx.Client) -> float:
    """Return the median time of a batch, each document of which has one result [s]."""
    waits = []
    for batch in range(BATCHES):
        lines = (
            json.dumps(posted_document(1, commit=f"b{batch * AT_ONCE + i:039x}", seed=i))
            for i in range(AT_ONCE)
        )
        body = "\n".join(lines).encode()
        begun = time.perf_counter()
        client.post("/api/v1/results/batch", content=body).raise_for_status()
        waits.append(time.perf_counter() - begun)
    return median(waits[2:])


def _copy_s(engine: Engine) -> float:
    """Return how long COPY takes a result, its sample with it, written row by row into tables of the same shape [s]."""
    n = AT_ONCE * BATCHES
    with engine.connect() as connection:
        for table in ("result", "sample"):
            connection.execute(text(f"create temp table copied_{table} (like {table} including all)"))
        driver = connection.connection.driver_connection
        assert driver is not None
        took = 0.0
        for table in ("result", "sample"):
            rows = connection.execute(text(f"select * from {table} limit {n}")).all()
            names = ", ".join(f'"{name}"' for name in _columns(connection, table))
            begun = time.perf_counter()
            with driver.cursor().copy(f"copy copied_{table} ({names}) from stdin") as copy:
                for row in rows:
                    copy.write_row(row)
            took += (time.perf_counter() - begun) / len(rows)
        connection.rollback()
    return took


def _columns(connection: object, table: str) -> list[str]:
    rows = connection.execute(  # type: ignore[attr-defined]
        text(
            "select column_name from information_schema.columns where table_name = :table "
            "and table_schema = 'public' order by ordinal_position"
        ),
        {"table": table},
    )
    return [row[0] for row in rows]
