"""What the service answers, as plain records that never change.

Values are in the unit of their series, times have their zone, a change is head/base − 1 or after/before − 1, and what
does not exist is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ratchet_perf.frames import Records, to_frame

Better = Literal["lower", "higher"]
Params = Mapping[str, str | int | float | bool | None]


@dataclass(frozen=True)
class Project:
    """A repository under watch: the branch whose history counts, and how many series it has."""

    project: str
    branch: str
    series: int


@dataclass(frozen=True)
class Series:
    """One metric of one case on one device class; `version` changes with the benchmark's file."""

    id: int
    project: str
    benchmark: str
    params: Params
    metric: str
    unit: str
    better: Better
    device_class: str
    version: str


@dataclass(frozen=True)
class FoundSeries(Series):
    """A series with how many points it has, and its newest one."""

    n: int = 0
    last_commit: str | None = None
    last_time: datetime | None = None
    last_value: float | None = None


@dataclass(frozen=True)
class Point:
    """A point of a history; `row` counts from its oldest, 0."""

    row: int
    value: float
    low: float
    high: float
    n: int
    commit: str
    subject: str
    author: str
    time: datetime
    run: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """Where a series changed for good; `index` is the row of the first point of the new level.

    `machine` says that the machine explains it; None where that was not asked, as in a project's changes.
    """

    id: int
    series: Series
    branch: str
    commit: str
    previous: str
    index: int
    kind: str
    state: str
    before: float | None
    after: float | None
    change: float | None
    worse: bool | None
    ci_low: float | None
    ci_high: float | None
    machine: bool | None = None


@dataclass(frozen=True)
class AlertChange:
    """One change that an alert tells of; `series` is its id, `stands` says whether it was not taken back."""

    id: int
    series: int
    benchmark: str
    params: Mapping[str, Any]
    metric: str
    unit: str
    device_class: str
    before: float | None
    after: float | None
    change: float | None
    ci_low: float | None
    ci_high: float | None
    commit: str
    stands: bool


@dataclass(frozen=True)
class Alert:
    """What became worse, for one cause: `n_changes` changes of histories and `n_checks` failed checks.

    `changes` are the largest of them, in a list three.
    """

    id: int
    project: str
    branch: str
    state: str
    owner: str | None
    commit: str
    subject: str
    previous: str
    pull_request: int | None
    n_changes: int
    n_checks: int
    opened_at: datetime
    changes: Records[AlertChange]


@dataclass(frozen=True)
class Fact:
    """A fact of a machine that changed."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Epoch:
    """A machine that arrives with the point `row`; `returned` says that the history had it before."""

    row: int
    commit: str
    returned: bool
    changes: tuple[Fact, ...]


@dataclass(frozen=True)
class Control:
    """How long the control workload took when the point `row` was measured: time/usual − 1."""

    row: int
    deviation: float


@dataclass(frozen=True)
class VoidValues:
    """A point of whose values some do not count; `reasons` are codes, None where nobody looked for them."""

    row: int
    n_void: int
    n_values: int
    reasons: tuple[str, ...] | None


@dataclass(frozen=True)
class FailedRun:
    """A run that should have brought a point and did not; it lies before the point `row`."""

    row: int
    commit: str
    run: str | None
    verdict: str | None
    reason: str | None


@dataclass(frozen=True)
class Budget:
    """Limits on a metric, in its unit, and the benchmarks that they are for."""

    benchmark: str
    max: float | None
    min: float | None


@dataclass(frozen=True)
class Trend:
    """The history of a series on a branch in the order of its commits, of `n` points, and the changes that stand.

    `thinned` says that some of its points were left out, of those between the first and the last. Beside them is what
    could explain them: how many `machines` measured it and where one arrived (`epochs`), the `control` workload, points
    with `void` values, runs that `failed` to bring a point, and the `budget`.
    """

    series: Series
    branch: str
    branches: tuple[str, ...]
    n: int
    thinned: bool
    points: Records[Point]
    changes: Records[Change]
    machines: int
    epochs: Records[Epoch]
    control: Records[Control]
    void: Records[VoidValues]
    failed: Records[FailedRun]
    budget: Budget | None

    def to_frame(self) -> Any:
        """Return the points as a pandas frame."""
        return to_frame(self.points)


@dataclass(frozen=True)
class Side:
    """The newest result that one side of a comparison has of a series."""

    median: float
    low: float
    high: float
    n: int
    run: str
    commit: str


@dataclass(frozen=True)
class Pair:
    """A series of a comparison; `base` or `head` is None where that side has none."""

    series: Series
    base: Side | None
    head: Side | None
    change: float | None


@dataclass(frozen=True)
class Price:
    """What one device costs an hour: of the classes that `devices` (a glob) matches, as settings stated it on `day`."""

    hour: float
    currency: str
    day: str
    devices: str


@dataclass(frozen=True)
class HardwareSide:
    """A device class with its price; without one, `why` says so."""

    device_class: str
    price: Price | None
    why: str | None


@dataclass(frozen=True)
class Level:
    """What one side does, draws or costs [unit], `per` so much work where the unit does not say, on all `devices`.

    `source` says where it is from, `formula` what it is made of; `low` and `high` are None for a single number.
    """

    metric: str
    unit: str
    better: Better
    value: float
    low: float | None
    high: float | None
    n: int
    run: str
    commit: str
    source: str
    devices: int | None
    per: str | None
    formula: str | None


@dataclass(frozen=True)
class Quantity:
    """One kind of number of a case on both sides, and how many times base's head's is.

    `best` is the better side, None where the range leaves it open; `why` says what is missing.
    """

    base: Level | None
    head: Level | None
    better: Better
    best: Literal["base", "head"] | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    why: tuple[str, ...]


@dataclass(frozen=True)
class HardwareMean:
    """The geometric mean of the ratios of `n` cases; `why` says why none has one."""

    n: int
    better: Better
    best: Literal["base", "head"] | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    why: str | None


@dataclass(frozen=True)
class HardwareCase:
    """One case on both device classes; `two_commits` says that its ratios are not of the devices alone."""

    benchmark: str
    params: Params
    two_commits: bool
    performance: Quantity
    energy: Quantity
    perf_per_watt: Quantity
    cost: Quantity


@dataclass(frozen=True)
class Hardware:
    """Two device classes over the cases that both have: speed, energy, work per joule, cost of work.

    `sentence` says which is best; `means` are by the names of a case's quantities; `two_commits` counts cases.
    """

    sentence: str
    base: HardwareSide
    head: HardwareSide
    two_commits: int
    means: Mapping[str, HardwareMean]
    cases: Records[HardwareCase]


@dataclass(frozen=True)
class Comparison:
    """Stored numbers of two sides; it is no verdict, as `note` says.

    `hardware` is None unless the sides are two device classes, or the service knows nothing of it.
    """

    project: str
    base: str
    head: str
    note: str
    pairs: Records[Pair]
    only_base: Records[Pair]
    only_head: Records[Pair]
    hardware: Hardware | None = None

    def to_frame(self) -> Any:
        """Return the pairs of both sides as a pandas frame."""
        return to_frame(self.pairs)


@dataclass(frozen=True)
class Run:
    """What a worker measured of one suite, or a post of results (`kind` is `measured` or `posted`).

    `outcome` and `ended_at` are None while it goes on, `suite` is None of a post; `by` is the worker, or who posted it.
    """

    run: str
    kind: Literal["measured", "posted"]
    project: str
    base: str | None
    head: str
    subject: str
    author: str
    device_class: str | None
    suite: str | None
    by: str
    outcome: str | None
    reason: str | None
    results: int
    created_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True)
class Sample:
    """What one run has of one series: every value in order; `void` are the indices of those that do not count.

    Where the service keeps the values no longer there are none, and `n` says how many they were.
    """

    series: Series
    arm: Literal["base", "head"]
    commit: str
    branch: str | None
    value: float
    low: float
    high: float
    n: int
    values: tuple[float, ...]
    void: tuple[int, ...]
    flags: tuple[str, ...]
    measured_at: datetime

    @property
    def counted(self) -> tuple[float, ...]:
        """The values that count: `value` is their median."""
        void = set(self.void)
        return tuple(value for index, value in enumerate(self.values) if index not in void)


@dataclass(frozen=True)
class RunDetail:
    """One run with its samples; `told` is all that the service tells of it, as it stands in docs/api-results.md."""

    run: str
    kind: Literal["measured", "posted"]
    project: str
    base: str | None
    head: str
    samples: Records[Sample]
    told: Mapping[str, Any]

    @property
    def environment(self) -> Mapping[str, Any]:
        """What the run ran in: `machine`, as a post tells it or a worker found it, and `software` of a worker."""
        return self.told.get("environment") or {}

    def to_frame(self) -> Any:
        """Return the samples as a pandas frame."""
        return to_frame(self.samples)


@dataclass(frozen=True)
class Result:
    """What a program posts: the repeated values of one metric of one case, all of them in order."""

    benchmark: str
    metric: str
    unit: str
    better: Better
    values: Sequence[float]
    params: Params = field(default_factory=dict)
    low: float | None = None
    high: float | None = None
    version: str | None = None


@dataclass(frozen=True)
class PostedSeries:
    """A series that a post has extended: it has `n` points now, and `new` says that it began with this one."""

    id: int
    benchmark: str
    metric: str
    n: int
    new: bool


@dataclass(frozen=True)
class Posted:
    """What came of a post; `is_new` is False where the same had been posted before."""

    run: str
    series: Records[PostedSeries]
    is_new: bool
