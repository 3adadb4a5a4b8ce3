"""What one run, or a post, has brought: its results with every value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.store.tables import BenchmarkCase, Commit, Result, Sample, Series


class RunResult(NamedTuple):
    """A result with its series, its commit and its values, where they are still kept."""

    result: Result
    series: Series
    case: BenchmarkCase
    commit: Commit
    sample: Sample | None


def of_run(
    session: Session,
    run_id: int | None,
    upload_id: int | None,
    *,
    benchmark: str | None,
    after: int | None,
    limit: int,
) -> Sequence[RunResult]:
    """Return the run's first results behind the one of the id `after`; one of `run_id` and `upload_id` is None."""
    its = Result.run_id == run_id if upload_id is None else Result.upload_id == upload_id
    query = (
        select(Result, Series, BenchmarkCase, Commit, Sample)
        .join(Series, Series.id == Result.series_id)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .join(Commit, Commit.id == Result.commit_id)
        .outerjoin(Sample, Sample.result_id == Result.id)
        .where(its)
        .order_by(Result.id)
        .limit(limit)
    )
    if benchmark is not None:
        query = query.where(BenchmarkCase.benchmark == benchmark)
    if after is not None:
        query = query.where(Result.id > after)
    return [RunResult._make(row) for row in session.execute(query)]
