"""The life of a change point: what it can be, and who may follow whom.

        suspected ──▶ confirmed ──▶ corrected   (by a row of its own, which names this one)
            │
            ├──▶ withdrawn     points or measurements say that there is none
            └──▶ episode       it was a spike that reverted, or the noise alone changed

Only a suspicion is re-examined in place. What is confirmed keeps its numbers; withdrawn, episode and corrected are
terminal. A trigger in PostgreSQL holds the same table.
"""

from __future__ import annotations

from enum import StrEnum


class ChangeState(StrEnum):
    """Where a change point stands."""

    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"
    EPISODE = "episode"
    CORRECTED = "corrected"


class ChangeKind(StrEnum):
    """What happened: a lasting step or ramp of the level, a spike that reverted, a change of the noise alone."""

    STEP = "step"
    RAMP = "ramp"
    SPIKE = "spike"
    VARIANCE = "variance"


FIRST_STATES = frozenset({ChangeState.SUSPECTED, ChangeState.CONFIRMED, ChangeState.EPISODE})
"""States in which a change point may be stored at first."""

STANDING = (ChangeState.SUSPECTED, ChangeState.CONFIRMED)
"""States of a change that holds as far as is known."""

MEASURED_NO_CHANGE = "measured in pairs: no change"
"""Reason of a suspicion that its measurement withdrew: those commits are suspected no more in this series."""

WITHIN_CHANCE = "not beyond chance among the series of its commit"
"""Reason of a suspicion that nobody is asked to measure, and no points confirm, before it is more than that."""

MACHINE_CHANGE = "machine_change"
"""Label of a change that is the machine's: it is kept, and blames nobody."""

CHANGE_TRANSITIONS: dict[ChangeState, frozenset[ChangeState]] = {
    ChangeState.SUSPECTED: frozenset({ChangeState.CONFIRMED, ChangeState.WITHDRAWN, ChangeState.EPISODE}),
    ChangeState.CONFIRMED: frozenset({ChangeState.CORRECTED}),
    ChangeState.WITHDRAWN: frozenset(),
    ChangeState.EPISODE: frozenset(),
    ChangeState.CORRECTED: frozenset(),
}
