"""The weekly report of 10 000 series at 100 million samples: how long it takes, what it needs, its page's size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median

import httpx
from sqlalchemy import text

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import make_engine
from benchmarks.figure import Figure
from benchmarks.filling import Size, fill_if_empty, kept_folder
from benchmarks.stack import api_mib, running

SIZE = Size(projects=10, series=1_000, commits=1_000)

ASKED = 3

_EFFICIENCY = (
    "update series set metric = 'mfu', unit = '1', better = 'higher' where id % 5 = 0 and metric <> 'mfu'"
)
"""Every fifth series is a share of a peak."""

_LOSSES = """
    insert into change_point (project_id, series_id, branch, commit_id, previous_commit_id, end_commit_id, result_id,
      index, end_index, kind, state, before, after, change, confirmed_at)
    select series.project_id, series.id, 'main', its.id, previous.id, its.id, result.id, at.position, at.position,
      'step', 'confirmed', 0.009, 0.0101, 0.1222, now()
    from series
      cross join lateral (select :commits - 20 - series.id % 400 as position) as at
      join commit as its on its.project_id = series.project_id and its.position = at.position
      join commit as previous on previous.project_id = its.project_id and previous.position = its.position - 1
      join result on result.series_id = series.id and result.commit_id = its.id
    where series.id % 5 = 1 and not exists (select from change_point)
    """
"""Every fifth series has become worse."""


def figures() -> Iterator[Figure]:
    """Yield waits for reports [s], the memory of the api process afterwards [MiB], and the size of a page [MB]."""
    with kept_folder("weekly") as folder, running(folder / "data", "--worker", "none") as (url, token, pid):
        server = EmbeddedPostgres(folder / "data" / "postgres")
        engine = make_engine(f"postgresql://postgres@/ratchet?host={server.socket_folder}")
        fill_if_empty(engine, SIZE)
        with engine.begin() as connection:
            connection.execute(text(_EFFICIENCY))
            connection.execute(text(_LOSSES), {"commits": SIZE.commits})
        engine.dispose()
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as client:
            for of, wanted in (("everything", {}), ("one project", {"project": "bench/scale-7"})):
                waits, pages = zip(*(_asked(client, wanted) for _ in range(ASKED)), strict=True)
                yield Figure(f"weekly report of {of}, median", median(waits), 10, "s")
                yield Figure(f"weekly report of {of}, its page", max(pages) / 1e6, 1, "MB")
            yield Figure("memory of the api process afterwards", api_mib(pid), 300, "MiB")


def _asked(client: httpx.Client, wanted: dict[str, str]) -> tuple[float, int]:
    """Return how long a page takes [s], and its size [B]."""
    begun = time.perf_counter()
    answer = client.get("/api/v1/weekly/report", params=wanted).raise_for_status()
    return time.perf_counter() - begun, len(answer.content)
