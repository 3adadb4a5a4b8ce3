"""Alerts: confirmed changes for the worse and failed checks of one cause, and the states that people move them to.

        new ─▶ acknowledged ─▶ investigating ─▶ fixed | accepted | not_ours | noise
         ▲                                                  │
         └───────────────── comes back, or is reopened ─────┘

Anybody who may answer alerts moves one from any state to any other: the order above is the usual one. What the last
four say is also what is known of the detector: `fixed` and `accepted` were real, `noise` was nothing, and of `not_ours`
something moved, but not the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AlertState(StrEnum):
    """Where an alert stands."""

    NEW = "new"
    ACKNOWLEDGED = "acknowledged"
    INVESTIGATING = "investigating"
    FIXED = "fixed"
    ACCEPTED = "accepted"
    NOT_OURS = "not_ours"
    NOISE = "noise"


OPEN_STATES = (AlertState.NEW, AlertState.ACKNOWLEDGED, AlertState.INVESTIGATING)
"""States of an alert that waits for somebody."""

CLOSED_STATES = tuple(state for state in AlertState if state not in OPEN_STATES)

REAL = (AlertState.FIXED, AlertState.ACCEPTED)
"""States that say: the code became worse."""


class AlertEvent(StrEnum):
    """What happened to an alert."""

    OPENED = "opened"
    JOINED = "joined"
    LEFT = "left"
    MOVED = "moved"
    OWNED = "owned"
    COMMENTED = "commented"
    REOPENED = "reopened"


SERVICE = "ratchet"
"""Who did what nobody did."""


@dataclass(frozen=True)
class Kin:
    """What a symptom is about, as far as it tells whose pattern it shares."""

    benchmark: str
    metric: str
    device_class: str
    params_key: str = ""


@dataclass(frozen=True)
class CommitSpan:
    """The commits that something can have come with: after `previous`, not later than `commit`, by their ids.

    The places are those in first-parent order; None where they are not known.
    """

    previous: int
    commit: int
    first_place: int | None = None
    last_place: int | None = None


@dataclass(frozen=True)
class Symptom:
    """One change point, or one failed check, that an alert is to tell of.

    `pull` is the pull request that it is of, or came with: its repository and number.
    """

    branch: str
    span: CommitSpan
    kin: frozenset[Kin]
    pull: tuple[int, int] | None = None
    change_id: int | None = None
    check_id: int | None = None
    corrects: int | None = None
    """The change point that this one takes the place of."""


@dataclass
class Cause:
    """What an alert knows of its cause."""

    alert_id: int
    branch: str
    span: CommitSpan
    kin: set[Kin]
    pull: tuple[int, int] | None
    change_ids: set[int]
    state: AlertState
    settled_itself: bool = False
    """Whether it was the service that closed it, and nobody."""
