"""Weekly reports that were kept: one a project and week, and one a week of the whole installation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Commit, Project, WeeklyReport


class Kept(NamedTuple):
    """A report that was kept."""

    monday: date
    headline: str
    made_at: datetime


def newest(session: Session, project_id: int | None, *, limit: int) -> Sequence[Kept]:
    """Return the newest reports of a project, or of everything, the newest first."""
    query = (
        select(WeeklyReport.monday, WeeklyReport.headline, WeeklyReport.created_at)
        .where(_of(project_id))
        .order_by(WeeklyReport.monday.desc())
        .limit(limit)
    )
    return [Kept(*row) for row in session.execute(query)]


def html(session: Session, project_id: int | None, monday: date) -> bytes | None:
    """Return the page of a week, packed by gzip; None where none was kept."""
    return session.scalar(select(WeeklyReport.html_gz).where(_of(project_id), WeeklyReport.monday == monday))


def is_kept(session: Session, project_id: int | None, monday: date) -> bool:
    """Say whether a report of a week was kept."""
    its = _of(project_id), WeeklyReport.monday == monday
    return session.scalar(select(exists().where(*its))) or False


def put(
    session: Session,
    project_id: int | None,
    monday: date,
    headline: str,
    html_gz: bytes,
) -> None:
    """Keep a report in place of the one that there is."""
    new = {"headline": headline, "html_gz": html_gz}
    statement = insert(WeeklyReport).values(project_id=project_id, monday=monday, **new)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "monday"], set_={**new, "created_at": func.clock_timestamp()}
        )
    )


def take(session: Session) -> bool:
    """Say whether nobody else makes reports; until the transaction ends, nobody else does."""
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(_LOCK))))


_LOCK = 0x7765656B
"""Key of the advisory lock of who makes reports ("week")."""


def without(session: Session, monday: date, *, since: datetime, until: datetime) -> Sequence[Project]:
    """Return the projects without a report of a week that have commits of some time, by name."""
    query = (
        select(Project)
        .where(
            exists().where(
                Commit.project_id == Project.id,
                func.coalesce(Commit.authored_at, Commit.created_at) >= since,
                func.coalesce(Commit.authored_at, Commit.created_at) < until,
            ),
            ~exists().where(WeeklyReport.project_id == Project.id, WeeklyReport.monday == monday),
        )
        .order_by(Project.name)
    )
    return session.scalars(query).all()


def first_commit_at(session: Session, project_ids: Collection[int]) -> datetime | None:
    """Return the time of the oldest commit that is known of some projects."""
    time = func.coalesce(Commit.authored_at, Commit.created_at)
    return session.scalar(select(func.min(time)).where(Commit.project_id.in_(project_ids)))


def _of(project_id: int | None) -> ColumnElement[bool]:
    return WeeklyReport.project_id.is_(None) if project_id is None else WeeklyReport.project_id == project_id
