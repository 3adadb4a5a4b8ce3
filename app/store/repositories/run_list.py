"""Runs that were measured and posts, each as a line of a list, the newest first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import BindParameter, ColumnElement, bindparam, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from app.store.tables import (
    Attempt,
    BenchmarkCase,
    Commit,
    Job,
    Project,
    Result,
    Run,
    Series,
    Upload,
    Verdict,
    Worker,
)


@dataclass(frozen=True)
class SoughtRuns:
    """What is looked for; None is everything. `commit` is the beginning of an id in lower case."""

    project_ids: Collection[int] | None = None
    benchmark: str | None = None
    commit: str | None = None
    device_class: str | None = None
    since: datetime | None = None


class MeasuredRun(NamedTuple):
    """A run of a worker's; `outcome` and `ended_at` are None while it goes on, `base` where only head was measured."""

    id: int
    at: datetime
    project: str
    base: str | None
    head: str
    subject: str
    author: str
    device_class: str
    suite: str
    worker: str
    outcome: str | None
    reason: str | None
    ended_at: datetime | None


class PostedRun(NamedTuple):
    """A post of results, a run of somebody else's."""

    id: int
    at: datetime
    project: str
    head: str
    subject: str
    author: str
    posted_by: str


class Brought(NamedTuple):
    """How many results a run brought, and on what."""

    n: int
    device_class: str


def measured(
    session: Session, sought: SoughtRuns, *, before: int | None, limit: int
) -> Sequence[MeasuredRun]:
    """Return the newest runs with an id below `before`."""
    base, head = aliased(Commit), aliased(Commit)
    query = (
        select(
            Run.id,
            Run.created_at,
            Project.name,
            base.sha,
            head.sha,
            head.subject,
            head.author,
            Job.device_class,
            Job.suite,
            Worker.name,
            Attempt.outcome,
            func.coalesce(Attempt.reason, Job.reason),
            Attempt.ended_at,
        )
        .join(Job, Job.id == Run.job_id)
        .join(Attempt, Attempt.id == Run.attempt_id)
        .join(Worker, Worker.id == Attempt.worker_id)
        .join(Project, Project.id == Run.project_id)
        .join(head, head.id == Job.head_commit_id)
        .outerjoin(base, base.id == Job.base_commit_id)
        .where(*_measured_conditions(sought, before))
        .order_by(Run.id.desc())
        .limit(limit)
    )
    if sought.commit is not None:
        query = query.where(
            base.sha.startswith(sought.commit, autoescape=True)
            | head.sha.startswith(sought.commit, autoescape=True)
        )
    return [MeasuredRun._make(row) for row in session.execute(query)]


def _measured_conditions(sought: SoughtRuns, before: int | None) -> Iterator[ColumnElement[bool]]:
    if before is not None:
        yield Run.id < before
    if sought.project_ids is not None:
        yield Run.project_id.in_(sought.project_ids)
    if sought.device_class is not None:
        yield Job.device_class == sought.device_class
    if sought.since is not None:
        yield Run.created_at >= sought.since
    if sought.benchmark is not None:
        planned = select(Verdict.id).join(BenchmarkCase, BenchmarkCase.id == Verdict.case_id)
        yield planned.where(Verdict.run_id == Run.id, BenchmarkCase.benchmark == sought.benchmark).exists()


def posted(session: Session, sought: SoughtRuns, *, before: int | None, limit: int) -> Sequence[PostedRun]:
    """Return the newest posts with an id below `before`."""
    series = _series(session, sought)
    if series is not None and not series:
        return []
    query = (
        select(
            Upload.id,
            Upload.created_at,
            Project.name,
            Commit.sha,
            Commit.subject,
            Commit.author,
            Upload.posted_by,
        )
        .join(Project, Project.id == Upload.project_id)
        .join(Commit, Commit.id == Upload.commit_id)
        .where(*_posted_conditions(sought, series, before))
        .order_by(Upload.id.desc())
        .limit(limit)
    )
    return [PostedRun._make(row) for row in session.execute(query)]


def _posted_conditions(
    sought: SoughtRuns, series: Sequence[int] | None, before: int | None
) -> Iterator[ColumnElement[bool]]:
    if before is not None:
        yield Upload.id < before
    if sought.project_ids is not None:
        yield Upload.project_id.in_(sought.project_ids)
    if sought.commit is not None:
        yield Commit.sha.startswith(sought.commit, autoescape=True)
    if sought.since is not None:
        yield Upload.created_at >= sought.since
    if series is not None:
        its: BindParameter[int] = bindparam("series", series, expanding=True, literal_execute=True)
        yield select(Result.id).where(Result.upload_id == Upload.id, Result.series_id.in_(its)).exists()


def _series(session: Session, sought: SoughtRuns) -> Sequence[int] | None:
    """Return the series that a post has to have a result of; None where any will do.

    They are looked up first and stand in the statement itself, which has room for more of them than for parameters:
    PostgreSQL then knows how many they are, and which way to the results is the shorter one.
    """
    if sought.benchmark is None and sought.device_class is None:
        return None
    query = select(Series.id).join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
    if sought.project_ids is not None:
        query = query.where(Series.project_id.in_(sought.project_ids))
    if sought.benchmark is not None:
        query = query.where(BenchmarkCase.benchmark == sought.benchmark)
    if sought.device_class is not None:
        query = query.where(Series.device_class == sought.device_class)
    return session.scalars(query).all()


def brought_by_runs(session: Session, ids: Collection[int]) -> dict[int, Brought]:
    """Return by its id what each run has brought; one without results is left out."""
    return _brought(session, Result.run_id, ids)


def brought_by_uploads(session: Session, ids: Collection[int]) -> dict[int, Brought]:
    """Return by its id what each post has brought; one without results is left out."""
    return _brought(session, Result.upload_id, ids)


def _brought(
    session: Session, source: InstrumentedAttribute[int | None], ids: Collection[int]
) -> dict[int, Brought]:
    query = (
        select(source, func.count(), func.min(Series.device_class))
        .join(Series, Series.id == Result.series_id)
        .where(source.in_(ids))
        .group_by(source)
    )
    return {row[0] or 0: Brought(row[1], row[2]) for row in session.execute(query)}
