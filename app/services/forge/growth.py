"""What a repository's default branch has grown by since one of its commits, as a check that joins its history.

Pushes and schedules are two ways to ask for that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import Place
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.services.access import FORGE
from app.services.forge.comparison import Comparison
from app.services.forge.mirrors import SETTINGS_FILE, Mirror, fetched, ours
from app.services.forge.project_owner import why_not_its_own
from app.services.forge.schedules import keep_schedules
from app.services.request_check import request_check
from app.settings import Settings
from app.store.repositories import projects
from app.store.tables import Check, Repository

LONGEST_LINE = 1_000
"""Commits between base and head whose parents are told to the history."""


@dataclass(frozen=True)
class Branch:
    """A repository's default branch."""

    place: Place
    external_id: int
    name: str


@dataclass(frozen=True)
class Growth:
    """What is to be measured: head against base, and the line of commits between them, each with its first parent."""

    comparison: Comparison
    line: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SeenBranch:
    """A branch's newest commit and its settings, None where it has none or they are refused.

    `growth` is what is to be measured; where nothing is, `why` says so.
    """

    head: CommitRef
    settings: Settings | None = None
    is_refused: bool = False
    growth: Growth | None = None
    why: str = ""


def branch_of(repository: Repository) -> Branch:
    """Return the branch to look at."""
    return Branch(repository.place, repository.external_id, repository.branch)


def look_at_branch(
    forge: Forge,
    settings: ServiceSettings,
    branch: Branch,
    event: str,
    since: str | None,
    *,
    is_measured: bool = True,
) -> SeenBranch:
    """Fetch the branch and return what an event has measured of it since a commit, if anything is to be measured.

    Raises what the forge raises.
    """
    ref = f"refs/heads/{branch.name}"
    with fetched(forge, settings, branch.place, branch.external_id, ref) as mirror:
        head = mirror.commit(ours(ref))
        try:
            its_settings = mirror.settings_at(head.sha)
        except DataError as error:
            return SeenBranch(head, is_refused=True, why=str(error))
        if its_settings is None:
            return SeenBranch(head, why=f"{head.sha[:10]} has no {SETTINGS_FILE}")
        seen = SeenBranch(head, its_settings)
        return _grown(mirror, seen, its_settings, event, since) if is_measured else seen


def _grown(mirror: Mirror, seen: SeenBranch, settings: Settings, event: str, since: str | None) -> SeenBranch:
    head = seen.head
    if since == head.sha:
        return replace(seen, why=f"nothing is new since {head.sha[:10]}, which was measured")
    base = _base(mirror, head, since)
    if base is None:
        return replace(seen, why=f"{head.sha[:10]} is the first commit of all: nothing is before it")
    suites = mirror.touched(settings, event, base, head)
    if not suites:
        has_any = any(event in suite.on for suite in settings.suites)
        touched = f"nothing under the paths of its suites has changed since {base.sha[:10]}"
        return replace(seen, why=touched if has_any else f"no suite is measured on {event}")
    line = tuple(mirror.git.lineage(base.sha, head.sha, LONGEST_LINE))
    comparison = Comparison(base, head, settings, suites, mirror.bundle(base, head))
    return replace(seen, growth=Growth(comparison, line))


def _base(mirror: Mirror, head: CommitRef, since: str | None) -> CommitRef | None:
    """Return the last measured commit, or head's parent: for the first one, and where history was written anew."""
    if since is not None and mirror.git.is_ancestor(since, head.sha):
        return mirror.commit(since)
    line = mirror.git.parent(head.sha)
    return None if line is None else mirror.commit(line)


def keep_branch(session: Session, repository: Repository, seen: SeenBranch, asked_at: datetime) -> str:
    """Store the project and the schedules that a branch's newest commit has, as seen when it was asked for.

    The caller has locked the repository. What is known newer stays, and so does all where the settings are refused.
    Return why its settings are not followed; empty where they are.
    """
    why = why_not_its_own(session, repository, seen.settings)
    is_older = repository.branch_seen_at is not None and repository.branch_seen_at > asked_at
    if is_older or seen.is_refused:
        return why
    repository.branch_seen_at = asked_at
    if seen.settings is not None and not why:
        repository.project_id = projects.project(session, seen.settings.project.name).id
    keep_schedules(session, repository.id, seen.settings.schedules if seen.settings and not why else ())
    return why


def ask_for_growth(
    session: Session,
    service: ServiceSettings,
    repository: Repository,
    growth: Growth,
    *,
    trigger: str,
    key: str,
    band: int,
) -> Check:
    """Have it measured, and return the check: both commits join the history of the branch, whose line is told to it.

    The caller has locked the repository.
    """
    wanted = replace(growth.comparison.request(trigger, key), band=band, branch=repository.branch)
    check = request_check(session, service, FORGE, wanted)
    for sha, parent in growth.line:
        projects.commit(session, check.project_id, sha, parent_sha=parent, branch=repository.branch)
    return check
