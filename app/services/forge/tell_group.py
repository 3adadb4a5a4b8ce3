"""What the forge should say of a merge queue's group just now: one check on its head, and no comment."""

from __future__ import annotations

import re

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.forge.tell_pull import tell_check, tell_untaken
from app.store.repositories import pulls
from app.store.tables import MergeGroup, Repository

_OF_PULL = re.compile(r"/pr-(\d{1,18})-[0-9a-f]+$")
"""How a queue names a group's branch: after the one pull request that the group has on top of the one below it."""


def pull_number(head_ref: str) -> int | None:
    """Return the pull request that a group's branch is of, None where its name does not tell."""
    found = _OF_PULL.search(head_ref)
    return int(found[1]) if found else None


def tell_group(
    session: Session, settings: ServiceSettings, repository: Repository, group: MergeGroup
) -> None:
    """Have the forge told how a group stands. The caller has locked it: what is newer must not be overtaken.

    What somebody accepted of its pull request is accepted of the group, too: else it could never be merged.
    """
    if group.check_id is None:
        tell_untaken(session, repository, group.head_sha, group.trouble, f"group {group.id}")
        return
    number = pull_number(group.head_ref)
    pull = None if number is None else pulls.locked(session, repository.id, number)
    tell_check(session, settings, repository, group.check_id, pull)
