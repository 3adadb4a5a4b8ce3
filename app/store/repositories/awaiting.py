"""What on the forge waits for a check: a pull request's newest head, or a merge queue's group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from sqlalchemy import exists, func, or_, select
from sqlalchemy.orm import Session

from app.store.repositories.targets import RUN_KEY
from app.store.tables import Check, MergeGroup, PullRequest, Repository, Target

Awaiting = TypeVar("Awaiting", PullRequest, MergeGroup)

KINDS: tuple[type[PullRequest | MergeGroup], ...] = (PullRequest, MergeGroup)


def of_check(session: Session, kind: type[Awaiting], check_id: int) -> tuple[Awaiting, Repository] | None:
    """Lock and return what of a kind waits for a check; None where nothing does."""
    query = select(kind).where(kind.check_id == check_id).with_for_update()
    its = session.scalars(query.execution_options(populate_existing=True)).one_or_none()
    return None if its is None else (its, session.get_one(Repository, its.repository_id))


def is_awaited(session: Session, check_id: int) -> bool:
    """Say whether anything waits for a check."""
    return bool(session.scalar(select(or_(*(exists().where(kind.check_id == check_id) for kind in KINDS)))))


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
