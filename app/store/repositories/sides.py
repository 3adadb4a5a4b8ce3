"""Everything that a commit or a branch has, the newest of each series: one side of a comparison of stored numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from app.store.tables import Commit


@dataclass(frozen=True)
class Side:
    """What is compared: the results of a commit, or the newest ones of a branch; on one device class or on all."""

    project_id: int
    commit_id: int | None = None
    branch: str | None = None
    device_class: str | None = None


class StoredNumber(NamedTuple):
    """The newest result of a series on a side [the series' unit]."""

    series_id: int
    case_id: int
    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    better: str
    device_class: str
    version: str
    value: float
    low: float
    high: float
    n: int
    run_id: int | None
    upload_id: int | None
    sha: str


def newest_of(session: Session, side: Side) -> list[StoredNumber]:
    """Return the newest result of every series that the side has, by the series' names."""
    newest = _OF_COMMIT if side.commit_id is not None else _OF_BRANCH
    rows = session.execute(text(_SIDE.format(newest=newest)), vars(side))
    return [StoredNumber._make(row) for row in rows]


def with_point_before(
    session: Session, project_id: int, commit_id: int
) -> list[tuple[StoredNumber | None, StoredNumber]]:
    """Return the commit's newest result of every series, each with the one before it; points of histories come first.

    Before a point of a history is the newest of an earlier commit; before what is of none, as a pull request's head is,
    what the same run measured of its base.
    """
    rows = session.execute(text(_WITH_BEFORE), {"project_id": project_id, "commit_id": commit_id})
    return [_with_before(*row) for row in rows]


def _with_before(*row: Any) -> tuple[StoredNumber | None, StoredNumber]:
    series, here, before = row[:9], row[9:16], row[16:]
    is_known = before[0] is not None
    return StoredNumber(*series, *before) if is_known else None, StoredNumber(*series, *here)


def next_commit(session: Session, commit_id: int, series_ids: Sequence[int]) -> Commit | None:
    """Return the commit that comes after this one in most of the histories of these series."""
    which = {"commit_id": commit_id, "ids": list(series_ids)}
    return session.scalars(select(Commit).from_statement(text(_NEXT)), which).one_or_none()


# One look into an index for each series, however many results there are of it.
_OF_COMMIT = "series_id = series.id and commit_id = :commit_id order by id desc"
_OF_BRANCH = "series_id = series.id and branch = :branch and place is not null order by place desc, id desc"

_SIDE = """
    select series.id, case_id, benchmark, params, metric, unit, better, device_class, version,
      newest.value, newest.low, newest.high, newest.n, newest.run_id, newest.upload_id, commit.sha
    from series
      join benchmark_case on benchmark_case.id = series.case_id
      cross join lateral (select * from result where {newest} limit 1) as newest
      join commit on commit.id = newest.commit_id
    where series.project_id = :project_id
      and (cast(:device_class as text) is null or device_class = :device_class)
    order by benchmark, params_key, metric, device_class, version, series.id
    """

_WITH_BEFORE = """
    select series.id, case_id, benchmark, params, metric, unit, better, device_class, version,
      here.value, here.low, here.high, here.n, here.run_id, here.upload_id, its.sha,
      before.value, before.low, before.high, before.n, before.run_id, before.upload_id, commit.sha
    from series
      join benchmark_case on benchmark_case.id = series.case_id
      cross join lateral (
        select * from result where series_id = series.id and commit_id = :commit_id
        order by place is null, id desc limit 1) as here
      left join lateral (
        select id from result
        where series_id = series.id and branch = here.branch and place < here.place
        order by place desc, id desc limit 1) as earlier on true
      left join lateral (
        select result.id
        from run
          join job on job.id = run.job_id
          join result on series_id = series.id and result.commit_id = job.base_commit_id and run_id = run.id
        where run.id = here.run_id and here.branch is null and arm = 'base' limit 1) as base on true
      join commit as its on its.id = :commit_id
      left join result as before on before.id = coalesce(earlier.id, base.id)
      left join commit on commit.id = before.commit_id
    where series.project_id = :project_id
    order by device_class, benchmark, params_key, metric, version, series.id
    """

_NEXT = """
    select commit.* from commit join (
      select later.commit_id
      from unnest(cast(:ids as bigint[])) as series(id)
        cross join lateral (
          select branch, place from result
          where series_id = series.id and commit_id = :commit_id and place is not null limit 1) as here
        cross join lateral (
          select commit_id from result
          where series_id = series.id and branch = here.branch and place > here.place
          order by place limit 1) as later
      group by later.commit_id order by count(*) desc, later.commit_id limit 1) as next on next.commit_id = commit.id
    """
