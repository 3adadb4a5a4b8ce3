"""What a weekly report says of changes and of efficiency, as plain values; where it is from stands in each.

Levels are in base units. Money and hours are a month's, at the traffic that somebody stated (`domain.costs`): positive
is more than before. What nobody stated is None, never zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.domain.alerts import AlertState
from app.domain.results import Better, CommitRef
from app.domain.week import Week


@dataclass(frozen=True)
class SeriesRef:
    """One series, as people know it."""

    id: int
    project: str
    benchmark: str
    params: dict[str, Any]
    metric: str
    unit: str
    better: Better
    device_class: str


@dataclass(frozen=True)
class Level:
    """Where a series was in a week: the median of its points on the branch, from the first to the third quartile."""

    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Money:
    """An amount in one currency."""

    amount: float
    currency: str


@dataclass(frozen=True)
class Monthly:
    """What a change takes more in a month at the stated traffic; below zero where it saves.

    `devices` times `hours` of each is `device_hours`; `basis` are the statements that it rests on, as sentences.
    """

    device_hours: float | None = None
    kwh: float | None = None
    money: tuple[Money, ...] = ()
    basis: tuple[str, ...] = ()


@dataclass(frozen=True)
class MovedSeries:
    """A series that has moved from one level to another; `effect` is ln(after/before), positive = worse."""

    series: SeriesRef
    before: float
    after: float
    change: float
    ci_low: float | None
    ci_high: float | None
    effect: float
    weeks: tuple[float | None, ...] = ()
    """Medians of the last weeks, the oldest first; None where it has no point."""


@dataclass(frozen=True)
class Cause:
    """Changes of one cause, with the series that shows it most first in `series`; `n_series` is of all.

    `since` is the time of the commit. `is_new` tells whether that, or that it became known, is of the report's week.
    """

    project: str
    series: tuple[MovedSeries, ...]
    n_series: int
    commit: CommitRef
    previous: str
    since: datetime
    is_new: bool
    monthly: Monthly | None = None
    alert_id: int | None = None
    state: AlertState | None = None
    owner: str | None = None
    pull: int | None = None
    pull_url: str | None = None

    @property
    def worst(self) -> MovedSeries:
        """The series that shows it most."""
        return self.series[0]


@dataclass(frozen=True)
class Drift:
    """A series that has become worse since `since` by more than its confirmed changes come to.

    `moved` goes from then to this week; `explained` is the effect of the confirmed changes between, `rest` what is left
    (ln units, positive = worse), with its standard error.
    """

    moved: MovedSeries
    since: Week
    explained: float
    rest: float
    error: float
    monthly: Monthly | None = None


@dataclass(frozen=True)
class Efficient:
    """One metric of efficiency of one case on one device class: this week, the last, and the best point ever."""

    series: SeriesRef
    now: Level
    last: Level | None
    best: float
    best_commit: str
    weeks: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class EfficientCase:
    """What is known of a case's efficiency on a device class; `roof` is its share of the roof that is nearer."""

    project: str
    benchmark: str
    params: dict[str, Any]
    device_class: str
    metrics: tuple[Efficient, ...]
    roof: float | None
    roof_last: float | None

    def metric(self, name: str) -> Efficient | None:
        """Return one of its metrics."""
        return next((its for its in self.metrics if its.series.metric == name), None)


@dataclass(frozen=True)
class ClassEfficiency:
    """One metric over all cases of a device class that have it: the median, and the mean ratio to last week.

    `ratio` is the geometric mean of this week's over last week's levels, over the `n_compared` cases that have both.
    """

    device_class: str
    metric: str
    unit: str
    better: Better
    n: int
    median: float
    ratio: float | None
    n_compared: int


@dataclass(frozen=True)
class Efficiency:
    """Efficiency of the week: by device class, and of the cases that are farthest from what their devices can."""

    classes: tuple[ClassEfficiency, ...] = ()
    cases: tuple[EfficientCase, ...] = ()
    n_cases: int = 0


@dataclass(frozen=True)
class Changes:
    """What has moved: `waste` stands, the dearest first; `gains` are of the week. The counts are of all there are."""

    waste: tuple[Cause, ...] = ()
    n_waste: int = 0
    n_new: int = 0
    gains: tuple[Cause, ...] = ()
    n_gains: int = 0
    drifts: tuple[Drift, ...] = ()
    n_drifts: int = 0
    n_suspected: int = 0
    waste_total: Monthly | None = None
    gains_total: Monthly | None = None


@dataclass(frozen=True)
class Coverage:
    """What the week's numbers rest on: series with a point of it, of all; points, commits, checks by conclusion."""

    n_series: int = 0
    n_measured: int = 0
    n_points: int = 0
    n_commits: int = 0
    checks: tuple[tuple[str, int], ...] = ()
