"""What a weekly report reads of histories: levels of weeks, changes, and where series stood best.

A point is of the week of its commit's time, so that a commit that is measured late is where it belongs. The commits of
a week lie together, and so do their results: an index of ranges (BRIN) finds them, whatever else there is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ARRAY, BigInteger, Row, any_, bindparam, select, text
from sqlalchemy.orm import Session

from app.domain.alerts import OPEN_STATES
from app.domain.week import Week
from app.domain.weekly import Level, SeriesRef
from app.store.tables import ChangePoint, Commit


class CommitSpan(NamedTuple):
    """The commits of a week: how many, and the ids that they lie between."""

    n: int
    first: int
    last: int


def commits_of(session: Session, project_ids: Collection[int], week: Week) -> CommitSpan:
    """Return the projects' commits of a week; between 0 and 0 where there are none."""
    n, first, last = session.execute(_COMMITS, _in(project_ids, week)).one()
    return CommitSpan(n, first or 0, last or 0)


def levels(session: Session, project_ids: Collection[int], week: Week) -> dict[int, Level]:
    """Return the level of each series that has points of a week on its project's branch."""
    span = commits_of(session, project_ids, week)
    if not span.n:
        return {}
    rows = session.execute(_LEVELS, {**_in(project_ids, week), "first": span.first, "last": span.last})
    return {row[0]: Level(row[1][1], row[1][0], row[1][2], row[2]) for row in rows}


def series_of(session: Session, series_ids: Collection[int]) -> dict[int, SeriesRef]:
    """Return series by their ids."""
    return {row[0]: SeriesRef(*row) for row in session.execute(_SERIES, {"ids": list(series_ids)})}


def series_with(
    session: Session, project_ids: Collection[int], metrics: Collection[str]
) -> dict[int, SeriesRef]:
    """Return the projects' series of some metrics by their ids."""
    which = {"ids": list(project_ids), "metrics": list(metrics)}
    return {row[0]: SeriesRef(*row) for row in session.execute(_SERIES_WITH, which)}


def count_series(session: Session, project_ids: Collection[int]) -> int:
    """Return how many series the projects have."""
    return int(
        session.scalar(
            text("select count(*) from series where project_id = any(:ids)"), {"ids": list(project_ids)}
        )
        or 0
    )


def checks_by_conclusion(session: Session, project_ids: Collection[int], week: Week) -> list[tuple[str, int]]:
    """Return how many checks of a week ended in each way, the most common first."""
    return [(row[0], row[1]) for row in session.execute(_CHECKS, _in(project_ids, week))]


def weekly_medians(
    session: Session, series_ids: Collection[int], weeks: Sequence[Week]
) -> dict[int, tuple[float | None, ...]]:
    """Return the median of a few series in each of some weeks, which follow each other; None without a point."""
    which = {"ids": list(series_ids), "start": weeks[0].start, "end": weeks[-1].end}
    found: dict[int, dict[int, float]] = {}
    for series_id, number, median in session.execute(_MEDIANS, which):
        found.setdefault(series_id, {})[number] = median
    numbers = range(len(weeks))
    return {series_id: tuple(of.get(number) for number in numbers) for series_id, of in found.items()}


def newest_values(
    session: Session, series_ids: Collection[int], until: datetime, *, since: datetime
) -> dict[int, float]:
    """Return the value of each series' newest point on its project's branch, of a commit of that time."""
    which = {"ids": list(series_ids), "until": until, "since": since}
    return {row[0]: row[1] for row in session.execute(_NEWEST, which)}


class Best(NamedTuple):
    """The best point that a series ever had on its project's branch."""

    value: float
    sha: str


def best_points(session: Session, series_ids: Collection[int], until: datetime) -> dict[int, Best]:
    """Return the best point of each series whose commit is of before a time; the first of equal ones."""
    rows = session.execute(_BEST, {"ids": list(series_ids), "until": until})
    return {row[0]: Best(row[1], row[2]) for row in rows}


# --- changes ----------------------------------------------------------------------------------------------------


class StoredChange(NamedTuple):
    """A confirmed change of level with what it is about; `since` is its commit's time."""

    change: ChangePoint
    commit: Commit
    previous_sha: str
    since: datetime
    series: SeriesRef
    alert_id: int | None
    state: str | None
    owner: str | None
    pull: int | None
    slug: str | None


def standing_losses(session: Session, project_ids: Collection[int], until: datetime) -> list[StoredChange]:
    """Return the confirmed changes for the worse of before a time that nobody accepted, closed or undid.

    What is the machine's is none. A change is undone by a later confirmed one of its history that takes three quarters
    of it back, if that too is of before the time; or where its alert was said to be mended before the time. That
    somebody accepted it, or that it was nothing, counts whenever it was said: nobody wants to read of it.
    """
    return _changes(session, _LOSSES, project_ids, until)


def gains_between(
    session: Session, project_ids: Collection[int], start: datetime, end: datetime
) -> list[StoredChange]:
    """Return the confirmed changes for the better of code whose commit, or confirmation, is of that time."""
    return _changes(session, _GAINS, project_ids, end, start=start)


def suspected_between(session: Session, project_ids: Collection[int], start: datetime, end: datetime) -> int:
    """Return how many suspicions there are of commits of that time."""
    which = {"ids": list(project_ids), "start": start, "end": end}
    return int(session.scalar(_SUSPECTED, which) or 0)


def confirmed_effects(
    session: Session, project_ids: Collection[int], start: datetime, end: datetime
) -> dict[int, list[tuple[datetime, float]]]:
    """Return the confirmed changes of level of each series with a commit of that time: its time, and ln(after/before).

    The machine's are among them, and those that were undone: they explain where the level is.
    """
    found: dict[int, list[tuple[datetime, float]]] = {}
    which = {"ids": list(project_ids), "start": start, "end": end}
    for series_id, at, effect in session.execute(_EFFECTS, which):
        found.setdefault(series_id, []).append((at, effect))
    return found


def devices_behind(session: Session, result_ids: Collection[int]) -> dict[int, int]:
    """Return how many devices worked together on each of some results, where that is known."""
    rows = session.execute(_DEVICES, {"ids": list(result_ids)})
    return {row[0]: row[1] for row in rows if isinstance(row[1], int) and row[1] > 0}


def newest_results(session: Session, series_ids: Collection[int]) -> dict[int, int]:
    """Return the id of the newest point of each series on its project's branch."""
    return {row[0]: row[1] for row in session.execute(_NEWEST_RESULTS, {"ids": list(series_ids)})}


def _changes(
    session: Session, kind: str, project_ids: Collection[int], until: datetime, **more: Any
) -> list[StoredChange]:
    which = {"ids": list(project_ids), "until": until, "open": [str(state) for state in OPEN_STATES], **more}
    rows = session.execute(text(_CHANGE.format(which=kind)), which).all()
    ids, commit_ids = [row.id for row in rows], {row.commit_id for row in rows}
    points = {one.id: one for one in _all(session, ChangePoint, ids)}
    commits = {one.id: one for one in _all(session, Commit, commit_ids)}
    return [_stored(row, points, commits) for row in rows]


def _stored(row: Row[Any], points: Mapping[int, ChangePoint], commits: Mapping[int, Commit]) -> StoredChange:
    series = SeriesRef(
        row.series_id,
        row.project,
        row.benchmark,
        row.params,
        row.metric,
        row.unit,
        row.better,
        row.device_class,
    )
    its = (row.alert_id, row.state, row.owner, row.pull, row.slug)
    return StoredChange(points[row.id], commits[row.commit_id], row.previous_sha, row.since, series, *its)


def _all(session: Session, table: Any, ids: Collection[int]) -> Sequence[Any]:
    its = bindparam("ids", list(ids), type_=ARRAY(BigInteger))
    return session.scalars(select(table).where(table.id == any_(its))).all()


def _in(project_ids: Collection[int], week: Week) -> dict[str, Any]:
    return {"ids": list(project_ids), "start": week.start, "end": week.end}


_COMMITS = text(
    """
    select count(*), min(id), max(id) from commit
    where project_id = any(:ids)
      and coalesce(authored_at, created_at) >= :start and coalesce(authored_at, created_at) < :end
    """
)

_LEVELS = text(
    """
    with its as materialized (
      select commit.id, project.branch
      from commit join project on project.id = commit.project_id
      where commit.project_id = any(:ids)
        and coalesce(commit.authored_at, commit.created_at) >= :start
          and coalesce(commit.authored_at, commit.created_at) < :end)
    select series_id, percentile_cont(array[0.25, 0.5, 0.75]) within group (order by value), count(*)
    from result join its on its.id = result.commit_id and its.branch = result.branch
    where commit_id between :first and :last and place is not null
    group by series_id
    """
)

_SERIES_ROWS = """
    select series.id, project.name, benchmark, params, metric, unit, better, device_class
    from series
      join benchmark_case on benchmark_case.id = series.case_id
      join project on project.id = series.project_id
    where {which}
    order by series.id
    """

_SERIES = text(_SERIES_ROWS.format(which="series.id = any(:ids)"))

_SERIES_WITH = text(_SERIES_ROWS.format(which="series.project_id = any(:ids) and metric = any(:metrics)"))

_CHECKS = text(
    """
    select conclusion, count(*) from "check"
    where project_id = any(:ids) and concluded_at >= :start and concluded_at < :end and conclusion is not null
    group by conclusion order by count(*) desc, conclusion
    """
)

# Weeks are counted from the start of the first.
_MEDIANS = text(
    """
    select series.id,
      cast(floor(extract(epoch from
        coalesce(commit.authored_at, commit.created_at) - :start) / 604800) as int) as number,
      percentile_cont(0.5) within group (order by value)
    from series
      join project on project.id = series.project_id
      join result on result.series_id = series.id and result.branch = project.branch and place is not null
      join commit on commit.id = result.commit_id
    where series.id = any(:ids) and coalesce(commit.authored_at, commit.created_at) >= :start
      and coalesce(commit.authored_at, commit.created_at) < :end
    group by series.id, number
    """
)

_NEWEST = text(
    """
    select series.id, newest.value
    from series
      join project on project.id = series.project_id
      cross join lateral (
        select value, coalesce(commit.authored_at, commit.created_at) as time
        from result join commit on commit.id = result.commit_id
        where series_id = series.id and result.branch = project.branch and place is not null
          and coalesce(commit.authored_at, commit.created_at) < :until
        order by place desc, result.id desc limit 1) as newest
    where series.id = any(:ids) and newest.time >= :since
    """
)

_BEST = text(
    """
    select distinct on (series.id) series.id, value, commit.sha
    from series
      join project on project.id = series.project_id
      join result on result.series_id = series.id and result.branch = project.branch and place is not null
      join commit on commit.id = result.commit_id
    where series.id = any(:ids) and coalesce(commit.authored_at, commit.created_at) < :until
    order by series.id, case better when 'lower' then value else -value end, place, result.id
    """
)

_CHANGE = """
    select change_point.id, change_point.commit_id, change_point.series_id, previous.sha as previous_sha,
      coalesce(its.authored_at, its.created_at) as since,
      project.name as project, benchmark, params, metric, unit, better, device_class,
      alert.id as alert_id, alert.state, alert.owner,
      coalesce(alert.number, origin.number) as pull, repository.slug
    from change_point
      join series on series.id = change_point.series_id
      join benchmark_case on benchmark_case.id = series.case_id
      join project on project.id = change_point.project_id
      join commit as its on its.id = change_point.commit_id
      join commit as previous on previous.id = change_point.previous_commit_id
      left join alert_change on alert_change.change_point_id = change_point.id and not has_left
      left join alert on alert.id = alert_change.alert_id
      left join origin on origin.change_point_id = change_point.id
      left join repository on repository.id = coalesce(alert.repository_id, origin.repository_id)
    where change_point.project_id = any(:ids) and change_point.branch = project.branch
      and change_point.state = 'confirmed' and label is null and before > 0 and after > 0
      and coalesce(its.authored_at, its.created_at) < :until
      {which}
    order by change_point.id
    """

_LOSSES = """
      and (after > before) = (better = 'lower')
      and (alert.id is null or alert.state = any(:open) or (alert.state = 'fixed' and alert.moved_at >= :until))
      and not exists (select from acceptance where change_point_id = change_point.id)
      and not exists (
        select from change_point as later join commit on commit.id = later.commit_id
        where later.series_id = change_point.series_id and later.branch = change_point.branch
          and later.state = 'confirmed' and later.index > change_point.index
          and (later.after > later.before) <> (change_point.after > change_point.before)
          and later.before > 0 and later.after > 0
          and abs(ln(later.after / later.before)) >= 0.75 * abs(ln(change_point.after / change_point.before))
          and coalesce(commit.authored_at, commit.created_at) < :until)
    """

_GAINS = """
      and (after > before) = (better = 'higher')
      and (coalesce(its.authored_at, its.created_at) >= :start
        or (confirmed_at >= :start and confirmed_at < :until
          and coalesce(its.authored_at, its.created_at) >= :start - interval '28 days'))
    """

_SUSPECTED = text(
    """
    select count(*)
    from change_point join commit on commit.id = change_point.commit_id
      join project on project.id = change_point.project_id and project.branch = change_point.branch
    where change_point.project_id = any(:ids) and state = 'suspected' and label is null
      and coalesce(commit.authored_at, commit.created_at) >= :start
        and coalesce(commit.authored_at, commit.created_at) < :end
    """
)

_EFFECTS = text(
    """
    select series_id, coalesce(commit.authored_at, commit.created_at), ln(after / before)
    from change_point join commit on commit.id = change_point.commit_id
      join project on project.id = change_point.project_id and project.branch = change_point.branch
    where change_point.project_id = any(:ids) and state = 'confirmed' and before > 0 and after > 0
      and coalesce(commit.authored_at, commit.created_at) >= :start
        and coalesce(commit.authored_at, commit.created_at) < :end
    """
)

_DEVICES = text(
    """
    select result.id, cast(coalesce(
      job.devices_needed,
      case when jsonb_typeof(machine -> 'devices') = 'number'
        then floor(cast(machine ->> 'devices' as numeric)) end) as int)
    from result
      left join run on run.id = result.run_id
      left join job on job.id = run.job_id
      left join upload on upload.id = result.upload_id
      left join environment on environment.id = upload.environment_id
    where result.id = any(:ids)
    """
)

_NEWEST_RESULTS = text(
    """
    select series.id, newest.id
    from series
      join project on project.id = series.project_id
      cross join lateral (
        select id from result
        where series_id = series.id and branch = project.branch and place is not null
        order by place desc, id desc limit 1) as newest
    where series.id = any(:ids)
    """
)
