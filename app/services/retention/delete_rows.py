"""The step of a class whose rows are simply deleted, each by itself."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.retention.step import Found, Reach
from app.store.repositories import retention
from app.store.repositories.retention import Rows


def delete_rows(session: Session, reach: Reach, kind: Rows) -> Found:
    """Delete what is due of the next rows, or count it."""
    sweep = retention.look if reach.is_dry else retention.delete
    its = sweep(session, kind, before=reach.before, after=reach.after, most=reach.most)
    may_go_on = its.any_old or not kind.is_in_order
    return Found(its.last, its.seen == reach.most and may_go_on, its.rows, its.size_b, its.oldest)
