"""Histories: the points of a series on one branch in the order of their commits.

A point's `place` orders the commits, and its id the results of one commit. Places are numbers with room between them,
so that a commit that turns up late goes between two others without touching them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import ColumnElement, exists, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Commit, History, Result, Series

UNPLACED = Result.branch.is_not(None), Result.place.is_(None)
"""What a result of a history is until its series is examined."""


PROJECT_LOCK = 0x52414345
"""First key of the advisory locks of projects that are being examined ("RACE"); the second is the project."""


@dataclass(frozen=True)
class Unplaced:
    """A result that has no place in its branch's history yet, with what is known of its commit's ancestry."""

    result_id: int
    branch: str
    commit_id: int
    sha: str
    position: int | None
    length: int
    last_place: float
    """Of the history that it will be placed in; both 0 where it begins one."""


@dataclass(frozen=True)
class Point:
    """A point of a history."""

    result_id: int
    commit_id: int
    run_id: int | None
    value: float


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
    waiting = select(Result.series_id).where(
        *UNPLACED, Result.created_at < func.clock_timestamp() - older_than
    )
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


def lock(session: Session, series_id: int) -> Series | None:
    """Lock and return the series; results may be added meanwhile, nobody else examines it. None if there is none."""
    return session.get(Series, series_id, with_for_update={"key_share": True}, populate_existing=True)


def unplaced(session: Session, series_id: int, limit: int) -> Sequence[Unplaced]:
    """Return results of the series that have no place yet, in the order of their arrival."""
    rows = session.execute(
        select(
            Result.id,
            Result.branch,
            Commit.id,
            Commit.sha,
            Commit.position,
            func.coalesce(History.length, 0),
            func.coalesce(History.last_place, 0.0),
        )
        .join(Commit, Commit.id == Result.commit_id)
        .outerjoin(History, (History.series_id == Result.series_id) & (History.branch == Result.branch))
        .where(Result.series_id == series_id, *UNPLACED)
        .order_by(Result.id)
        .limit(limit)
    )
    return [Unplaced(row[0], row[1] or "", *row[2:]) for row in rows]


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


def family(
    session: Session, series: Series, branch: str, new: Sequence[Unplaced]
) -> tuple[dict[int, float], dict[str, list[int]]]:
    """Return places of the new results' commits and of their children, and the ids of the children by parent's sha.

    Commits without a place in the history are left out.
    """
    rows = session.execute(
        _FAMILY,
        {
            "project_id": series.project_id,
            "series_id": series.id,
            "branch": branch,
            "ids": list({result.commit_id for result in new}),
            "shas": list({result.sha for result in new}),
        },
    )
    of_commit: dict[int, float] = {}
    of_parent: dict[str, list[int]] = defaultdict(list)
    for commit_id, parent, place in rows:
        if place is not None:
            of_commit[commit_id] = place
        if parent is not None:
            of_parent[parent].append(commit_id)
    return of_commit, of_parent


_FAMILY = text(
    """
    select result.commit_id, null as parent_sha, min(result.place) from result
    where result.series_id = :series_id and result.commit_id = any(:ids) and result.branch = :branch
      and result.place is not null
    group by result.commit_id
    union all
    select child.id, child.parent_sha, (
      select min(result.place) from result
      where result.series_id = :series_id and result.commit_id = child.id and result.branch = :branch)
    from commit as child where child.project_id = :project_id and child.parent_sha = any(:shas)
    """
)


def first_place_after_position(session: Session, series_id: int, branch: str, position: int) -> float | None:
    """Return the first place of a commit that is later in first-parent order; None without any."""
    query = (
        select(func.min(Result.place))
        .join(Commit, Commit.id == Result.commit_id)
        .where(*_in(series_id, branch), Commit.position > position)
    )
    return session.scalar(query)


def last_place(session: Session, series_id: int, branch: str, *, before: float | None = None) -> float | None:
    """Return the last place of the history, or the last before `before`; None without any."""
    query = select(Result.place).where(*_in(series_id, branch)).order_by(Result.place.desc()).limit(1)
    return session.scalar(query if before is None else query.where(Result.place < before))


def put(session: Session, places_of: dict[int, float]) -> None:
    """Give results their places: result → place, in one statement."""
    statement = text(
        "update result set place = given.place from unnest(cast(:ids as bigint[]), cast(:places as float8[]))"
        " as given(id, place) where result.id = given.id"
    )
    session.execute(statement, {"ids": list(places_of), "places": list(places_of.values())})


def keep(session: Session, series_id: int, branch: str, length: int, last_place: float) -> None:
    """Store how long the history is now, and its last place."""
    values = {"length": length, "last_place": last_place}
    statement = insert(History).values(series_id=series_id, branch=branch, **values)
    session.execute(statement.on_conflict_do_update(index_elements=["series_id", "branch"], set_=values))


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


def tail(session: Session, series_id: int, branch: str, limit: int) -> list[Point]:
    """Return the last `limit` points of the history, oldest first."""
    rows = session.execute(
        select(Result.id, Result.commit_id, Result.run_id, Result.value)
        .where(*_in(series_id, branch))
        .order_by(Result.place.desc(), Result.id.desc())
        .limit(limit)
    ).all()
    return [Point(*row) for row in reversed(rows)]


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
