"""What a scrape takes with a hundred live workers and a history behind them, and what being counted costs a request.

The history: ten thousand jobs, each with its attempt, two thousand checks, fifty thousand messages that have left, and
as many of GitHub's. Every route that the application has was asked for before, so that each has its series.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterable, Iterator
from statistics import median, quantiles
from typing import Any

import httpx
from sqlalchemy import text
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.recording import Recorded
from app.config import ServiceSettings
from app.embedded.postgres import EmbeddedPostgres
from app.services.metrics.recorder import Recorder
from app.store.migrate import migrate
from app.store.session import Database
from app.wiring import Service
from benchmarks.figure import Figure
from benchmarks.stack import data_folder
from tests.factories.application import application
from tests.factories.serving import served

WORKERS, JOBS, CHECKS, MESSAGES = 100, 10_000, 2_000, 50_000
SCRAPES = 200
REQUESTS, ROUNDS = 20_000, 5


def figures() -> Iterator[Figure]:
    """Yield median and 99th percentile of a scrape, its size, and what a request pays for being counted."""
    with data_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        _fill(server.url())
        settings = ServiceSettings(database_url=server.url(), redis_url="redis://", data_dir=folder)
        service = Service(settings)
        with served(service) as url:
            waits, size_b = _scrapes(url, service)
        service.close()
    yield Figure(f"scrape with {WORKERS} workers, {JOBS} jobs, median", median(waits), 0.05, "s")
    yield Figure("the same, p99", quantiles(waits, n=100)[98], 0.05, "s")
    yield Figure("lines of a scrape", size_b, 5_000, "")
    yield Figure("processor time of recording one request", _recording_us(), 50, "µs")


def _scrapes(url: str, service: Service) -> tuple[list[float], int]:
    """Return how long each scrape took [s], and how many lines one has."""
    for path in _paths(application(service).routes):
        service.recorder.answered(path, "GET", 200, 0.01)
    waits = []
    gc.collect()
    gc.freeze()  # as the api process does
    with httpx.Client(base_url=url) as client:
        for _ in range(SCRAPES + 5):
            begun = time.perf_counter()
            answer = client.get("/metrics").raise_for_status()
            waits.append(time.perf_counter() - begun)
    assert "ratchet_database_up 1.0" in answer.text
    return waits[5:], answer.text.count("\n")


def _paths(routes: Iterable[Any]) -> Iterator[str]:
    """Yield the template of every route, however deep it was included."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        yield from _paths(inner.routes) if inner is not None else [route.path]


def _recording_us() -> float:
    """Return what a request's recording takes of the processor [µs]: the best of some rounds with, less without."""

    class State:
        class service:  # noqa: N801  # as an application has it
            recorder = Recorder()

    class Application:
        state = State

    class Route:
        path = "/api/v1/results"

    scope: Scope = {
        "type": "http",
        "app": Application,
        "route": Route,
        "method": "POST",
        "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer x"), (b"content-length", b"900")],
    }

    async def answer(_: Scope, __: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 201, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})

    async def nothing(_: Message) -> None:
        pass

    async def ask(app: ASGIApp) -> float:
        begun = time.process_time()
        for _ in range(REQUESTS):
            await app(scope, None, nothing)  # type: ignore[arg-type]
        return time.process_time() - begun

    bare = min(asyncio.run(ask(answer)) for _ in range(ROUNDS))
    with_it = min(asyncio.run(ask(Recorded(answer))) for _ in range(ROUNDS))
    return (with_it - bare) / REQUESTS * 1e6


def _fill(url: str) -> None:
    database = Database(url)
    migrate(database.engine)
    numbers = {"workers": WORKERS, "jobs": JOBS, "checks": CHECKS, "messages": MESSAGES}
    with database.engine.connect() as connection:
        for statement in _HISTORY:
            connection.execute(text(statement), numbers)
        connection.commit()
        its = connection.execution_options(isolation_level="AUTOCOMMIT")
        its.execute(text("vacuum analyze"))
    database.close()


_HISTORY = (
    "insert into project (id, name) overriding system value values (1, 'bench/metrics')",
    "insert into commit (id, project_id, sha) overriding system value values (1, 1, repeat('a', 40))",
    """
    insert into worker (id, name, host, instance) overriding system value
    select n, 'bench-' || n, 'bench-' || n, '' from generate_series(1, cast(:workers as int)) as n
    """,
    """
    insert into device (hardware_id, worker_id, kind, device_class, fingerprint)
    select 'gpu-' || n, 1 + n / 8, 'nvidia', 'class-' || n % 6, '{}'
    from generate_series(0, cast(:workers as int) * 8 - 1) as n
    """,
    """
    insert into request (id, project_id, key, trigger) overriding system value
    select n, 1, 'r' || n, 'manual' from generate_series(1, cast(:checks as int)) as n
    """,
    """
    insert into job (id, project_id, key, suite, device_class, head_commit_id, spec, policy, budget_s, max_pairs, band,
      state, deadline_at, created_at)
    overriding system value
    select n, 1, 'j' || n, 's', 'class-' || n % 6, 1, jsonb_build_object('suite', repeat('x', 900)),
      jsonb_build_object('purpose', 'check'), 60, 30, (array[0, 10, 20, 5])[1 + n % 4], 'queued',
      now() + interval '1 hour', now() - n * interval '1 minute'
    from generate_series(1, cast(:jobs as int)) as n
    """,
    """
    insert into attempt (job_id, number, lease_id, worker_id, outcome, ended_at)
    select n, 1, 'l' || n, 1 + n % cast(:workers as int), case when n > 100 then 'ok' end, now()
    from generate_series(1, cast(:jobs as int)) as n
    """,
    "update job set state = 'leased', lease_id = 'l' || id, attempt_until = now() + interval '1 hour' where id > 200",
    "update job set state = 'succeeded', finished_at = now() where id > 300",
    """
    insert into request_job (request_id, job_id)
    select 1 + n % cast(:checks as int), n from generate_series(1, cast(:jobs as int)) as n
    """,
    """
    insert into "check" (project_id, request_id, base_commit_id, head_commit_id, settings, alpha, state, conclusion)
    select 1, n, 1, 1, '{}', 0.01, case when n < 200 then 'running' else 'complete' end,
      case when n < 200 then null else 'passed' end
    from generate_series(1, cast(:checks as int)) as n
    """,
    """
    insert into outbox (topic, key, payload, sent_at)
    select 'job.hint', 'k' || n, '{}', case when n > 50 then now() end
    from generate_series(1, cast(:messages as int)) as n
    """,
    """
    insert into delivery (guid, event, payload, outcome)
    select 'g' || n, 'push', '{}', 'looked at' from generate_series(1, cast(:messages as int)) as n
    """,
    """
    insert into tally (name, label, value, total)
    select 'ratchet_claim_latency_seconds', le, 1000, 500 from unnest(array['0.1', '0.5', '1', '5', '+Inf']) as le
    """,
    """
    insert into tally (name, label, value)
    select 'ratchet_forge_calls_total', code::text, 9 from generate_series(200, 210) as code
    """,
)
