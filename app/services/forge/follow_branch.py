"""The default branch has grown: its newest commit is measured against the last one that was, and joins the history."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.forge.growth import Branch, SeenBranch, ask_for_growth, branch_of, keep_branch
from app.services.forge.receive_delivery import want_branch
from app.store.repositories import checks
from app.store.repositories import forge as rows
from app.store.tables import Repository

log = logging.getLogger(__name__)

EVENT = "push"
BAND = 10
"""After the pull requests that wait, before what schedules have measured."""

MOST_UNFINISHED = 3
"""Pushes that may wait to be measured; those after them are one, as long as that lasts."""

CROWDED_S = 60.0
"""When it is looked at again whether they are measured [s]."""


@dataclass(frozen=True)
class Pushed:
    """A branch to look at, and its commit that was measured last, None where none was.

    Where it is crowded nothing more is measured of it for now; its settings are followed all the same.
    """

    branch: Branch
    since: str | None
    is_crowded: bool


def pushed_branch(session: Session, repository_id: int) -> Pushed:
    """Return the branch that was pushed to."""
    its = session.get_one(Repository, repository_id)
    unfinished = checks.unfinished(session, its.project_id, EVENT) if its.project_id else 0
    return Pushed(branch_of(its), its.branch_sha, unfinished >= MOST_UNFINISHED)


def follow_branch(
    session: Session,
    settings: ServiceSettings,
    repository_id: int,
    pushed: Pushed,
    seen: SeenBranch,
    asked_at: datetime,
) -> None:
    """Have measured what has grown, once; where somebody else has meanwhile, it is looked at again."""
    repository = rows.locked(session, repository_id)
    if repository.branch_sha != pushed.since:
        want_branch(session, repository_id)
        return
    why = keep_branch(session, repository, seen, asked_at) or seen.why
    if pushed.is_crowded and not why:
        want_branch(session, repository_id, delay_s=CROWDED_S)
        return
    if why or seen.growth is None:
        level = logging.WARNING if seen.is_refused else logging.INFO
        log.log(level, "%s of %s is not measured: %s", repository.branch, repository.slug, why)
        return
    base, head = seen.growth.comparison.base, seen.growth.comparison.head
    key = f"push/{repository.id}/{base.sha}/{head.sha}"
    ask_for_growth(session, settings, repository, seen.growth, trigger=EVENT, key=key, band=BAND)
    repository.branch_sha = head.sha
