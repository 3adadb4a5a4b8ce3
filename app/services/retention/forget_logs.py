"""The step that empties the ends of logs: of runs, of what they started, and of their jobs. All else of them stays."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.retention.step import Found, Reach
from app.store.repositories import retention
from app.store.repositories.retention import LOGGED_RUNS

RUNS = 20
"""Runs of one step: each may have a log for every invocation."""


def forget_logs(session: Session, reach: Reach) -> Found:
    """Empty the logs of the next runs, or count the runs."""
    sweep = retention.look if reach.is_dry else retention.lock_due_runs
    its = sweep(session, LOGGED_RUNS, before=reach.before, after=reach.after, most=RUNS)
    if its.ids and not reach.is_dry:
        retention.forget_logs(session, its.ids)
    return Found(its.last, its.seen == RUNS and its.any_old, its.rows, 0, its.oldest)
