"""Series and the results that extend them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.orm import Session

from app.store.tables import BenchmarkCase, Commit, Result, Sample, Series


@dataclass(frozen=True, order=True)
class SeriesKey:
    """What makes a series one: a metric of a case on a device class, in one version of its benchmark."""

    case_id: int
    metric: str
    device_class: str
    version: str = ""


@dataclass(frozen=True)
class NewResult:
    """A result to be stored with its values; `void` are indices into `values`."""

    series_id: int
    commit_id: int
    run_id: int | None
    upload_id: int | None
    arm: str
    value: float
    low: float
    high: float
    values: list[float]
    void: list[int]
    flags: list[str]
    measured_at: datetime
    branch: str | None = None
    """The branch whose history it is a point of; None for none."""


def ensure(
    session: Session, project_id: int, wanted: Mapping[SeriesKey, tuple[str, str]]
) -> dict[SeriesKey, tuple[Series, bool]]:
    """Return the series of each key and whether it is new; `wanted` maps a key to (unit, better).

    An existing series keeps its own unit and direction, whatever is wanted: the caller compares.
    """
    found = {key: (row, False) for key, row in _existing(session, list(wanted)).items()}
    missing = sorted(key for key in wanted if key not in found)  # one order everywhere, so that none deadlock
    if missing:
        rows = [
            {
                "project_id": project_id,
                "case_id": key.case_id,
                "metric": key.metric,
                "device_class": key.device_class,
                "version": key.version,
                "unit": wanted[key][0],
                "better": wanted[key][1],
            }
            for key in missing
        ]
        made = set(session.scalars(insert(Series).on_conflict_do_nothing().returning(Series.id), rows).all())
        for key, row in _existing(session, missing).items():
            found[key] = (row, row.id in made)
    return found


def _existing(session: Session, keys: list[SeriesKey]) -> dict[SeriesKey, Series]:
    if not keys:
        return {}
    wanted = set(keys)
    rows = session.scalars(select(Series).where(Series.case_id.in_({key.case_id for key in keys})))
    by_key = {SeriesKey(r.case_id, r.metric, r.device_class, r.version): r for r in rows}
    return {key: row for key, row in by_key.items() if key in wanted}


def add_results(session: Session, results: list[NewResult]) -> None:
    """Store results and, apart from them, their samples."""
    if not results:
        return
    rows = [
        {
            "series_id": r.series_id,
            "commit_id": r.commit_id,
            "run_id": r.run_id,
            "upload_id": r.upload_id,
            "arm": r.arm,
            "value": r.value,
            "low": r.low,
            "high": r.high,
            "n": len(r.values) - len(r.void),
            "flags": r.flags,
            "measured_at": r.measured_at,
            "branch": r.branch,
        }
        for r in results
    ]
    ids = session.scalars(insert(Result).returning(Result.id, sort_by_parameter_order=True), rows).all()
    samples = [
        {"result_id": result_id, "values": r.values, "void": r.void}
        for result_id, r in zip(ids, results, strict=True)
    ]
    session.execute(insert(Sample), samples)


def find(
    session: Session,
    project_id: int,
    *,
    benchmark: str | None = None,
    metric: str | None = None,
    device_class: str | None = None,
    limit: int = 1000,
) -> Sequence[tuple[Series, BenchmarkCase]]:
    """Return the project's series with their cases, only those of what is named."""
    query = (
        select(Series, BenchmarkCase)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(Series.project_id == project_id)
        .order_by(BenchmarkCase.benchmark, Series.id)
        .limit(limit)
    )
    if benchmark is not None:
        query = query.where(BenchmarkCase.benchmark == benchmark)
    if metric is not None:
        query = query.where(Series.metric == metric)
    if device_class is not None:
        query = query.where(Series.device_class == device_class)
    return [(row[0], row[1]) for row in session.execute(query)]


def one(session: Session, series_id: int) -> tuple[Series, BenchmarkCase] | None:
    """Return the series with its case, or None."""
    row = session.execute(
        select(Series, BenchmarkCase)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(Series.id == series_id)
    ).one_or_none()
    return (row[0], row[1]) if row else None


def points(session: Session, series_id: int, *, limit: int) -> Sequence[tuple[Result, Commit]]:
    """Return the newest `limit` results of the series, oldest first, with their commits."""
    rows = session.execute(
        select(Result, Commit)
        .join(Commit, Commit.id == Result.commit_id)
        .where(Result.series_id == series_id)
        .order_by(Result.id.desc())
        .limit(limit)
    ).all()
    return [(row[0], row[1]) for row in reversed(rows)]


def at_commits(
    session: Session, project_id: int, shas: tuple[str, str]
) -> Sequence[tuple[Series, BenchmarkCase, str, Result]]:
    """Return the newest result of every series at each of two commits, as (series, case, sha, result)."""
    rows = session.execute(
        select(Series, BenchmarkCase, Commit.sha, Result)
        .join(Result, Result.series_id == Series.id)
        .join(Commit, Commit.id == Result.commit_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(Series.project_id == project_id, Commit.sha.in_(shas))
        .order_by(Series.id, Commit.sha, Result.id.desc())
        .ext(distinct_on(Series.id, Commit.sha))
    ).all()
    return [(row[0], row[1], row[2], row[3]) for row in rows]


def values(session: Session, result_ids: Sequence[int]) -> dict[int, list[float]]:
    """Return the kept values of each result."""
    rows: Sequence[Any] = session.execute(
        select(Sample.result_id, Sample.values).where(Sample.result_id.in_(result_ids))
    ).all()
    return {row[0]: row[1] for row in rows}


def counts(session: Session, series_ids: Sequence[int]) -> dict[int, int]:
    """Return how many results each series has; one without any is left out."""
    rows = session.execute(
        select(Result.series_id, func.count())
        .where(Result.series_id.in_(series_ids))
        .group_by(Result.series_id)
    )
    return {row[0]: int(row[1]) for row in rows}


def newest(session: Session, series_ids: Sequence[int]) -> dict[int, tuple[Result, Commit]]:
    """Return the newest result of each series with its commit; a series without any is left out."""
    last = select(func.max(Result.id)).where(Result.series_id.in_(series_ids)).group_by(Result.series_id)
    rows = session.execute(
        select(Result, Commit).join(Commit, Commit.id == Result.commit_id).where(Result.id.in_(last))
    )
    return {row[0].series_id: (row[0], row[1]) for row in rows}
