"""Everything that a commit or a branch has, the newest of each series: one side of a comparison of stored numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session


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
