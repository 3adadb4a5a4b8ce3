"""Series and the results that extend them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.store.pipeline import as_json, in_one_trip
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
    """A result to be stored with its values; `void` are indices into `values`.

    What is stored with its upload has that one's commit, and no `commit_id` here; what is stored by the trip that looks
    for its series has no `series_id` yet.
    """

    series_id: int | None
    commit_id: int | None
    run_id: int | None
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


class KnownSeries(NamedTuple):
    """A series as what extends it needs to know it."""

    id: int
    unit: str
    better: str


def ensure(
    session: Session, project_id: int, wanted: Mapping[SeriesKey, tuple[str, str]]
) -> dict[SeriesKey, KnownSeries]:
    """Return the series of each key, made where it is new; `wanted` maps a key to (unit, better).

    An existing series keeps its own unit and direction, whatever is wanted: the caller compares.
    """
    found = _existing(session, wanted)
    missing = [key for key in wanted if key not in found]
    if missing:
        rows = [vars(key) | dict(zip(("unit", "better"), wanted[key], strict=True)) for key in missing]
        found |= _by_key(session.execute(_ADD, {"project_id": project_id, "rows": as_json(rows)}))
        found |= _existing(
            session, [key for key in missing if key not in found]
        )  # what others made meanwhile
    return found


_ADD = text(
    """
    insert into series (project_id, case_id, metric, device_class, version, unit, better)
    select :project_id, case_id, metric, device_class, version, unit, better
    from json_to_recordset(cast(:rows as json))
      as given(case_id bigint, metric text, device_class text, version text, unit text, better text)
    order by case_id, metric, device_class, version  -- one order everywhere, so that none deadlock
    on conflict do nothing
    returning case_id, metric, device_class, version, id, unit, better
    """
)

_EXISTING = text(
    """
    select case_id, metric, device_class, version, series.id, series.unit, series.better
    from json_to_recordset(cast(:rows as json))
      as given(case_id bigint, metric text, device_class text, version text)
    join series using (case_id, metric, device_class, version)
    """
)


def _existing(session: Session, keys: Collection[SeriesKey]) -> dict[SeriesKey, KnownSeries]:
    if not keys:
        return {}
    return _by_key(session.execute(_EXISTING, {"rows": as_json([vars(key) for key in keys])}))


def _by_key(rows: Iterable[Any]) -> dict[SeriesKey, KnownSeries]:
    return {SeriesKey(*row[:4]): KnownSeries(*row[4:]) for row in rows}


def add_results(session: Session, results: Sequence[NewResult]) -> None:
    """Store results and, apart from them, their samples; all numbers are finite."""
    if results:
        in_one_trip(session, (_ADD_RESULTS, {"rows": as_rows(results)}))


def as_rows(results: Sequence[NewResult]) -> str:
    """Return results as the parameter `rows` of `storing`."""
    return as_json([vars(result) for result in results])


NEW_RESULT = """
    series_id bigint, commit_id bigint, run_id bigint, arm text,
    value float8, low float8, high float8, "values" float8[], void bigint[],
    flags text[], measured_at timestamptz, branch text
"""
"""What `NewResult` as JSON are read as."""

_GIVEN = f"json_to_recordset(%(rows)s::json) as new({NEW_RESULT})"


def storing(
    *, given: str = _GIVEN, upload: str = "null::bigint", commit: str = "new.commit_id", beside: str = ""
) -> str:
    """Return the common table expressions that store results and their samples.

    Args:
        given: where the results come from, as `new`; else they are the parameter `rows`.
        upload: where the id of their upload comes from; they have none where it is not given.
        commit: where the id of their commit comes from.
        beside: another expression, of one row, that these are columns of; where it is empty, nothing is stored.
    """
    return f"""
    given as materialized (
      select nextval((select cast(pg_get_serial_sequence('result', 'id') as regclass))) as id,
        series_id, {commit} as commit_id, run_id, {upload} as upload_id, arm, value, low, high, "values", void,
        flags, measured_at, branch
      from {given} {beside}
    ), stored as (
      insert into result
        (id, series_id, commit_id, run_id, upload_id, arm, value, low, high, n, flags, measured_at, branch)
      select id, series_id, commit_id, run_id, upload_id, arm, value, low, high,
        cardinality("values") - cardinality(void), nullif(flags, '{{}}'), measured_at, branch
      from given
    ), sampled as (
      insert into sample (result_id, "values", void) select id, "values", nullif(void, '{{}}') from given
    )
    """  # noqa: S608  # nothing of it is anybody's but ours


_ADD_RESULTS = f"with {storing()} select"


class Point(NamedTuple):
    """What makes two points of an upload the same: numbers, and when they were measured.

    Of how many values they are does not count: where those are no longer kept, an export tells the median alone.
    """

    series_id: int
    commit_id: int
    branch: str | None
    measured_at: datetime
    value: float
    low: float
    high: float


def posted_points(session: Session, wanted: Collection[tuple[int, int]]) -> set[Point]:
    """Return the points that were posted of these (series, commit)."""
    rows = as_json([{"series_id": series, "commit_id": commit} for series, commit in wanted])
    return {Point(*row) for row in session.execute(_POSTED_POINTS, {"rows": rows})}


_POSTED_POINTS = text(
    """
    select series_id, commit_id, branch, measured_at, value, low, high
    from (
      select distinct series_id, commit_id
      from json_to_recordset(cast(:rows as json)) as new(series_id bigint, commit_id bigint)) as given
    join result using (series_id, commit_id)
    where upload_id is not null
    """
)


def one(session: Session, series_id: int) -> tuple[Series, BenchmarkCase] | None:
    """Return the series with its case, or None."""
    row = session.execute(
        select(Series, BenchmarkCase)
        .join(BenchmarkCase, BenchmarkCase.id == Series.case_id)
        .where(Series.id == series_id)
    ).one_or_none()
    return (row[0], row[1]) if row else None


def points(
    session: Session, series_id: int, *, before: int | None = None, limit: int
) -> Sequence[tuple[Result, Commit]]:
    """Return the newest `limit` results of the series, or those next older than one, oldest first, with commits."""
    query = (
        select(Result, Commit)
        .join(Commit, Commit.id == Result.commit_id)
        .where(Result.series_id == series_id)
        .order_by(Result.id.desc())
        .limit(limit)
    )
    rows = session.execute(query if before is None else query.where(Result.id < before)).all()
    return [(row[0], row[1]) for row in reversed(rows)]


def values(session: Session, result_ids: Sequence[int]) -> dict[int, list[float]]:
    """Return the kept values of each result."""
    rows: Sequence[Any] = session.execute(
        select(Sample.result_id, Sample.values).where(Sample.result_id.in_(result_ids))
    ).all()
    return {row[0]: row[1] for row in rows}


def counts(session: Session, series_ids: Sequence[int]) -> dict[int, int]:
    """Return how many results each series has: those in its histories, which know their length, and those in none."""
    rows = session.execute(_COUNTS, {"ids": as_json(list(series_ids))})
    return {row[0]: row[1] for row in rows}


LENGTH = """
      (select cast(coalesce(sum(length), 0) as bigint) from history where series_id = series.id)
      + (select count(*) from result where series_id = series.id and branch is not null and place is null)
      + (select count(*) from result where series_id = series.id and branch is null)
"""
"""How many results a series has, in a query of `series`."""

_COUNTS = text(
    f"""
    select series.id, {LENGTH}
    from series
    where series.id in (select cast(value as bigint) from json_array_elements_text(cast(:ids as json)))
    """  # noqa: S608  # nothing of it is anybody's but ours
)


def newest(session: Session, series_ids: Sequence[int]) -> dict[int, tuple[Result, Commit]]:
    """Return the newest result of each series with its commit; a series without any is left out."""
    last = select(func.max(Result.id)).where(Result.series_id.in_(series_ids)).group_by(Result.series_id)
    rows = session.execute(
        select(Result, Commit).join(Commit, Commit.id == Result.commit_id).where(Result.id.in_(last))
    )
    return {row[0].series_id: (row[0], row[1]) for row in rows}
