"""Whose account on GitHub is whose here."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import GitHubAccount, User


def link(
    session: Session, user_id: int, github_id: int, login: str, *, by_organization: bool
) -> GitHubAccount | None:
    """Store whose account it is; return None where it is somebody's, or the person has one."""
    its = {"user_id": user_id, "github_id": github_id, "login": login, "by_organization": by_organization}
    statement = insert(GitHubAccount).values(its).on_conflict_do_nothing()
    return session.scalars(statement.returning(GitHubAccount)).one_or_none()


def unlink(session: Session, user_id: int) -> GitHubAccount | None:
    """Forget a person's account, and return it; None where they have none."""
    statement = delete(GitHubAccount).where(GitHubAccount.user_id == user_id)
    return session.scalars(statement.returning(GitHubAccount)).one_or_none()


def of_user(session: Session, user_id: int) -> GitHubAccount | None:
    """Return a person's account, or None."""
    return session.get(GitHubAccount, user_id)


def with_person(session: Session, github_id: int) -> tuple[GitHubAccount, User] | None:
    """Return the account of this number with whose it is, both kept as they are until the transaction ends, or None."""
    query = (
        select(GitHubAccount, User)
        .join(User, User.id == GitHubAccount.user_id)
        .where(GitHubAccount.github_id == github_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    )
    row = session.execute(query).one_or_none()
    return None if row is None else (row[0], row[1])


def everyone(session: Session) -> Sequence[GitHubAccount]:
    """Return all of them."""
    return session.scalars(select(GitHubAccount)).all()
