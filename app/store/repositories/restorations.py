"""What is known of backups and of having been restored from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.jobs import HELD, TERMINAL
from app.store.tables import (
    Attempt,
    Check,
    Commit,
    Job,
    MergeGroup,
    PullRequest,
    Repository,
    RequestJob,
    Restoration,
    Target,
    Watermark,
)

BACKUP = "backup"
"""The watermark of the newest backup."""

FAILED = "backup_failed"
"""The watermark of the newest day's backup that came to nothing."""

BACKUP_LOCK = 0x5241424B
"""Key of the lock that lets one process make a backup ("RABK")."""

_IN_FORCE = Restoration.resumed_at.is_(None)


def is_observing(session: Session) -> bool:
    """Say whether the database was restored and nobody has had it go on."""
    return bool(session.scalar(select(exists().where(_IN_FORCE))))


def in_force(session: Session) -> Restoration | None:
    """Return the restoring that nobody has had it go on after; None in the usual case."""
    return session.scalars(
        select(Restoration).where(_IN_FORCE).order_by(Restoration.id.desc()).limit(1)
    ).first()


def was_restored(session: Session) -> bool:
    """Say whether the database ever was: then the forge may know of things that it does not."""
    return bool(session.scalar(select(exists().select_from(Restoration))))


def last_restored_at(session: Session) -> datetime | None:
    """Return when the database was restored last; None where it never was."""
    return session.scalar(select(func.max(Restoration.restored_at)))


def resume(session: Session) -> None:
    """Note that the service goes on."""
    session.execute(update(Restoration).where(_IN_FORCE).values(resumed_at=func.clock_timestamp()))


def note_backup(session: Session, at: datetime) -> None:
    """Note that there is a backup of what the database held then."""
    _note(session, BACKUP, at)


def note_failure(session: Session) -> None:
    """Note that the day's backup came to nothing just now."""
    _note(session, FAILED, session.execute(select(func.clock_timestamp())).scalar_one())


def _note(session: Session, name: str, at: datetime) -> None:
    statement = insert(Watermark).values(name=name, at=at)
    session.execute(statement.on_conflict_do_update(index_elements=["name"], set_={"at": at}))


def last_backup_s_ago(session: Session) -> float | None:
    """Return how old the newest backup is [s]; None where none was ever made."""
    age = func.extract("epoch", func.clock_timestamp() - Watermark.at)
    found = session.scalar(select(age).where(Watermark.name == BACKUP))
    return None if found is None else float(found)


def last_backup_at(session: Session) -> datetime | None:
    """Return what moment the newest backup is of; None where none was ever made."""
    return session.scalar(select(Watermark.at).where(Watermark.name == BACKUP))


def last_failure_at(session: Session) -> datetime | None:
    """Return when a day's backup came to nothing last; None where none ever did."""
    return session.scalar(select(Watermark.at).where(Watermark.name == FAILED))


def may_back_up(session: Session) -> bool:
    """Take the right to make the backup that is due until the transaction's end; False where another process has it."""
    return bool(session.scalar(text("select pg_try_advisory_xact_lock(:key)"), {"key": BACKUP_LOCK}))


def held_jobs(session: Session) -> Sequence[tuple[Job, Attempt]]:
    """Lock and return the jobs that a lease stands for, each with its attempt."""
    rows = session.execute(
        select(Job, Attempt)
        .join(Attempt, Attempt.lease_id == Job.lease_id)
        .where(Job.state.in_([str(state) for state in HELD]))
        .order_by(Job.id)
        .with_for_update(of=Job)
    ).all()
    return [(row[0], row[1]) for row in rows]


def wait_long(session: Session) -> None:
    """Have the transaction wait for its next statement for as long as that takes."""
    session.execute(text("set local idle_in_transaction_session_timeout = 0"))


@dataclass(frozen=True)
class OpenCheck:
    """A check that is not concluded, or was while the service observed; the forge waits for it in `repository`."""

    check_id: int
    request_id: int
    head_sha: str
    repository: Repository | None


def open_checks(session: Session, since: datetime) -> list[OpenCheck]:
    """Return the checks that were not concluded at `since`, the oldest first."""
    pulled = (
        select(PullRequest.repository_id).where(PullRequest.check_id == Check.id).limit(1).scalar_subquery()
    )
    grouped = (
        select(MergeGroup.repository_id).where(MergeGroup.check_id == Check.id).limit(1).scalar_subquery()
    )
    rows = session.execute(
        select(Check.id, Check.request_id, Commit.sha, Repository)
        .join(Commit, Commit.id == Check.head_commit_id)
        .outerjoin(Repository, Repository.id == func.coalesce(pulled, grouped))
        .where(
            or_(Check.concluded_at.is_(None), Check.concluded_at >= since),
            Check.cancelled_at.is_(None),
            Check.adopted_at.is_(None),
        )
        .order_by(Check.id)
    ).all()
    return [OpenCheck(row[0], row[1], row[2], row[3]) for row in rows]


def asked_elsewhere(session: Session, before: datetime) -> Sequence[Job]:
    """Lock and return the unfinished jobs of checks that were asked for before then, and that no forge waits for.

    A check that was let go asks for nothing; a job that a check needs which a forge waits for is not among them.
    """
    is_awaited = or_(
        exists().where(PullRequest.check_id == Check.id), exists().where(MergeGroup.check_id == Check.id)
    )
    wanted = (
        select(RequestJob.job_id)
        .join(Check, Check.request_id == RequestJob.request_id)
        .where(Check.cancelled_at.is_(None))
    )
    asked, awaited = wanted.where(~is_awaited, Check.created_at < before), wanted.where(is_awaited)
    ended = [str(state) for state in TERMINAL]
    return session.scalars(
        select(Job)
        .where(Job.state.not_in(ended), Job.id.in_(asked), Job.id.not_in(awaited))
        .order_by(Job.id)
        .with_for_update()
    ).all()


def put_off_deadlines(session: Session, since: datetime) -> None:
    """Have what waits for a device wait as much longer as it is since then: nobody could have measured it."""
    later = Job.deadline_at + (func.clock_timestamp() - since)
    ended = [str(state) for state in TERMINAL]
    session.execute(update(Job).where(Job.state.not_in(ended)).values(deadline_at=later))


def untold_runs(session: Session) -> Sequence[tuple[Target, Repository]]:
    """Return what the forge should say of commits and does not, and in which repository."""
    rows = session.execute(
        select(Target, Repository)
        .join(Repository, Repository.id == Target.repository_id)
        .where(Target.kind == "check", Target.wanted_digest.is_distinct_from(Target.told_digest))
        .order_by(Target.id)
    ).all()
    return [(row[0], row[1]) for row in rows]
