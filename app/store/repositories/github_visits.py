"""Browsers that were sent to GitHub and are not back yet."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from app.store.tables import GitHubVisit


def begin(session: Session, row: GitHubVisit, *, within: timedelta) -> None:
    """Store that a browser leaves; those that are not back in time are forgotten on the way."""
    late = (
        select(GitHubVisit.state_sha256)
        .where(GitHubVisit.began_at < func.clock_timestamp() - within)
        .with_for_update(skip_locked=True)
    )
    session.execute(delete(GitHubVisit).where(GitHubVisit.state_sha256.in_(late)))
    session.add(row)
    session.flush()


def end(session: Session, state_sha256: str, *, within: timedelta) -> GitHubVisit | None:
    """Forget the visit of this state, and return it; None where there is none that began lately enough."""
    statement = delete(GitHubVisit).where(
        GitHubVisit.state_sha256 == state_sha256, GitHubVisit.began_at > func.clock_timestamp() - within
    )
    return session.scalars(statement.returning(GitHubVisit)).one_or_none()
