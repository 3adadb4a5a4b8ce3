"""Histories: the points of a series on one branch in the order of their commits.

A point's `place` orders the commits, and its id the results of one commit. Places are numbers with room between them,
so that a commit that turns up late goes between two others without touching them.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, exists, func, select, text
from sqlalchemy.orm import Session

from app.store.pipeline import in_one_trip
from app.store.tables import Commit, Result, Run, Series, Upload

UNPLACED = Result.branch.is_not(None), Result.place.is_(None)
"""What a result of a history is until its series is examined."""

ARRIVED_AT = func.coalesce(
    select(Run.published_at).where(Run.id == Result.run_id).scalar_subquery(),
    select(Upload.created_at).where(Upload.id == Result.upload_id).scalar_subquery(),
    Result.measured_at,
)
"""When a result came in: with its run or its upload, which say so once for all of theirs."""


PROJECT_LOCK = 0x52414345
"""First key of the advisory locks of projects that are being examined ("RACE"); the second is the project."""


@dataclass(frozen=True)
class Examined:
    """A series that is being examined, locked, and what the newest check of its project told its judge (None: none)."""

    id: int
    project_id: int
    case_id: int
    metric: str
    unit: str
    policy: dict[str, Any] | None


class Moment(NamedTuple):
    """When a commit was: its position in first-parent order (None: nobody knows), and when it was measured first."""

    position: int | None
    time: datetime


class Unplaced(NamedTuple):
    """A result that has no place in its branch's history yet, with its commit and what is known of that history.

    `place` is where other results of the commit are; `children` are the ids of the commits whose parent it is, and
    `children_places` theirs. All three are None where there are none.
    """

    result_id: int
    branch: str
    commit_id: int
    position: int | None
    place: float | None
    children: list[int] | None
    children_places: list[float | None] | None
    length: int
    last_place: float
    """Of the history that it will be placed in; both 0 where it begins one."""
    has_recent_changes: bool
    """Whether any change point of its newest rows is stored, or any suspicion."""
    measured_at: datetime
    is_backdated: bool
    """Whether the post said when it was measured, which then tells where its commit belongs."""

    @property
    def moment(self) -> Moment:
        """When it was, of a commit that has no place yet."""
        return Moment(self.position, self.measured_at)


class Points(NamedTuple):
    """Consecutive points of a history, oldest first, as columns; a run is 0 where the result was posted."""

    result_ids: tuple[int, ...]
    commit_ids: tuple[int, ...]
    run_ids: tuple[int, ...]
    values: tuple[float, ...]

    def last(self, n: int) -> Points:
        """Return the last `n` of them, 1 ≤ n ≤ their number."""
        return Points(self.result_ids[-n:], self.commit_ids[-n:], self.run_ids[-n:], self.values[-n:])


def due(session: Session, project_id: int, limit: int) -> Sequence[int]:
    """Return series of the project that have results nobody examined yet.

    They come in a random order: whoever has no time for all must not always begin with the same, which may fail.
    """
    unplaced = exists().where(Result.series_id == Series.id, *UNPLACED)
    query = (
        select(Series.id)
        .where(Series.project_id == project_id, unplaced)
        .order_by(func.random())
        .limit(limit)
    )
    return session.scalars(query).all()


def projects_due(session: Session, *, older_than: timedelta) -> Sequence[int]:
    """Return projects with results that nobody examined although it is time."""
    waiting = select(Result.series_id).where(*UNPLACED, func.clock_timestamp() - older_than > ARRIVED_AT)
    query = select(Series.project_id).where(Series.id.in_(waiting)).distinct().order_by(Series.project_id)
    return session.scalars(query).all()


def try_lock_project(session: Session, project_id: int) -> bool:
    """Lock the project's examination until the transaction ends, without waiting; False where another has it."""
    query = func.pg_try_advisory_xact_lock(PROJECT_LOCK, project_id % 2**31)
    return bool(session.scalar(select(query)))


def give_branches(session: Session, limit: int) -> int:
    """Give results that a release without histories stored the branch that they are of; return to how many."""
    result = session.execute(_BRANCHES, {"limit": limit})
    return int(getattr(result, "rowcount", 0))


_BRANCHES = text(
    """
    update result set branch = coalesce(its_commit.branch, project.branch)
    from series join project on project.id = series.project_id, commit as its_commit
    where series.id = result.series_id and its_commit.id = result.commit_id
      and result.id in (
        select id from result where branch is null and (upload_id is not null or arm = 'base')
        order by id limit :limit for update skip locked)
    """
)


def lock(session: Session, series_id: int) -> Examined | None:
    """Lock and return the series; results may be added meanwhile, nobody else examines it. None if there is none.

    The transaction's commit is not waited for on disk: what a crash of PostgreSQL undoes of an examination is due
    again, and whatever was stored on top of it, such as the lease of a job that it asked for, is undone with it.
    """
    (rows,) = in_one_trip(session, (_LOCK, {"id": series_id}))
    return Examined(*rows[0][:-1]) if rows else None


def lock_with_unplaced(
    session: Session, series_id: int, limit: int, *, recent: int
) -> tuple[Examined, list[Unplaced]] | None:
    """Lock the series as `lock` does, and return with it up to `limit` results that have no place yet.

    These come in the order of their arrival. The last `recent` rows of a history are its newest.
    """
    locked, new = in_one_trip(
        session,
        (_LOCK, {"id": series_id}),
        (_UNPLACED, {"series_id": series_id, "limit": limit, "recent": recent}),
    )
    return (Examined(*locked[0][:-1]), [Unplaced._make(row) for row in new]) if locked else None


_LOCK = """
    select series.id, series.project_id, series.case_id, series.metric, series.unit,
      (select job.policy from "check"
         join request_job on request_job.request_id = "check".request_id
         join job on job.id = request_job.job_id
       where "check".project_id = series.project_id order by "check".id desc limit 1) as policy,
      set_config('synchronous_commit', 'off', true)
    from series where series.id = %(id)s for no key update of series
    """


# The least place of a commit is a filtered one: else PostgreSQL would walk the history in the order of its places.
_UNPLACED = """
    select new.id, new.branch, new.commit_id, its_commit.position,
      (select min(place) filter (where branch = new.branch) from result
       where series_id = new.series_id and commit_id = new.commit_id) as place,
      family.children, family.places,
      coalesce(history.length, 0), coalesce(history.last_place, 0.0),
      exists (
        select from change_point
        where series_id = new.series_id and branch = new.branch
          and (index >= history.length - %(recent)s or state = 'suspected')),
      new.measured_at, 'backdated' = any(coalesce(new.flags, '{}'))
    from result as new
      join commit as its_commit on its_commit.id = new.commit_id
      left join history on history.series_id = new.series_id and history.branch = new.branch
      cross join lateral (
        select array_agg(child.id) as children, array_agg(
          (select min(place) filter (where branch = new.branch) from result
           where series_id = new.series_id and commit_id = child.id)) as places
        from commit as child
        where child.project_id = its_commit.project_id and child.parent_sha = its_commit.sha) as family
    where new.series_id = %(series_id)s and new.branch is not null and new.place is null
    order by new.id
    limit %(limit)s
    """


def _in(series_id: int, branch: str) -> tuple[ColumnElement[bool], ...]:
    return Result.series_id == series_id, Result.branch == branch, Result.place.is_not(None)


def places(session: Session, series_id: int, branch: str, commit_ids: Collection[int]) -> dict[int, float]:
    """Return the places that commits have in the history; one that has none is left out."""
    if not commit_ids:
        return {}
    rows = session.execute(
        select(Result.commit_id, func.min(Result.place))
        .where(*_in(series_id, branch), Result.commit_id.in_(commit_ids))
        .group_by(Result.commit_id)
    )
    return {row[0]: row[1] for row in rows if row[1] is not None}


def newest_moments(session: Session, series_id: int, branch: str) -> list[Moment]:
    """Return moments that no commit of the history is later than; none where it is empty."""
    time, is_known = func.max(Result.measured_at), Commit.position.is_not(None)
    query = (
        select(func.max(Commit.position), time.filter(is_known), time.filter(~is_known))
        .select_from(Result)
        .join(Commit, Commit.id == Result.commit_id)
        .where(*_in(series_id, branch))
    )
    last, positioned_at, loose_at = session.execute(query).one()
    newest = ((last, positioned_at), (None, loose_at))
    return [Moment(position, time) for position, time in newest if time is not None]


def moments(session: Session, series_id: int, branch: str) -> list[tuple[float, Moment]]:
    """Return the place and the moment of every commit of the history, in the order of their places."""
    rows = session.execute(
        select(Result.place, Commit.position, func.min(Result.measured_at))
        .join(Commit, Commit.id == Result.commit_id)
        .where(*_in(series_id, branch))
        .group_by(Result.place, Commit.position)
        .order_by(Result.place)
    )
    return [(row[0], Moment(row[1], row[2])) for row in rows if row[0] is not None]


def last_place(session: Session, series_id: int, branch: str, *, before: float | None = None) -> float | None:
    """Return the last place of the history, or the last before `before`; None without any."""
    query = select(Result.place).where(*_in(series_id, branch)).order_by(Result.place.desc()).limit(1)
    return session.scalar(query if before is None else query.where(Result.place < before))


class Growth(NamedTuple):
    """What a history gains: places for results by their ids, and with them its length and its last place."""

    series_id: int
    branch: str
    places: dict[int, float]
    length: int
    last_place: float


def keep(session: Session, growth: Growth) -> None:
    """Give results their places, and store how long the history is now, and its last place."""
    in_one_trip(session, _keep(growth))


def keep_and_read(session: Session, growth: Growth, *, limit: int) -> Points:
    """Give results their places as `keep` does, and return the last `limit` points that the history then has."""
    _, rows = in_one_trip(session, _keep(growth), _tail(growth.series_id, growth.branch, limit))
    return _points(rows)


def _keep(growth: Growth) -> tuple[str, dict[str, Any]]:
    ids, its_places = list(growth.places), list(growth.places.values())
    return _KEEP, growth._asdict() | {"ids": ids, "places": its_places}


_KEEP = """
    with placed as (
      update result set place = given.place
      from unnest(cast(%(ids)s as bigint[]), cast(%(places)s as float8[])) as given(id, place)
      where result.id = given.id)
    insert into history (series_id, branch, length, last_place)
    values (%(series_id)s, %(branch)s, %(length)s, %(last_place)s)
    on conflict (series_id, branch) do update set length = excluded.length, last_place = excluded.last_place
    """


def spread(session: Session, series_id: int, branch: str, place: float) -> float:
    """Give the history whole numbers as places, in the order that it has; return the new one for `place`."""
    ranked = select(func.count(func.distinct(Result.place))).where(
        *_in(series_id, branch), Result.place <= place
    )
    rank = session.scalar(ranked) or 0
    session.execute(
        text(
            "update result set place = ranked.place from (select id, dense_rank() over (order by place) as place"
            " from result where series_id = :series_id and branch = :branch and place is not null) as ranked"
            " where result.id = ranked.id"
        ),
        {"series_id": series_id, "branch": branch},
    )
    return float(rank)


def tail(session: Session, series_id: int, branch: str, limit: int) -> Points:
    """Return the last `limit` points of the history."""
    (rows,) = in_one_trip(session, _tail(series_id, branch, limit))
    return _points(rows)


def _tail(series_id: int, branch: str, limit: int) -> tuple[str, dict[str, Any]]:
    return _TAIL, {"series_id": series_id, "branch": branch, "limit": limit}


def _points(rows: Sequence[tuple[bytes | None, ...]]) -> Points:
    results, commits, runs, values = (column or b"" for column in rows[0])
    n = len(values) // 8
    whole, real = struct.Struct(f">{n}q"), struct.Struct(f">{n}d")
    return Points(whole.unpack(results), whole.unpack(commits), whole.unpack(runs), real.unpack(values))


# Columns come as the bytes that PostgreSQL's own binary protocol has: objects for every point would take longer to make
# than all else that is read for an examination.
_TAIL = """
    select
      string_agg(int8send(id), '' order by place, id),
      string_agg(int8send(commit_id), '' order by place, id),
      string_agg(int8send(coalesce(run_id, 0)), '' order by place, id),
      string_agg(float8send(value), '' order by place, id)
    from (
      select id, commit_id, run_id, value, place from result
      where series_id = %(series_id)s and branch = %(branch)s and place is not null
      order by place desc, id desc
      limit %(limit)s) as newest
    """


def rows_of(session: Session, series_id: int, branch: str, result_ids: Collection[int]) -> dict[int, int]:
    """Return the 0-based rows of these points in the history."""
    if not result_ids:
        return {}
    row = (func.row_number().over(order_by=(Result.place, Result.id)) - 1).label("row")
    numbered = select(Result.id, row).where(*_in(series_id, branch)).subquery()
    found = session.execute(select(numbered.c.id, numbered.c.row).where(numbered.c.id.in_(result_ids)))
    return {its_id: int(number) for its_id, number in found}


def row_of_place(session: Session, series_id: int, branch: str, place: float) -> int:
    """Return how many points of the history come before this place."""
    query = select(func.count()).select_from(Result).where(*_in(series_id, branch), Result.place < place)
    return session.scalar(query) or 0


def first_place(session: Session, result_ids: Collection[int]) -> float | None:
    """Return the first place that any of these results has; None without any."""
    if not result_ids:
        return None
    return session.scalar(select(func.min(Result.place)).where(Result.id.in_(result_ids)))
