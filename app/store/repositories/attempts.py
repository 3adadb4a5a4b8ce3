"""How often passwords were tried: a count for each key, which begins anew after a time."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from app.store.tables import SignInAttempts


def count(session: Session, key: str, *, within: timedelta) -> tuple[int, float]:
    """Count one more attempt; return how many there were in this time, and when it ends [s]."""
    now = func.clock_timestamp()
    is_over = SignInAttempts.began_at < now - within
    statement = insert(SignInAttempts).values(key=key, attempts=1)
    row = session.execute(
        statement.on_conflict_do_update(
            index_elements=["key"],
            set_={
                "attempts": case((is_over, 1), else_=SignInAttempts.attempts + 1),
                "began_at": case((is_over, now), else_=SignInAttempts.began_at),
            },
        ).returning(SignInAttempts.attempts, func.extract("epoch", SignInAttempts.began_at + within - now))
    ).one()
    return row[0], float(row[1])


def take_back(session: Session, key: str) -> None:
    """Count one attempt less."""
    session.execute(
        update(SignInAttempts).where(SignInAttempts.key == key).values(attempts=SignInAttempts.attempts - 1)
    )


def forget(session: Session, key: str) -> None:
    """Have the count begin anew."""
    session.execute(delete(SignInAttempts).where(SignInAttempts.key == key))


def prune(session: Session, *, within: timedelta) -> None:
    """Forget the counts whose time is over; those that somebody counts just now are left."""
    old = (
        select(SignInAttempts.key)
        .where(SignInAttempts.began_at < func.clock_timestamp() - within)
        .with_for_update(skip_locked=True)
    )
    session.execute(delete(SignInAttempts).where(SignInAttempts.key.in_(old)))
