"""The step that drops the raw values of runs: every timing, every estimate, and the readings beside them.

A run is summed up in the transaction that drops the first of them, so that nobody ever sees it without both, or judges
it by a part.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.services.retention.step import Found, Reach
from app.services.run_summary import stored, summarise
from app.store.repositories import retention
from app.store.repositories.retention import RAW_RUNS
from app.store.tables import Run

RUNS = 20
"""Runs that one step looks at."""


def drop_raw(session: Session, reach: Reach) -> Found:
    """Drop some raw values of the next runs, or count them all."""
    sweep = retention.look if reach.is_dry else retention.lock_due_runs
    its = sweep(session, RAW_RUNS, before=reach.before, after=reach.after, most=RUNS)
    if reach.is_dry:
        rows, size_b = retention.raw_of(session, its.ids) if its.ids else (0, 0)
        return Found(its.last, its.seen == RUNS and its.any_old, rows, size_b, its.oldest if rows else None)
    rows = size_b = 0
    for run_id in its.ids:
        gone, took_b = _drop(session, run_id, reach.most - rows)
        rows, size_b = rows + gone, size_b + took_b
        if rows == reach.most:  # of this run there may be more
            return Found(run_id - 1, True, rows, size_b, its.oldest)
    return Found(its.last, its.seen == RUNS and its.any_old, rows, size_b, its.oldest)


def _drop(session: Session, run_id: int, most: int) -> tuple[int, int]:
    """Drop up to `most` rows of the run; return how many there were and what they took [B]."""
    run = session.get_one(Run, run_id, populate_existing=True)
    if run.summary is None:
        run.summary = stored(summarise(session, run))
    rows, size_b = retention.delete_raw(session, run_id, most)
    run.is_bare = rows < most
    return rows, size_b
