"""Change detection online: one result is appended to a series of 10 000 points and examined, with and without database.

The service's figure is a transaction of its own on an embedded PostgreSQL: lock, place, read the tail, examine, store.
No transaction takes less than the empty one: a connection from the pool, which is tried, one statement, commit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import numpy as np
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.analysis.detection.incremental import begin_of_tail, examine_tail
from app.config import ServiceSettings
from app.embedded import EmbeddedPostgres
from app.services.examine_series import examine_series
from app.store.migrate import migrate
from app.store.repositories import projects, series
from app.store.repositories.series import NewResult, SeriesKey
from app.store.session import Database
from benchmarks.figure import Figure
from benchmarks.stack import data_folder

POINTS, APPENDS, LIMIT_MS, EMPTY_LIMIT_MS = 10_000, 200, 5, 1


def figures() -> Iterator[Figure]:
    """Yield the medians over appends to a flat series, and to one that has just changed by 5 %."""
    for name, shift in (("flat", 0.0), ("5 % slower 20 points ago", 0.05)):
        values = np.exp(np.random.default_rng(1).normal(0.0, 0.01, POINTS + APPENDS))
        values[POINTS - 20 :] *= 1 + shift
        analysis = [_examined_ms(values[:n]) for n in range(POINTS + 1, POINTS + APPENDS + 1)]
        yield Figure(f"append to {POINTS} points, analysis, {name}", median(analysis), LIMIT_MS, "ms")
        empty, stored = _transactions_ms(values)
        yield Figure(f"append to {POINTS} points, service, {name}", median(stored), LIMIT_MS, "ms")
    yield Figure("an empty transaction", median(empty), EMPTY_LIMIT_MS, "ms")


def _examined_ms(values: np.ndarray) -> float:
    begun = time.perf_counter()
    begin = begin_of_tail(len(values))
    examine_tail(values[begin:], begin, minimum_effect=0.005)
    return 1000 * (time.perf_counter() - begun)


def _transactions_ms(values: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the times of empty transactions, and of those that examine an append each."""
    with data_folder() as folder, EmbeddedPostgres(folder / "postgres") as server:
        database = Database(server.url())
        migrate(database.engine)
        settings = ServiceSettings(
            database_url=server.url(), redis_url="redis://nobody", data_dir=Path(folder)
        )
        with database.session() as session:
            series_id = _store(session, values[:POINTS])
        with database.session() as session:
            examine_series(session, settings, series_id)
            session.execute(text("analyze"))
        empty, stored = [], []
        for i in range(POINTS, len(values)):
            with database.session() as session:
                _add(session, series_id, [i], values)
            begun = time.perf_counter()
            with database.session() as session:
                session.execute(text("select 1"))
            between = time.perf_counter()
            with database.session() as session:
                examine_series(session, settings, series_id)
            empty.append(1000 * (between - begun))
            stored.append(1000 * (time.perf_counter() - between))
        database.close()
    return empty, stored


def _store(session: Session, values: np.ndarray) -> int:
    project = projects.project(session, "bench/online")
    case = projects.cases(session, project.id, [("resize", {})])["resize {}"]
    key = SeriesKey(case.id, "latency_p50", "cpu")
    series_id = series.ensure(session, project.id, {key: ("s", "lower")})[key].id
    _add(session, series_id, range(len(values)), values)
    return series_id


def _add(session: Session, series_id: int, rows: range | list[int], values: np.ndarray) -> None:
    results = []
    for i in rows:
        commit = projects.commit(session, 1, f"{i + 1:040x}", parent_sha=f"{i:040x}")
        value = float(values[i])
        results.append(
            NewResult(
                series_id=series_id,
                commit_id=commit.id,
                run_id=None,
                arm="head",
                value=value,
                low=value,
                high=value,
                values=[value],
                void=[],
                flags=[],
                measured_at=datetime.now(UTC),
                branch="main",
            )
        )
    series.add_results(session, results)
