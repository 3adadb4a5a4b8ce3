"""Reads at the size of years: 100 million samples, in results that arrived commit by commit, as they do.

What is asked is what `benchmarks.reads` asks. To fill the database takes about ten minutes and 6 GB; a folder named by
RATCHET_BENCH_DATA keeps it for the next time.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import make_engine
from benchmarks import drawn
from benchmarks.figure import Figure, Note
from benchmarks.filling import Size, fill_if_empty, kept_folder
from benchmarks.reads import FOR_P99, Questions, high, size_b, trend, waits_s
from benchmarks.stack import running

SIZE = Size(projects=10, series=500, commits=2_000)

ASKED, A_SERIES = Questions("bench/scale-7", newest=SIZE.commits), SIZE.series * 6 + 7


def figures() -> Iterator[Figure | Note]:
    """Yield waits for answers and for drawn pages [s] at 100 million samples, and the size of a result [B]."""
    with kept_folder() as folder, running(folder / "data", "--worker", "none") as (url, token, _):
        server = EmbeddedPostgres(folder / "data" / "postgres")
        engine = make_engine(
            f"postgresql://postgres@/ratchet?host={server.socket_folder}"
        )  # who may leave out checks
        fill_if_empty(engine, SIZE)
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
            yield from _answers(client)
        yield from drawn.figures(url, token, ASKED.pages(A_SERIES))
        with engine.connect() as connection:
            result_b = size_b(connection) / SIZE.results
            yield Figure("a result of 10 values, indexes included", result_b, 450, "B")
        engine.dispose()


def _answers(client: httpx.Client) -> Iterator[Figure]:
    n_series = SIZE.projects * SIZE.series
    others = (trend(n) for n in range(1, n_series, n_series // FOR_P99))
    waits = waits_s(client, *others, asked=FOR_P99)
    yield Figure(f"trend of {SIZE.commits} points, each of another series, p99", high(waits, 99), 0.025, "s")
    yield from ASKED.compared(client)
    for name, path in ASKED.pages(A_SERIES):
        yield Figure(f"page: {name}, p95", high(waits_s(client, path), 95), 0.3, "s")
