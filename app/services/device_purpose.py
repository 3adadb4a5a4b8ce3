"""What a job of a device's own is for; other jobs are for commits."""

from __future__ import annotations

from enum import StrEnum

from app.store.tables import Job


class Purpose(StrEnum):
    """Why a device has a job of its own."""

    SELF_CHECK = "self_check"
    """A commit is measured against itself: what is found is noise."""
    CALIBRATE = "calibrate"
    """The control workload alone, to end a quarantine."""
    BRIDGE = "bridge"
    """The last commit of a history, on a machine that has changed."""


def purpose_of(job: Job) -> Purpose | None:
    """Return what a job is for, if it is a device's own."""
    named = job.policy.get("purpose")
    return Purpose(named) if named else None
