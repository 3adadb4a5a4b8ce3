"""Where a confirmed change came from: its commits and their merged pull request, asked of the forge without a session.

A change lies between two measured commits. Where others lie between them, and so several pull requests, the one of the
suspected commit is told and the commits are listed: to tell all of them would be to accuse most of them wrongly.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import DataError
from app.domain.forge import MergedPull, Place
from app.domain.notices import CommitRange
from app.domain.results import CommitRef
from app.integrations.forge import Forge
from app.services.change_settled import WITHIN
from app.services.forge.mirrors import Mirror, fetched, ours
from app.store.repositories import origins
from app.store.tables import Commit

NEVER = "never"

MOST_LISTED = 10
"""Commits of a range that are named."""


@dataclass(frozen=True)
class Question:
    """A commit with changes that nobody asked about yet, and the last commits of the regimes before them."""

    repository_id: int
    place: Place
    external_id: int
    branch: str
    commit: CommitRef
    previous: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """What the forge and the repository say.

    `ranges` are by the commit before each; all commits of those in `its_own` came with the pull request.
    """

    pull: MergedPull | None
    ranges: dict[str, CommitRange]
    its_own: frozenset[str] = frozenset()
    is_silent: bool = False
    """Whether the repository's settings want no comments."""


def question_of(session: Session, commit_id: int) -> Question | None:
    """Return what the forge is to be asked of a commit; None where there is nothing."""
    commit = session.get_one(Commit, commit_id)
    for repository in origins.repositories_of(session, commit.project_id):
        changes = origins.unfollowed(session, commit_id, repository.branch, WITHIN)
        if changes:
            previous = {session.get_one(Commit, change.previous_commit_id).sha for change in changes}
            return Question(
                repository_id=repository.id,
                place=repository.place,
                external_id=repository.external_id,
                branch=repository.branch,
                commit=CommitRef(commit.sha, commit.subject),
                previous=tuple(sorted(previous)),
            )
    return None


def look_at_change(forge: Forge, settings: ServiceSettings, question: Question) -> Found:
    """Ask where the changes of a commit came from. Raises what the forge raises."""
    pull = forge.merged_pull(question.place, question.commit.sha, question.branch)
    if pull is None:
        return Found(None, {})
    ref = f"refs/heads/{question.branch}"
    with fetched(forge, settings, question.place, question.external_id, ref) as mirror:
        ranges = {sha: _range(mirror, sha, question.commit) for sha in question.previous}
        is_silent = _is_silent(mirror, ref)
    its_own = frozenset(sha for sha in ranges if _is_all_of(forge, question, pull, ranges[sha]))
    return Found(pull, ranges, its_own, is_silent)


def _is_all_of(forge: Forge, question: Question, pull: MergedPull, its: CommitRange) -> bool:
    """Say whether every commit of a range came with the pull request; not of a longer one than is named."""
    if its.n != len(its.commits):
        return False
    others = (commit.sha for commit in its.commits if commit.sha != question.commit.sha)
    return all(forge.merged_pull(question.place, sha, question.branch) == pull for sha in others)


def _range(mirror: Mirror, previous: str, commit: CommitRef) -> CommitRange:
    """Return the first-parent line between two commits; the newer alone where the repository does not know them."""
    if not mirror.git.is_ancestor(previous, commit.sha):
        return CommitRange(previous, commit, (commit,), None)
    line = mirror.git.lineage(previous, commit.sha, MOST_LISTED)
    commits = tuple(mirror.commit(sha) for sha, _ in line)
    return CommitRange(previous, commits[0], commits, mirror.git.length(previous, commit.sha))


def _is_silent(mirror: Mirror, ref: str) -> bool:
    try:
        settings = mirror.settings_at(ours(ref))
    except DataError:
        return False
    return settings is not None and settings.project.comment == NEVER
