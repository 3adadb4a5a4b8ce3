"""Incidents: something is wrong with a machine, from when the service saw it until it is over.

An incident is no alert: an alert says that code became worse and waits for somebody's answer, an incident says that a
machine cannot be measured on, or is not what it was, and ends when that is over. Nobody owns one or moves it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

MEMORY_ERRORS = "ecc_uncorrected"
"""Counter of errors that no device gets over by itself."""


class IncidentKind(StrEnum):
    """What is wrong."""

    QUARANTINED = "quarantined"
    """A device takes no jobs: its control is off, or its memory had an error that it could not correct."""
    MOVED = "moved"
    """The control of a device that is never put into quarantine, a processor, is off again and again."""
    LOST = "lost"
    """An agent that has devices was not heard of, and did not sign off."""
    UNSERVED = "unserved"
    """Jobs for a device class wait, and no live device takes them."""


class IncidentEnd(StrEnum):
    """How it was over."""

    CALIBRATION = "calibration"
    ADMINISTRATOR = "administrator"
    USUAL = "usual"
    HEARD = "heard"
    TAKEN_OVER = "taken_over"
    FORGOTTEN = "forgotten"
    SERVED = "served"
    NOTHING_WAITS = "nothing_waits"


def is_of_control(kind: IncidentKind, detail: dict[str, Any]) -> bool:
    """Say whether it was the control workload that told of it."""
    return kind is IncidentKind.MOVED or (kind is IncidentKind.QUARANTINED and MEMORY_ERRORS not in detail)
