"""Alerts in a week: what is open and how old, what was opened and closed, and how right the detector was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.alerts import AlertState

AGES = (
    (7, "under a week"),
    (14, "1 to 2 weeks"),
    (28, "2 to 4 weeks"),
    (91, "1 to 3 months"),
    (None, "older"),
)
"""Ages of open alerts: below how many days, None for all the rest, and what that is called."""


@dataclass(frozen=True)
class Rate:
    """`k` of `n` with the 95 % interval of the share; None where nothing was counted."""

    k: int
    n: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class WorstChange:
    """The largest change of an alert: of which case and metric, and by how much."""

    benchmark: str
    params: dict[str, Any]
    metric: str
    change: float | None


@dataclass(frozen=True)
class OpenAlert:
    """One open alert. What it is about is its largest change, or its newest check's title; neither if all was undone.

    `n_changes` are those of its changes that stand.
    """

    id: int
    project: str
    state: AlertState
    owner: str | None
    opened_at: datetime
    n_changes: int
    worst: WorstChange | None
    check: str | None


@dataclass(frozen=True)
class AlertsWeek:
    """Alerts in a week.

    Attributes:
        ages: open alerts by state, how many are of each of `AGES`; as of now.
        n_unowned: how many of them nobody has.
        oldest: the oldest of them.
        opened: how many were opened in the week.
        reopened: how many were opened again in the week.
        closed: how many were closed in the week, by the state that they were closed with last.
        precision: real ones of those alerts about histories that people judged, of all times.
        recall: of the real changes that people know of, those that were found, of all times.
        now: the moment that ages are reckoned from.
    """

    ages: Mapping[AlertState, tuple[int, ...]]
    n_unowned: int
    oldest: tuple[OpenAlert, ...]
    opened: int
    reopened: int
    closed: Mapping[AlertState, int]
    precision: Rate
    recall: Rate
    now: datetime

    @property
    def n_open(self) -> int:
        """How many are open."""
        return sum(sum(of_state) for of_state in self.ages.values())

    @property
    def n_closed(self) -> int:
        """How many were closed in the week."""
        return sum(self.closed.values())

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.n_open or self.opened or self.n_closed or self.precision.n or self.recall.n)


def by_age(days: Mapping[int, int]) -> tuple[int, ...]:
    """Return how many there are of each of `AGES`, by how many there are of each whole number of days."""
    counts = [0] * len(AGES)
    for day, n in days.items():
        counts[next(place for place, (below, _) in enumerate(AGES) if below is None or day < below)] += n
    return tuple(counts)
