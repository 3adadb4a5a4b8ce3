"""Jobs: which wait, which are of a request, and which were made of what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import Session, aliased

from app.domain.jobs import TERMINAL, JobState
from app.store.tables import Check, Job, RequestJob, Result, Run

NEWEST = 1_000
"""Among so many of a project's newest jobs is looked for settings that have landed."""


def past_deadline(session: Session, limit: int) -> Sequence[Job]:
    """Lock and return queued jobs whose deadline has passed."""
    return session.scalars(
        select(Job)
        .where(Job.state == JobState.QUEUED, Job.deadline_at < func.clock_timestamp())
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()


def waiting(session: Session, older_than: timedelta) -> Sequence[tuple[int, str]]:
    """Return (job, device class) for each class with a claimable job whose last hint is older than that.

    One hint a class is enough: whoever is woken claims the first job, and goes on claiming.
    """
    rows = session.execute(
        select(func.min(Job.id), Job.device_class)
        .where(
            Job.state == JobState.QUEUED,
            Job.not_before <= func.clock_timestamp() - older_than,
            Job.attempt < Job.max_attempts,
        )
        .group_by(Job.device_class)
    ).all()
    return [(row[0], row[1]) for row in rows]


def needed_bundles(session: Session) -> set[str]:
    """Return the digests of the bundles that unfinished jobs take their commits from."""
    source = Job.spec["source"]
    return set(
        session.scalars(
            select(source["location"].astext).where(
                Job.state.not_in([str(state) for state in TERMINAL]), source["kind"].astext == "bundle"
            )
        )
    )


def queue_place(session: Session, job: Job) -> int:
    """Return how many jobs of the device class are claimed before this queued one."""
    ahead = session.scalar(
        select(func.count())
        .select_from(Job)
        .where(
            Job.state == JobState.QUEUED,
            Job.device_class == job.device_class,
            (Job.band < job.band) | ((Job.band == job.band) & (Job.id < job.id)),
        )
    )
    return int(ahead or 0)


def of_request(session: Session, request_id: int, *, lock: bool = False) -> Sequence[Job]:
    """Return the request's jobs in the order in which they were made, locked if they are to be changed."""
    query = (
        select(Job)
        .join(RequestJob, RequestJob.job_id == Job.id)
        .where(RequestJob.request_id == request_id)
        .order_by(Job.id)
    )
    if lock:
        query = query.with_for_update(of=Job).execution_options(populate_existing=True)
    return session.scalars(query).all()


def newest_landed(session: Session, series_id: int, branch: str) -> Job | None:
    """Return the newest job that measured a commit of the history and whose head is one, too, by now; None without any.

    Its settings and source, which are those of its head, have been agreed to: another job of ours has measured that
    head as a point of the history. The head of a pull request that nobody merged is none, nor is one that only somebody
    who posts results says to be on the branch. Jobs that confirm copy the settings of others, and are left out.
    """
    point, its_run = aliased(Result), aliased(Run)
    has_landed = (
        exists()
        .where(point.series_id == series_id, point.branch == branch, point.commit_id == Job.head_commit_id)
        .where(its_run.id == point.run_id, its_run.job_id != Job.id)
    )
    return session.scalars(
        select(Job)
        .join(Run, Run.job_id == Job.id)
        .join(Result, Result.run_id == Run.id)
        .where(
            Result.series_id == series_id,
            Result.branch == branch,
            ~Job.is_untrusted,
            ~Job.policy.has_key("history"),
            has_landed,
        )
        .order_by(Result.id.desc())
        .limit(1)
    ).one_or_none()


def newest_settled(session: Session, project_id: int, branch: str) -> Job | None:
    """Return the newest job of a project whose head has landed on a branch, among the newest jobs; None without any.

    As with `newest_landed`, its settings have been agreed to: another job has measured its head as a point of the
    branch. Here it may be of any series, so that a new one does not have to wait for its own.
    """
    later, its_run, point = aliased(Job), aliased(Run), aliased(Result)
    newest = select(Job.id).where(Job.project_id == project_id).order_by(Job.id.desc()).limit(NEWEST)
    has_landed = exists().where(
        later.id.in_(newest),
        later.id != Job.id,
        later.base_commit_id == Job.head_commit_id,
        its_run.job_id == later.id,
        point.run_id == its_run.id,
        point.branch == branch,
        point.commit_id == Job.head_commit_id,
    )
    return session.scalars(
        select(Job)
        .where(
            Job.id.in_(newest),
            Job.device_id.is_(None),
            Job.state == JobState.SUCCEEDED,
            ~Job.is_untrusted,
            ~Job.policy.has_key("history"),
            has_landed,
        )
        .order_by(Job.id.desc())
        .limit(1)
    ).one_or_none()


def calibration_of(session: Session, device_ids: Sequence[int]) -> Job | None:
    """Lock and return a calibration that waits for one of these devices; None if there is none."""
    return session.scalars(
        select(Job)
        .where(
            Job.state == JobState.QUEUED,
            Job.device_id.in_(device_ids),
            Job.policy["purpose"].astext == "calibrate",
            Job.not_before <= func.clock_timestamp(),
            Job.attempt < Job.max_attempts,
        )
        .order_by(Job.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).one_or_none()


def newest_on(session: Session, device_class: str) -> Job | None:
    """Return the newest job of anybody's commits on a class of devices."""
    return session.scalars(
        select(Job)
        .where(Job.device_class == device_class, Job.device_id.is_(None))
        .order_by(Job.id.desc())
        .limit(1)
    ).one_or_none()


def landed_on(session: Session, device_class: str) -> Sequence[Job]:
    """Return of each project's suites on a class of devices the newest job whose head has landed, the newest first.

    Landed means that another job had it for its base, and so measured it as a point of a history. As with
    `newest_landed`, only so the job's settings have been agreed to.
    """
    later = aliased(Job)
    has_landed = exists().where(
        later.project_id == Job.project_id,
        later.base_commit_id == Job.head_commit_id,
        later.state == JobState.SUCCEEDED,
        ~later.is_untrusted,
        later.policy["base_branch"].astext.is_distinct_from(""),
        later.device_id.is_(None),
        later.id != Job.id,
    )
    newest = (
        select(func.max(Job.id))
        .where(
            Job.device_class == device_class,
            Job.devices_needed == 1,
            Job.device_id.is_(None),
            Job.state == JobState.SUCCEEDED,
            ~Job.is_untrusted,
            ~Job.policy.has_key("history"),
            has_landed,
        )
        .group_by(Job.project_id, Job.suite)
    )
    return session.scalars(select(Job).where(Job.id.in_(newest)).order_by(Job.id.desc())).all()


def is_made(session: Session, key: str) -> bool:
    """Tell whether there is a job of this key, in any state."""
    return session.scalar(select(Job.id).where(Job.key == key)) is not None


def bundles_with(session: Session, project_id: int, commit_ids: Sequence[int]) -> Sequence[str]:
    """Return the digests of bundles that were uploaded with no other commits than these two, the newest first.

    Of one commit, those that were uploaded with it.
    """
    source = Job.spec["source"]
    return session.scalars(
        select(source["location"].astext)
        .where(
            Job.project_id == project_id,
            ~Job.is_untrusted,
            source["kind"].astext == "bundle",
            _are_in(commit_ids),
        )
        .order_by(Job.id.desc())
        .limit(5)
    ).all()


def _are_in(commit_ids: Sequence[int]) -> ColumnElement[bool]:
    base, head = Job.base_commit_id.in_(commit_ids), Job.head_commit_id.in_(commit_ids)
    return base & head if len(set(commit_ids)) > 1 else base | head


def unfinished(session: Session, project_id: int, band: int) -> int:
    """Return how many jobs of the project in this band wait or are being measured."""
    query = select(func.count()).where(
        Job.project_id == project_id, Job.band == band, Job.state.not_in([str(state) for state in TERMINAL])
    )
    return session.scalar(query) or 0


def is_needed(session: Session, job_id: int) -> bool:
    """Tell whether somebody still needs this job: a check that nobody let go, or a request without one."""
    query = (
        select(RequestJob.request_id)
        .outerjoin(Check, Check.request_id == RequestJob.request_id)
        .where(RequestJob.job_id == job_id, Check.cancelled_at.is_(None))
    )
    return session.scalar(query.limit(1)) is not None
