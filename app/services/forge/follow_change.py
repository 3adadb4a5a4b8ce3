"""It is known where a confirmed change came from: that is kept, and the merged pull request is told of it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.notices import CommitRange
from app.services.change_settled import WITHIN, want_following
from app.services.forge.accept_changes import accept_beforehand
from app.services.forge.look_at_change import Found, Question
from app.services.forge.tell_notice import tell_notice
from app.store.repositories import clock, forge, origins
from app.store.tables import ChangePoint, Commit, Origin


def follow_change(
    session: Session, settings: ServiceSettings, commit_id: int, question: Question, found: Found
) -> None:
    """Keep where the changes of a commit came from, and have their pull request told, unless that is long over."""
    repository = forge.locked(session, question.repository_id)
    pull = found.pull
    if pull is not None and pull.merged_at < clock.now(session) - WITHIN:
        pull = None
    for change in origins.unfollowed(session, commit_id, question.branch, WITHIN):
        previous = session.get_one(Commit, change.previous_commit_id).sha
        if pull is not None and previous not in found.ranges:  # confirmed meanwhile
            want_following(session, commit_id)
            continue
        its_range = found.ranges[previous] if pull is not None else None
        session.add(_origin(change, question.repository_id, pull.number if pull else None, its_range))
        session.flush()
        sole = pull if previous in found.its_own else None
        accept_beforehand(session, repository, change, sole)
    if pull is not None:
        tell_notice(session, settings, repository, pull.number, is_silent=found.is_silent)


def _origin(change: ChangePoint, repository_id: int, number: int | None, its: CommitRange | None) -> Origin:
    return Origin(
        change_point_id=change.id,
        repository_id=repository_id,
        number=number,
        commits=[[commit.sha, commit.subject] for commit in its.commits] if its else [],
        n_commits=its.n if its else None,
        shown=change.state,
    )


def show_again(session: Session, settings: ServiceSettings, commit_id: int) -> None:
    """Bring up to date what is told of a commit's changes: some were taken back."""
    for repository_id, number in origins.numbers_of(session, commit_id):
        repository = forge.locked(session, repository_id)
        tell_notice(session, settings, repository, number, is_silent=True)
