"""The default branch has grown: its newest commit is measured against the last one that was, and joins the history."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.services.access import FORGE
from app.services.mirrors import Mirror, fetched, ours
from app.services.receive_delivery import want_branch
from app.services.request_check import CheckRequest, request_check
from app.settings import Settings
from app.store.repositories import forge as rows
from app.store.repositories import projects
from app.store.tables import Repository

log = logging.getLogger(__name__)

EVENT = "push"
BAND = 10
"""After the pull requests that wait, before what is measured at night."""

LONGEST_LINE = 1_000
"""Commits of one push whose parents are told to the history."""


@dataclass(frozen=True)
class Branch:
    """A repository's default branch, and its commit that was measured last."""

    place: Place
    external_id: int
    name: str
    since: str | None


@dataclass(frozen=True)
class Grown:
    """What is to be measured: head against base, and the line of commits between them, each with its first parent."""

    base: CommitRef
    head: CommitRef
    line: tuple[tuple[str, str], ...]
    settings: Settings
    suites: tuple[str, ...]
    bundle: str


def branch_of(session: Session, repository_id: int) -> Branch:
    """Return the branch to look at."""
    its = session.get_one(Repository, repository_id)
    return Branch(its.place, its.external_id, its.branch, its.branch_sha)


def look_at_branch(forge: Forge, settings: ServiceSettings, branch: Branch) -> Grown | None:
    """Fetch the branch and return what is to be measured of it, None where nothing is. Raises what the forge raises."""
    ref = f"refs/heads/{branch.name}"
    with fetched(forge, settings, branch.place, branch.external_id, ref) as mirror:
        head = mirror.commit(ours(ref))
        base = _base(mirror, head, branch.since)
        return None if base is None else _grown(mirror, base, head, branch)


def _base(mirror: Mirror, head: CommitRef, since: str | None) -> CommitRef | None:
    """Return the last measured commit, or head's parent: for the first one, and where history was written anew."""
    if since == head.sha:
        return None
    if since is not None and mirror.git.is_ancestor(since, head.sha):
        return mirror.commit(since)
    line = mirror.git.parent(head.sha)
    return None if line is None else mirror.commit(line)


def _grown(mirror: Mirror, base: CommitRef, head: CommitRef, branch: Branch) -> Grown | None:
    try:
        its_settings = mirror.settings_at(head.sha)
    except DataError as error:
        log.warning("%s of %s is not measured: %s", branch.name, branch.place.slug, error)
        return None
    suites = () if its_settings is None else mirror.touched(its_settings, EVENT, base, head)
    if its_settings is None or not suites:
        return None
    line = tuple(mirror.git.lineage(base.sha, head.sha, LONGEST_LINE))
    return Grown(base, head, line, its_settings, suites, mirror.bundle(base, head))


def follow_branch(
    session: Session, settings: ServiceSettings, repository_id: int, branch: Branch, grown: Grown
) -> None:
    """Have it measured, once; where somebody else has meanwhile, it is looked at again."""
    repository = rows.locked(session, repository_id)
    if repository.branch_sha != branch.since:
        want_branch(session, repository_id)
        return
    wanted = CheckRequest(
        settings=grown.settings,
        source={"kind": "bundle", "location": grown.bundle},
        base=grown.base,
        head=grown.head,
        suites=grown.suites,
        trigger=EVENT,
        key=f"push/{repository.id}/{grown.base.sha}/{grown.head.sha}",
        band=BAND,
        branch=repository.branch,
    )
    check = request_check(session, settings, FORGE, wanted)
    repository.branch_sha, repository.project_id = grown.head.sha, check.project_id
    for sha, parent in grown.line:
        projects.commit(session, check.project_id, sha, parent_sha=parent, branch=repository.branch)
