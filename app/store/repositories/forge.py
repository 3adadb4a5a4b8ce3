"""Repositories on the forge, its messages, pull requests, and what it should say."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import and_, delete, exists, func, or_, select, true, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.domain.jobs import JobState
from app.store.repositories import clock
from app.store.tables import Check, Delivery, Job, Project, PullRequest, Repository, RequestJob, Target


def keep_delivery(session: Session, guid: str, event: str, payload: dict[str, Any]) -> int | None:
    """Keep a message; return its id, None where it is kept already."""
    statement = insert(Delivery).values(guid=guid, event=event, payload=payload)
    return session.scalar(statement.on_conflict_do_nothing(index_elements=["guid"]).returning(Delivery.id))


def waiting_delivery(session: Session, delivery_id: int) -> Delivery | None:
    """Lock and return a message that nobody looked at yet; None if somebody did, or is about to."""
    query = select(Delivery).where(Delivery.id == delivery_id, Delivery.outcome.is_(None))
    return session.scalars(query.with_for_update(skip_locked=True)).one_or_none()


def waiting_deliveries(session: Session, *, older_than: timedelta) -> Sequence[int]:
    """Return messages that nobody has looked at for so long."""
    return session.scalars(
        select(Delivery.id)
        .where(Delivery.outcome.is_(None), Delivery.received_at < func.clock_timestamp() - older_than)
        .order_by(Delivery.id)
    ).all()


def forget_deliveries(session: Session, *, older_than: timedelta) -> None:
    """Delete messages that something followed from, or nothing, so long ago."""
    old = Delivery.received_at < func.clock_timestamp() - older_than
    session.execute(delete(Delivery).where(Delivery.outcome.is_not(None), old))


def repository(
    session: Session, external_id: int, *, slug: str, branch: str, installation: int | None
) -> Repository:
    """Return the repository as it is called now, made if it is new; what a message tells of it is taken over."""
    told = {"slug": slug, "branch": branch, "installation": installation, "is_connected": True}
    statement = insert(Repository).values(external_id=external_id, **told)
    statement = statement.on_conflict_do_update(index_elements=["external_id"], set_=told)
    repository_id = session.scalar(statement.returning(Repository.id))
    return session.get_one(Repository, repository_id, populate_existing=True)


def locked(session: Session, repository_id: int) -> Repository:
    """Lock and return a repository."""
    return session.get_one(
        Repository, repository_id, populate_existing=True, with_for_update={"key_share": True}
    )


def connected(session: Session) -> Sequence[Repository]:
    """Return the repositories that can be reached, in id order."""
    return session.scalars(select(Repository).where(Repository.is_connected).order_by(Repository.id)).all()


def disconnect(session: Session, external_ids: Sequence[int], installation: int | None) -> int:
    """Note that these repositories, else all, are not reached through an installation any more; return how many.

    One that another installation reaches by now has moved: messages overtake each other.
    """
    its = Repository.installation == installation
    if external_ids:
        of_it = or_(its, Repository.installation.is_(None)) if installation is not None else true()
        its = and_(of_it, Repository.external_id.in_(external_ids))
    statement = update(Repository).where(its, Repository.is_connected).values(is_connected=False)
    return len(session.scalars(statement.returning(Repository.id)).all())


def reconnect(session: Session, repositories: Sequence[tuple[int, str]], installation: int) -> int:
    """Note that an installation reaches these, (forge's id, slug), else all it reached; return how many are known."""
    if not repositories:
        its = update(Repository).where(Repository.installation == installation).values(is_connected=True)
        return len(session.scalars(its.returning(Repository.id)).all())
    n = 0
    for external_id, slug in sorted(repositories):
        values = {"slug": slug, "installation": installation, "is_connected": True}
        statement = update(Repository).where(Repository.external_id == external_id).values(values)
        n += len(session.scalars(statement.returning(Repository.id)).all())
    return n


def move(session: Session, external_id: int, slug: str, branch: str) -> None:
    """Note what a repository is called now, and its default branch."""
    where = Repository.external_id == external_id
    session.execute(update(Repository).where(where).values(slug=slug, branch=branch))


def pull_request(session: Session, repository_id: int, number: int) -> PullRequest | None:
    """Lock and return a pull request; None if it was never seen."""
    query = select(PullRequest).where(
        PullRequest.repository_id == repository_id, PullRequest.number == number
    )
    return session.scalars(query.with_for_update().execution_options(populate_existing=True)).one_or_none()


def open_pulls(session: Session, repository_id: int) -> Sequence[PullRequest]:
    """Return the pull requests that were open when they were last seen."""
    query = select(PullRequest).where(PullRequest.repository_id == repository_id, PullRequest.state == "open")
    return session.scalars(query.order_by(PullRequest.number)).all()


def pulls_of_head(session: Session, repository_id: int, sha: str) -> Sequence[PullRequest]:
    """Lock and return the open pull requests whose head this is."""
    query = select(PullRequest).where(
        PullRequest.repository_id == repository_id,
        PullRequest.head_sha == sha,
        PullRequest.state == "open",
    )
    return session.scalars(query.order_by(PullRequest.id).with_for_update()).all()


def pull_of_check(session: Session, check_id: int) -> tuple[PullRequest, Repository] | None:
    """Lock and return the pull request whose newest head this check is of; None where there is none."""
    pull = session.scalars(
        select(PullRequest)
        .where(PullRequest.check_id == check_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one_or_none()
    return None if pull is None else (pull, session.get_one(Repository, pull.repository_id))


def is_of_pull(session: Session, check_id: int) -> bool:
    """Say whether a check is of a pull request's newest head."""
    query = select(PullRequest.id).where(PullRequest.check_id == check_id).limit(1)
    return session.scalar(query) is not None


def want(
    session: Session, key: str, repository_id: int, kind: str, wanted: dict[str, Any], digest: str
) -> Target:
    """Store what the forge should say now; a refusal of something else is forgotten."""
    values = {"wanted": wanted, "wanted_digest": digest}
    statement = insert(Target).values(key=key, repository_id=repository_id, kind=kind, **values)
    statement = statement.on_conflict_do_update(
        index_elements=["key"],
        set_={**values, "error": None, "not_before": func.clock_timestamp()},
        where=Target.wanted_digest != digest,
    )
    session.execute(statement)
    return session.scalars(
        select(Target).where(Target.key == key).execution_options(populate_existing=True)
    ).one()


def target(session: Session, key: str) -> Target | None:
    """Return what the forge should say under this key."""
    return session.scalars(select(Target).where(Target.key == key)).one_or_none()


_UNTOLD = Target.wanted_digest.is_distinct_from(Target.told_digest)


def waiting_targets(session: Session, repository_id: int | None = None) -> Sequence[tuple[int, int]]:
    """Return (target, repository) of all that is due to be told and can be, what waits longest first."""
    query = (
        select(Target.id, Target.repository_id)
        .join(Repository, Repository.id == Target.repository_id)
        .where(_UNTOLD, Target.not_before <= func.clock_timestamp(), Repository.is_connected)
    )
    if repository_id is not None:
        query = query.where(Target.repository_id == repository_id)
    rows = session.execute(query.order_by(Target.not_before, Target.id)).all()
    return [(row[0], row[1]) for row in rows]


def delay(session: Session, target: Target, wait: timedelta) -> None:
    """Have it tried no sooner than after so long."""
    session.execute(
        update(Target).where(Target.id == target.id).values(not_before=func.clock_timestamp() + wait)
    )


def _sharing(session: Session, repository_id: int) -> Sequence[Repository]:
    """Lock and return the repositories of one installation, in id order: its limits are shared by all of them.

    The lock leaves alone who only refers to them.
    """
    its = session.get_one(Repository, repository_id)
    shared = (
        Repository.id == its.id if its.installation is None else Repository.installation == its.installation
    )
    query = select(Repository).where(shared).order_by(Repository.id)
    locking = query.with_for_update(key_share=True).execution_options(populate_existing=True)
    return session.scalars(locking).all()


def take_turn(session: Session, repository_id: int, hold: timedelta) -> bool:
    """Be the one who writes to the forge for this installation, for so long at most; False if another is."""
    its, now = _sharing(session, repository_id), clock.now(session)
    if any(one.busy_until is not None and one.busy_until > now for one in its):
        return False
    for one in its:
        one.busy_until = now + hold
    session.flush()
    return True


def end_turn(session: Session, repository_id: int, rest: timedelta) -> None:
    """Let others write to the forge, after so long a rest."""
    now = clock.now(session)
    for one in _sharing(session, repository_id):
        one.busy_until = now + rest
    session.flush()


def unshown(session: Session) -> Sequence[int]:
    """Return the concluded checks of open pull requests whose verdict the forge is not even wished to tell."""
    key = func.concat("check/", PullRequest.repository_id, "/", PullRequest.head_sha, "/", Check.id)
    shown = exists().where(Target.key == key, Target.wanted["state"].astext == "completed")
    return session.scalars(
        select(Check.id)
        .join(PullRequest, PullRequest.check_id == Check.id)
        .where(PullRequest.state == "open", Check.state == "complete", ~shown)
        .order_by(Check.id)
    ).all()


def unlooked(session: Session) -> Sequence[tuple[int, int]]:
    """Return (repository, number) of pull requests that somebody wants measured again, or something of them."""
    is_wanted = PullRequest.rerun | (func.jsonb_array_length(PullRequest.wishes) > 0)
    rows = session.execute(
        select(PullRequest.repository_id, PullRequest.number)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .where(is_wanted, PullRequest.state == "open", Repository.is_connected)
    ).all()
    return [(row[0], row[1]) for row in rows]


def connected_projects(session: Session) -> frozenset[str]:
    """Return the names of the projects whose repository can be reached."""
    joined = select(Project.name).join(Repository, Repository.project_id == Project.id)
    return frozenset(session.scalars(joined.where(Repository.is_connected)))


def owner_of(session: Session, project_id: int) -> Repository | None:
    """Return the repository that a project is of."""
    return session.scalars(
        select(Repository).where(Repository.project_id == project_id).order_by(Repository.id).limit(1)
    ).one_or_none()


def newest_check(session: Session, repository_id: int) -> Check | None:
    """Return the newest check of the repository's project, None where nothing of it was measured yet."""
    query = (
        select(Check)
        .join(Repository, Repository.project_id == Check.project_id)
        .where(Repository.id == repository_id)
    )
    return session.scalars(query.order_by(Check.id.desc()).limit(1)).one_or_none()


def unserved(session: Session, most: int) -> Sequence[tuple[PullRequest, Job]]:
    """Return open pull requests with those jobs that no worker took; not what was tried again so often already."""
    rows = session.execute(
        select(PullRequest, Job)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .join(Check, Check.id == PullRequest.check_id)
        .join(RequestJob, RequestJob.request_id == Check.request_id)
        .join(Job, Job.id == RequestJob.job_id)
        .where(
            PullRequest.state == "open",
            PullRequest.retries < most,
            ~PullRequest.rerun,
            func.jsonb_array_length(PullRequest.wishes) == 0,
            Repository.is_connected,
            Check.state == "complete",
            Job.state.in_((JobState.NO_CAPACITY, JobState.EXPIRED)),
        )
        .order_by(PullRequest.id, Job.id)
        .with_for_update(of=PullRequest, skip_locked=True)
    ).all()
    return [(row[0], row[1]) for row in rows]


def shown_with_check(session: Session, check_id: int) -> tuple[PullRequest, str] | None:
    """Return the pull request whose newest head a check is of, and what its repository is called; nothing is locked."""
    row = session.execute(
        select(PullRequest, Repository.slug)
        .join(Repository, Repository.id == PullRequest.repository_id)
        .where(PullRequest.check_id == check_id)
        .limit(1)
    ).one_or_none()
    return None if row is None else (row[0], row[1])
