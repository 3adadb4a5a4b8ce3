"""Repositories on the forge."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import and_, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import Check, Project, Repository


def repository(
    session: Session, external_id: int, *, slug: str, branch: str, installation: int | None
) -> Repository:
    """Return the repository as it is called now, made if it is new; what a message tells of it is taken over."""
    told = {"slug": slug, "branch": branch, "installation": installation, "is_connected": True}
    statement = insert(Repository).values(external_id=external_id, **told)
    statement = statement.on_conflict_do_update(index_elements=["external_id"], set_=told)
    repository_id = session.scalar(statement.returning(Repository.id))
    return session.get_one(Repository, repository_id, populate_existing=True)


def locked(session: Session, repository_id: int) -> Repository:
    """Lock and return a repository."""
    return session.get_one(
        Repository, repository_id, populate_existing=True, with_for_update={"key_share": True}
    )


def connected(session: Session) -> Sequence[Repository]:
    """Return the repositories that can be reached, in id order."""
    return session.scalars(select(Repository).where(Repository.is_connected).order_by(Repository.id)).all()


def disconnect(session: Session, external_ids: Sequence[int], installation: int | None) -> int:
    """Note that these repositories, else all, are not reached through an installation any more; return how many.

    One that another installation reaches by now has moved: messages overtake each other.
    """
    its = Repository.installation == installation
    if external_ids:
        of_it = or_(its, Repository.installation.is_(None)) if installation is not None else true()
        its = and_(of_it, Repository.external_id.in_(external_ids))
    statement = update(Repository).where(its, Repository.is_connected).values(is_connected=False)
    return len(session.scalars(statement.returning(Repository.id)).all())


def reconnect(session: Session, repositories: Sequence[tuple[int, str]], installation: int) -> int:
    """Note that an installation reaches these, (forge's id, slug), else all it reached; return how many are known."""
    if not repositories:
        its = update(Repository).where(Repository.installation == installation).values(is_connected=True)
        return len(session.scalars(its.returning(Repository.id)).all())
    n = 0
    for external_id, slug in sorted(repositories):
        values = {"slug": slug, "installation": installation, "is_connected": True}
        statement = update(Repository).where(Repository.external_id == external_id).values(values)
        n += len(session.scalars(statement.returning(Repository.id)).all())
    return n


def move(session: Session, external_id: int, slug: str, branch: str) -> None:
    """Note what a repository is called now, and its default branch."""
    where = Repository.external_id == external_id
    session.execute(update(Repository).where(where).values(slug=slug, branch=branch))


def connected_projects(session: Session) -> frozenset[str]:
    """Return the names of the projects whose repository can be reached."""
    joined = select(Project.name).join(Repository, Repository.project_id == Project.id)
    return frozenset(session.scalars(joined.where(Repository.is_connected)))


def owner_of(session: Session, project_id: int) -> Repository | None:
    """Return the repository that a project is of."""
    return session.scalars(
        select(Repository).where(Repository.project_id == project_id).order_by(Repository.id).limit(1)
    ).one_or_none()


def newest_check(session: Session, repository_id: int) -> Check | None:
    """Return the newest check of the repository's project, None where nothing of it was measured yet."""
    query = (
        select(Check)
        .join(Repository, Repository.project_id == Check.project_id)
        .where(Repository.id == repository_id)
    )
    return session.scalars(query.order_by(Check.id.desc()).limit(1)).one_or_none()
