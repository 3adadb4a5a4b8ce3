"""Everything that a project's histories consist of, run by run, read in bounded memory however much it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session

_PATIENCE_S = 600
"""How long PostgreSQL may take to put the runs of years in order [s]."""

_ROWS = 500
"""Runs that are fetched from the cursor at a time."""


class ExportPlace(NamedTuple):
    """A run among those of an export: what they are ordered by, and the id of the run's first result."""

    measured_at: datetime
    sha: str
    branch: str
    first_id: int


@dataclass(frozen=True)
class ExportWish:
    """What is exported: results of a project's histories, of one benchmark or all, measured in [since, until).

    Only what is behind the run `after`, and no run whose first result came after the one of the id `newest`.
    """

    project_id: int
    benchmark: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: ExportPlace | None = None
    newest: int | None = None


class ExportedRun(NamedTuple):
    """What one run, or a post, has of one commit: `n_values` numbers; with all that is known of the commit."""

    run_id: int | None
    upload_id: int | None
    arm: str
    commit_id: int
    branch: str
    measured_at: datetime
    n_values: int
    sha: str
    parent_sha: str | None
    authored_at: datetime | None
    author: str
    subject: str
    position: int | None
    environment_id: int | None
    first_id: int

    @property
    def place(self) -> ExportPlace:
        """Where it stands in its export."""
        return ExportPlace(self.measured_at, self.sha, self.branch, self.first_id)


class ExportedResult(NamedTuple):
    """One result with its values; `number` is the place of its run among those that were asked for.

    `values` are None where they are no longer kept: then `value`, their median, is all there is.
    """

    number: int
    benchmark: str
    params_key: str
    metric: str
    unit: str
    better: str
    device_class: str
    version: str
    value: float
    low: float
    high: float
    values: list[float] | None
    void: list[int]


def begin(session: Session) -> None:
    """Have the session's transaction, which has to be a new one, see one state of the database and change nothing."""
    session.execute(text("set transaction isolation level repeatable read, read only"))
    session.execute(text(f"set local statement_timeout = '{_PATIENCE_S}s'"))


def newest_result(session: Session) -> int | None:
    """Return the id of the newest result; None where there is none."""
    newest: int | None = session.scalar(text("select max(id) from result"))
    return newest


def place_of(session: Session, project_id: int, first_id: int) -> ExportPlace | None:
    """Return where the run whose first result has this id stands among the project's; None where it is not there."""
    found = session.execute(
        text(
            """
            select measured_at, sha, result.branch, result.id
            from result
              join series on series.id = result.series_id
              join commit on commit.id = result.commit_id
            where result.id = :first_id and series.project_id = :project_id and result.branch is not null
            """
        ),
        {"project_id": project_id, "first_id": first_id},
    ).first()
    return None if found is None else ExportPlace._make(found)


@contextmanager
def exported_runs(session: Session, wish: ExportWish) -> Iterator[Iterator[ExportedRun]]:
    """Yield what yields the runs in the order in which they were measured, by a cursor of the server's.

    It is the same order in every database that has them: that of two at one moment is by commit, branch and arrival.
    """
    after = dict(
        zip(("after_time", "after_sha", "after_branch", "after_id"), wish.after or (None,) * 4, strict=True)
    )
    wanted = vars(wish) | after
    with session.execute(_RUNS, wanted, execution_options={"yield_per": _ROWS}) as rows:
        yield map(ExportedRun._make, rows)


# Of the results only what is narrow is put in order; what is wide follows for some runs at a time.
_RUNS = text(
    """
    with found as (
      select result.run_id, result.upload_id, arm, commit_id, branch,
        min(measured_at) as measured_at, min(result.id) as first_id, cast(sum(n) as bigint) as n_values
      from result
        join series on series.id = result.series_id
        join benchmark_case on benchmark_case.id = series.case_id
      where series.project_id = :project_id and branch is not null
        and (result.run_id is not null or result.upload_id is not null)
        and (cast(:benchmark as text) is null or benchmark = :benchmark)
        and (cast(:since as timestamptz) is null or measured_at >= :since)
        and (cast(:until as timestamptz) is null or measured_at < :until)
      group by result.run_id, result.upload_id, arm, commit_id, branch
      having cast(:newest as bigint) is null or min(result.id) <= :newest
    )
    select run_id, upload_id, arm, found.commit_id, found.branch, measured_at, n_values,
      sha, parent_sha, authored_at, author, subject, position,
      coalesce(run.environment_id, upload.environment_id) as environment_id, first_id
    from found
      join commit on commit.id = found.commit_id
      left join run on run.id = found.run_id
      left join upload on upload.id = found.upload_id
    where cast(:after_id as bigint) is null or (measured_at, sha, found.branch, first_id)
      > (cast(:after_time as timestamptz), cast(:after_sha as text), cast(:after_branch as text), :after_id)
    order by measured_at, sha, found.branch, first_id
    """
)


def exported_results(
    session: Session, wish: ExportWish, runs: Sequence[ExportedRun]
) -> Iterator[ExportedResult]:
    """Yield what the runs brought, run by run in their order, and each run's in the order of its arrival."""
    names = ("run_id", "upload_id", "arm", "commit_id", "branch")
    wanted: dict[str, Any] = {name: [getattr(run, name) for run in runs] for name in names}
    rows = session.execute(_RESULTS, wanted | {"benchmark": wish.benchmark})
    return map(ExportedResult._make, rows)


_RESULTS = text(
    """
    with wanted as materialized (
      select ordinality - 1 as number, its.*
      from unnest(
        cast(:run_id as bigint[]), cast(:upload_id as bigint[]), cast(:arm as text[]), cast(:commit_id as bigint[]),
        cast(:branch as text[])) with ordinality as its(run_id, upload_id, arm, commit_id, branch)
    ), found as (
      select number, result.*
      from wanted join result using (upload_id, arm, commit_id, branch)
      union all
      select number, result.*
      from wanted join result using (run_id, arm, commit_id, branch)
      where result.upload_id is null
    )
    select number, benchmark, params_key, metric, unit, better, device_class, version, value, low, high,
      "values", coalesce(void, '{}')
    from found
      left join sample on sample.result_id = found.id
      join series on series.id = found.series_id
      join benchmark_case on benchmark_case.id = series.case_id
    where cast(:benchmark as text) is null or benchmark = :benchmark
    order by number, found.id
    """
)


def environments(session: Session, ids: Sequence[int]) -> dict[int, tuple[dict[str, Any], dict[str, Any]]]:
    """Return machine and software of the environments by their ids."""
    rows = session.execute(
        text("select id, machine, software from environment where id = any(:ids)"), {"ids": ids}
    )
    return {row[0]: (row[1], row[2]) for row in rows}
