"""The life of a job: its states, who may follow whom, and how an attempt can end.

        queued ──▶ leased ──▶ running ──▶ succeeded
          ▲ │         │          │
          └─┼─────────┴──────────┤  (lease expired, retryable end)
            ▼                    ▼
     cancelled · superseded · expired · no_capacity     failed

Terminal states never change; a trigger in PostgreSQL holds the same table.
"""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    LEASED = "leased"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    EXPIRED = "expired"
    NO_CAPACITY = "no_capacity"


HELD = frozenset({JobState.LEASED, JobState.RUNNING})
TERMINAL = frozenset(
    {
        JobState.SUCCEEDED,
        JobState.FAILED,
        JobState.CANCELLED,
        JobState.SUPERSEDED,
        JobState.EXPIRED,
        JobState.NO_CAPACITY,
    }
)

TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset(
        {
            JobState.LEASED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.SUPERSEDED,
            JobState.EXPIRED,
            JobState.NO_CAPACITY,
        }
    ),
    JobState.LEASED: frozenset(
        {
            JobState.RUNNING,
            JobState.QUEUED,
            JobState.SUCCEEDED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.SUPERSEDED,
        }
    ),
    JobState.RUNNING: frozenset(
        {JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED, JobState.SUPERSEDED}
    ),
} | {state: frozenset() for state in TERMINAL}


class Outcome(StrEnum):
    """How an attempt ended; `lost` is the sweeper's word for a lease that expired."""

    OK = "ok"
    BENCH_FAILED = "bench_failed"
    INFRA_FAILED = "infra_failed"
    CONTAMINATED = "contaminated"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    CANCELLED = "cancelled"


RETRY_BACKOFF_S = (0.0, 30.0, 120.0, 600.0)
"""Wait before attempt n+1 after an infrastructure fault [s]; the last entry holds from there on."""


def backoff_s(attempt: int) -> float:
    """Return how long a job waits after its `attempt`-th attempt (1-based) before it may be claimed again [s]."""
    return RETRY_BACKOFF_S[min(attempt - 1, len(RETRY_BACKOFF_S) - 1)]
