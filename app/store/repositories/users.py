"""People who sign in by name, and their roles in projects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import GitHubAccount, Membership, Project, User


class ProjectRole(NamedTuple):
    """The role that a person has in a project."""

    project_id: int
    project: str
    role: str


def add(session: Session, name: str, **rest: object) -> User | None:
    """Store a person; return None where somebody has the name."""
    statement = insert(User).values(name=name, **rest).on_conflict_do_nothing(index_elements=["name"])
    return session.scalars(statement.returning(User)).one_or_none()


def still_has(session: Session, user: User, password_hash: str | None) -> bool:
    """Say whether a person still has this password and may sign in, and keep it so until the transaction ends."""
    its = select(User).where(User.id == user.id).with_for_update(read=True)
    now = session.scalars(its.execution_options(populate_existing=True)).one()
    return now.password_hash == password_hash and now.disabled_at is None


def named(session: Session, name: str, *, lock: bool = False) -> User | None:
    """Return the person who signs in with this name, or None."""
    query = select(User).where(User.name == name)
    return session.scalars(query.with_for_update() if lock else query).one_or_none()


def one(session: Session, user_id: int) -> User:
    """Return the person of this id."""
    return session.get_one(User, user_id)


def everyone(session: Session) -> Sequence[User]:
    """Return all people, by name."""
    return session.scalars(select(User).order_by(User.name)).all()


def roles(session: Session, user_id: int) -> Sequence[ProjectRole]:
    """Return the roles of a person, by the project's name."""
    query = (
        select(Project.id, Project.name, Membership.role)
        .join(Project, Project.id == Membership.project_id)
        .where(Membership.user_id == user_id)
        .order_by(Project.name)
    )
    return [ProjectRole._make(row) for row in session.execute(query)]


def all_roles(session: Session) -> Sequence[tuple[int, str, str]]:
    """Return person, project's name and role of everyone, by the project's name."""
    query = (
        select(Membership.user_id, Project.name, Membership.role)
        .join(Project, Project.id == Membership.project_id)
        .order_by(Project.name)
    )
    return [(row[0], row[1], row[2]) for row in session.execute(query)]


def members(session: Session, project_id: int) -> Sequence[tuple[User, str, str | None]]:
    """Return the people who have a role in a project with that role and their login on GitHub, by name."""
    query = (
        select(User, Membership.role, GitHubAccount.login)
        .join(Membership, Membership.user_id == User.id)
        .outerjoin(GitHubAccount, GitHubAccount.user_id == User.id)
        .where(Membership.project_id == project_id)
        .order_by(User.name)
    )
    return [(row[0], row[1], row[2]) for row in session.execute(query)]


def role_in(session: Session, user_id: int, project_id: int) -> str | None:
    """Return the role of a person in a project, or None."""
    row = session.get(Membership, (user_id, project_id))
    return None if row is None else row.role


def set_role(session: Session, user_id: int, project_id: int, role: str | None) -> None:
    """Give a person a role in a project, or take it with None."""
    if role is None:
        its = Membership.user_id == user_id, Membership.project_id == project_id
        session.execute(delete(Membership).where(*its))
        return
    statement = insert(Membership).values(user_id=user_id, project_id=project_id, role=role)
    session.execute(
        statement.on_conflict_do_update(index_elements=["user_id", "project_id"], set_={"role": role})
    )
