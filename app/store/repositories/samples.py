"""What stands behind the results of one run or upload: every value of each, in the order in which it was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import distinct, func, select, text
from sqlalchemy.orm import Session

from app.store.tables import Result

Source = Literal["run_id", "upload_id"]


@dataclass(frozen=True)
class StoredSample:
    """A result with its values [the series' unit]; `number` counts the series of its run from 1, by their names.

    `values` are None where they are no longer kept; the median `value` of `n`, from `low` to `high`, stays.
    """

    number: int
    series_id: int
    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    better: str
    device_class: str
    version: str
    arm: str
    sha: str
    flags: list[str]
    value: float
    low: float
    high: float
    n: int
    values: list[float] | None
    void: list[int]
    """Indices of values that are kept and do not count."""


def n_series(session: Session, source: Source, its_id: int) -> int:
    """Return how many series the run or upload has results of."""
    query = select(func.count(distinct(Result.series_id))).where(getattr(Result, source) == its_id)
    return session.scalar(query) or 0


def of(session: Session, source: Source, its_id: int, *, after: int, limit: int) -> list[StoredSample]:
    """Return the results of its series with numbers above `after`, at most of `limit` series, base before head."""
    query = text(_SAMPLES.format(source=source))
    rows = session.execute(query, {"id": its_id, "after": after, "last": after + limit})
    return [StoredSample(*row) for row in rows]


_SAMPLES = """
    with listed as (
      select result.id, dense_rank() over (
        order by benchmark, params_key, metric, device_class, version, series.id) as number
      from result
        join series on series.id = result.series_id
        join benchmark_case on benchmark_case.id = series.case_id
      where result.{source} = :id)
    select listed.number, series.id, benchmark, params, metric, unit, better, device_class, version,
      result.arm, commit.sha, coalesce(result.flags, '{{}}'), result.value, result.low, result.high, result.n,
      sample."values", coalesce(sample.void, '{{}}')
    from listed
      join result on result.id = listed.id
      left join sample on sample.result_id = result.id
      join series on series.id = result.series_id
      join benchmark_case on benchmark_case.id = series.case_id
      join commit on commit.id = result.commit_id
    where listed.number > :after and listed.number <= :last
    order by listed.number, result.arm, result.id
    """
