"""What on the forge waits for a check: a pull request's newest head, or a merge queue's group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from app.store.pipeline import in_one_trip
from app.store.repositories.notify import CHANNEL
from app.store.repositories.targets import RUN_KEY
from app.store.tables import Check, MergeGroup, PullRequest, Repository, Target

Awaiting = TypeVar("Awaiting", PullRequest, MergeGroup)

KINDS: tuple[type[PullRequest | MergeGroup], ...] = (PullRequest, MergeGroup)


def of_check(session: Session, kind: type[Awaiting], check_id: int) -> tuple[Awaiting, Repository] | None:
    """Lock and return what of a kind waits for a check; None where nothing does."""
    query = select(kind).where(kind.check_id == check_id).with_for_update()
    its = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    return None if its is None else (its, session.get_one(Repository, its.repository_id))


class Woken(NamedTuple):
    """A check of which something is new, and whether anything on the forge waits for it."""

    id: int
    is_awaited: bool


def wake(session: Session, check_id: int) -> list[Woken]:
    """Wake whoever watches this check, when the transaction commits; return it."""
    return _woken(session, "id = %(id)s", check_id)


def wake_of_job(session: Session, job_id: int) -> list[Woken]:
    """Wake whoever watches the checks that need this job, when the transaction commits; return these checks."""
    return _woken(session, "request_id in (select request_id from request_job where job_id = %(id)s)", job_id)


def _woken(session: Session, which: str, id_: int) -> list[Woken]:
    awaited = " or ".join(
        f'exists (select from {kind.__tablename__} where check_id = "check".id)' for kind in KINDS
    )
    statement = f"""
        select id, {awaited}, pg_notify('{CHANNEL}', 'check:' || id)
        from "check" where {which} order by id
    """  # noqa: S608  # nothing of it is anybody's but ours
    (rows,) = in_one_trip(session, (statement, {"id": id_}))
    return [Woken(check_id, is_awaited) for check_id, is_awaited, _ in rows]


def unshown(session: Session) -> Sequence[int]:
    """Return the concluded checks that are waited for and whose verdict the forge is not even wished to tell."""
    return [check_id for kind in KINDS for check_id in _unshown(session, kind)]


def _unshown(session: Session, kind: type[PullRequest | MergeGroup]) -> Sequence[int]:
    key = func.format(RUN_KEY, kind.repository_id, kind.head_sha, Check.id)
    shown = exists().where(Target.key == key, Target.wanted["state"].astext == "completed")
    return session.scalars(
        select(Check.id)
        .join(kind, kind.check_id == Check.id)
        .where(kind.state == "open", Check.state == "complete", ~shown)
        .order_by(Check.id)
    ).all()
