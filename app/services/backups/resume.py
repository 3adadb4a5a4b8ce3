"""A restored service goes on: what the forge has the end of already is neither measured nor told again.

The forge is asked of each commit that a check of ours is unfinished of, or that it should be told something of.
Where it has an ended check run of ours, that stays as it is; the check here is let go. Checks that were asked for by
hand nobody can be asked about: whoever has the service go on says what becomes of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, UsageError
from app.domain.forge import Place
from app.domain.jobs import JobState
from app.services.backups.observe import REASON
from app.services.forge.want_text import find_untold
from app.services.lease_jobs import end_job
from app.services.notify.resume_telling import resume_telling
from app.store.repositories import access, checks, clock, jobs, restorations, targets
from app.store.tables import Job, Restoration

TOLD = "its end was told before the service was restored, from a backup that does not have it"
LET_GO = "it waited when the backup was made that the service was restored from, and was let go"


class Queued(StrEnum):
    """What becomes of checks that were asked for by hand, and had not ended when the backup was made."""

    RUN = "run"
    DROP = "drop"


@dataclass(frozen=True)
class Told:
    """A commit of which the forge may have been told the end of a check."""

    repository_id: int
    place: Place
    sha: str


@dataclass(frozen=True)
class Resumed:
    """What was done: checks whose end stays as the forge has it, and jobs that were let go or wait again."""

    adopted: tuple[int, ...]
    dropped: int
    waiting: int


def to_ask(session: Session) -> list[Told]:
    """Return what the forge is to be asked of before the service goes on. Raises ConflictError where it does."""
    since = _in_force(session).restored_at
    found = {
        (its.repository.id, its.head_sha): Told(its.repository.id, its.repository.place, its.head_sha)
        for its in restorations.open_checks(session, since)
        if its.repository is not None and its.repository.is_connected
    }
    for target, repository in restorations.untold_runs(session):
        sha = str(target.wanted.get("sha"))
        if repository.is_connected:
            found.setdefault((repository.id, sha), Told(repository.id, repository.place, sha))
    return list(found.values())


def resume(session: Session, ended: set[tuple[int, str]], queued: Queued | None) -> Resumed:
    """Have the service go on.

    Args:
        session: the session.
        ended: repository and commit of what the forge has the end of.
        queued: what becomes of checks that were asked for by hand.

    Raises:
        ConflictError: it goes on already.
        UsageError: there are such checks, and nobody said what becomes of them.
    """
    restoration = _in_force(session)
    adopted = _adopt(session, restoration, ended)
    by_hand = restorations.asked_elsewhere(session, restoration.restored_at)
    if by_hand and queued is None:
        raise UsageError(
            f"{len(by_hand)} jobs of checks that were asked for by hand had not ended when the backup was made, at "
            f"{restoration.backup_at:%F %T} UTC; they may have since. Say whether they are measured "
            "(--queued run) or let go (--queued drop)",
            code="undecided",
        )
    if queued is Queued.DROP:
        _drop(session, by_hand)
    restorations.put_off_deadlines(session, restoration.restored_at)
    restorations.resume(session)
    find_untold(session, older_than=timedelta(0))
    resume_telling(session)
    detail: dict[str, Any] = {"adopted": adopted, "jobs": len(by_hand), "queued": str(queued or "")}
    access.audit(session, "resume", "service.resumed", restoration.backup, **detail)
    is_dropped = queued is Queued.DROP
    return Resumed(tuple(adopted), len(by_hand) if is_dropped else 0, 0 if is_dropped else len(by_hand))


def _in_force(session: Session) -> Restoration:
    found = restorations.in_force(session)
    if found is None:
        raise ConflictError(
            "the service goes on already: it observes only after `ratchet restore`", code="not_observing"
        )
    return found


def _adopt(session: Session, restoration: Restoration, ended: set[tuple[int, str]]) -> list[int]:
    adopted = []
    for its in restorations.open_checks(session, restoration.restored_at):
        if its.repository is None or (its.repository.id, its.head_sha) not in ended:
            continue
        check = checks.locked(session, its.check_id)
        assert check is not None
        check.adopted_at = check.cancelled_at = clock.now(session)
        session.flush()
        for job in jobs.of_request(session, its.request_id, lock=True):
            if job.state == JobState.QUEUED and not jobs.is_needed(session, job.id):
                end_job(session, job, JobState.CANCELLED, reason=REASON, message=TOLD)
        adopted.append(its.check_id)
    for target, repository in restorations.untold_runs(session):
        if (repository.id, target.wanted.get("sha")) in ended:
            targets.settle(session, target)
    return adopted


def _drop(session: Session, by_hand: Sequence[Job]) -> None:
    for job in by_hand:
        end_job(session, job, JobState.CANCELLED, reason=REASON, message=LET_GO)
