"""The pull request that a check is of, as its page names it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.repositories import pulls


@dataclass(frozen=True)
class ShownPull:
    """Its number, title and author as they were last seen, and where it is."""

    number: int
    title: str
    author: str
    url: str


def shown_pull(session: Session, settings: ServiceSettings, check_id: int) -> ShownPull | None:
    """Return the pull request whose newest head a check is of; None where there is none."""
    found = pulls.shown_with_check(session, check_id)
    if found is None:
        return None
    pull, slug = found
    return ShownPull(pull.number, pull.title, pull.author, settings.pull_address(slug, pull.number))
