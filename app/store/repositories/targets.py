"""What the forge should say, and whose turn it is to say it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import case, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.repositories import clock
from app.store.tables import Repository, Target

RUN_KEY = "check/%s/%s/%s"
"""The key of what a check run should say: repository, commit, and what tells the runs of one commit apart."""


def want(
    session: Session,
    key: str,
    repository_id: int,
    kind: str,
    wanted: dict[str, Any],
    digest: str,
    *,
    asked_at: datetime | None = None,
) -> Target:
    """Store what the forge should say now; a refusal of something else is forgotten.

    `asked_at` is when the check was asked for that it tells of.
    """
    values = {"wanted": wanted, "wanted_digest": digest}
    now = func.clock_timestamp()
    new = {"key": key, "repository_id": repository_id, "kind": kind, "asked_at": asked_at}
    statement = insert(Target).values(**new, untold_since=now, **values)
    since = case((Target.wanted_digest == Target.told_digest, now), else_=Target.untold_since)
    statement = statement.on_conflict_do_update(
        index_elements=["key"],
        set_={**values, "error": None, "not_before": now, "untold_since": since},
        where=Target.wanted_digest != digest,
    )
    session.execute(statement)
    return session.scalars(
        select(Target).where(Target.key == key).execution_options(populate_existing=True)
    ).one()


def one(session: Session, key: str) -> Target | None:
    """Return what the forge should say under this key."""
    return session.scalars(select(Target).where(Target.key == key)).one_or_none()


_UNTOLD = Target.wanted_digest.is_distinct_from(Target.told_digest)


def waiting(session: Session, repository_id: int | None = None) -> Sequence[tuple[int, int]]:
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


def settle(session: Session, target: Target) -> None:
    """Note that what the forge says is to stay, whatever is wished of it by now."""
    target.told_digest, target.error, target.attempts = target.wanted_digest, None, 0
    session.flush()
