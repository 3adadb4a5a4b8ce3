"""Counting what no row tells for good: in the transaction in which it happens, and as its last act."""

from __future__ import annotations

from bisect import bisect_left
from datetime import datetime

from sqlalchemy.orm import Session

from app.services.metrics.catalogue import CHECK_VISIBLE, CLAIM_LATENCY, VERDICT_DELAY, Metric
from app.store.repositories import clock, runs, tallies
from app.store.tables import Attempt, Check, Job, Target

BEYOND = "+Inf"
"""The label of what is above every bound."""


def count(session: Session, metric: Metric, n: int = 1) -> None:
    """Count so many more; nothing is written for none."""
    if n:
        tallies.add(session, metric.name, [("", n, 0.0)])


def observe(session: Session, metric: Metric, seconds: float) -> None:
    """Count a time [s] in the bucket that it is in."""
    place = bisect_left(metric.bounds, seconds)
    label = str(metric.bounds[place]) if place < len(metric.bounds) else BEYOND
    tallies.add(session, metric.name, [(label, 1, max(0.0, seconds))])


def observe_claim(session: Session, job: Job, attempt: Attempt) -> None:
    """Count how long a job waited for its first lease; those after it waited for a reason."""
    if attempt.number == 1:
        observe(session, CLAIM_LATENCY, _between(job.created_at, attempt.started_at))


def observe_verdict(session: Session, check: Check) -> None:
    """Count how long a check's conclusion took from its last sample; one without samples of its own has none."""
    last = runs.last_sample_at(session, check.request_id)
    if last is not None and last > check.created_at and check.concluded_at is not None:
        observe(session, VERDICT_DELAY, _between(last, check.concluded_at))


def observe_visible(session: Session, target: Target) -> None:
    """Count how long a check took to be told to the forge at all."""
    if target.asked_at is not None:
        observe(session, CHECK_VISIBLE, _between(target.asked_at, clock.now(session)))


def _between(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()
