"""The default branch has grown: its newest commit is measured against the last one that was, and joins the history."""

from __future__ import annotations

import logging
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


def pushed_branch(session: Session, repository_id: int) -> tuple[Branch, str | None] | None:
    """Return the branch to look at, and its commit that was measured last; None where it has to wait for others."""
    its = session.get_one(Repository, repository_id)
    if its.project_id and checks.unfinished(session, its.project_id, EVENT) >= MOST_UNFINISHED:
        want_branch(session, repository_id, delay_s=CROWDED_S)
        return None
    return branch_of(its), its.branch_sha


def follow_branch(
    session: Session,
    settings: ServiceSettings,
    repository_id: int,
    since: str | None,
    seen: SeenBranch,
    asked_at: datetime,
) -> None:
    """Have measured what has grown, once; where somebody else has meanwhile, it is looked at again."""
    repository = rows.locked(session, repository_id)
    if repository.branch_sha != since:
        want_branch(session, repository_id)
        return
    why = keep_branch(session, repository, seen, asked_at) or seen.why
    if why or seen.growth is None:
        level = logging.WARNING if seen.is_refused else logging.INFO
        log.log(level, "%s of %s is not measured: %s", repository.branch, repository.slug, why)
        return
    base, head = seen.growth.comparison.base, seen.growth.comparison.head
    key = f"push/{repository.id}/{base.sha}/{head.sha}"
    ask_for_growth(session, settings, repository, seen.growth, trigger=EVENT, key=key, band=BAND)
    repository.branch_sha = head.sha
