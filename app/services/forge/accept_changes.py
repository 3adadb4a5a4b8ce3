"""Somebody wants what became worse: confirmed changes are accepted, each in a row of its own.

Who accepts a pull request that is open accepts what it turns out to have brought, once that is confirmed: where it can
have come with nothing else, as other people's changes are not his to accept.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.forge import MergedPull
from app.domain.notices import Acceptance
from app.store.repositories import clock, origins, pulls
from app.store.tables import ChangePoint, Repository


def accept_told(session: Session, repository: Repository, number: int, by: str, reason: str) -> int:
    """Accept what a merged pull request was told and nobody accepted yet; return how many changes that are."""
    told = Acceptance(by=by, reason=reason, at=clock.now(session), number=number)
    standing = origins.unaccepted(session, repository.id, number)
    for change_id in standing:
        origins.accept(session, change_id, repository.id, told)
    return len(standing)


def accept_beforehand(
    session: Session, repository: Repository, change: ChangePoint, pull: MergedPull | None
) -> None:
    """Accept a change that was accepted before it was confirmed.

    Args:
        session: the session.
        repository: where it was merged.
        change: the change.
        pull: the pull request that alone can have brought it; None where there is none, or others can have, too.
    """
    earlier = _of_what_it_corrects(session, change) or _of_pull(session, repository, pull)
    if earlier is not None:
        origins.accept(session, change.id, repository.id, earlier)


def _of_what_it_corrects(session: Session, change: ChangePoint) -> Acceptance | None:
    """Return the acceptance of the change that this one takes the place of: it is the same, told better."""
    if change.corrects_id is None:
        return None
    return origins.acceptances(session, [change.corrects_id]).get(change.corrects_id)


def _of_pull(session: Session, repository: Repository, pull: MergedPull | None) -> Acceptance | None:
    """Return the acceptance of a pull request whose merged head is the one that somebody accepted."""
    row = None if pull is None else pulls.locked(session, repository.id, pull.number)
    if row is None or pull is None or row.accepted_sha != pull.head_sha:
        return None
    at = row.accepted_at or row.seen_at  # what a release before accepted has no time
    return Acceptance(row.accepted_by or "", row.accepted_reason or "", at, row.number)
