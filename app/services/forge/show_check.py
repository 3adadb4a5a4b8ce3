"""A check has moved: the forge is told how it stands, if it is the newest of something that waits for it there."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.forge.tell_group import tell_group
from app.services.forge.tell_pull import tell_pull
from app.store.repositories import awaiting
from app.store.tables import MergeGroup, PullRequest


def show_check(session: Session, settings: ServiceSettings, check_id: int) -> None:
    """Have the forge told how a check stands, of a pull request or of a merge queue's group."""
    of_pull = awaiting.of_check(session, PullRequest, check_id)
    if of_pull is not None:
        tell_pull(session, settings, of_pull[1], of_pull[0])
    of_group = awaiting.of_check(session, MergeGroup, check_id)
    if of_group is not None:
        tell_group(session, settings, of_group[1], of_group[0])
