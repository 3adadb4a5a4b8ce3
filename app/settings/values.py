"""What a repository's settings say, as frozen values with the defaults of keys that are left out.

Which keys a file may hold, and what each means, is `schema.py`. Values are in base units: durations in
seconds, effects as fractions (0.005 for "0.5%"). The rules of measurement work on logarithms: take those
from `Thresholds`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from app.domain.results import Better
from app.domain.units import Quantity

FORMATS = ("json-lines",)
"""How a command may write its results; the first is the default."""

COMMENTS = ("changed", "always", "never")
"""When a pull request is commented on; the first is the default."""

EVENTS = ("pull_request", "push")
"""Triggers that are no schedule."""

BUILT_IN_CRONS = {"nightly": "0 2 * * *", "weekly": "0 3 * * SUN"}
"""The schedules that exist without being declared, and when they are, in UTC."""


@dataclass(frozen=True)
class Thresholds:
    """The effects that a metric is judged by, as fractions: `minimum_effect` < `tolerance`."""

    minimum_effect: float
    tolerance: float

    @property
    def minimum_effect_ln(self) -> float:
        """The smallest effect that fails a check, as a logarithm: ln(1 + minimum_effect)."""
        return math.log1p(self.minimum_effect)

    @property
    def tolerance_ln(self) -> float:
        """What `no_regression` excludes, as a logarithm: ln(1 + tolerance)."""
        return math.log1p(self.tolerance)


@dataclass(frozen=True)
class ProjectSettings:
    """Which repository this is, and the branch that its history is made of."""

    name: str
    branch: str = "main"
    comment: str = COMMENTS[0]


@dataclass(frozen=True)
class SuiteSettings:
    """A named group of benchmarks: exactly one of `benchmarks` and `command` is set.

    `gate` None means the default: `latency_p50` and `peak_memory`, or a command's first metric. `timeout_s`
    None means ten times the base's median, at least 300 s. `output` None means the file that the environment
    variable RATCHET_RESULT_FILE names.
    """

    name: str
    benchmarks: tuple[str, ...] = ()
    command: str | None = None
    output: str | None = None
    format: str = FORMATS[0]
    setup: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[str, ...] = ("*",)
    devices_needed: int = 1
    on: tuple[str, ...] = EVENTS
    paths: tuple[str, ...] = ()
    timeout_s: float | None = None
    gate: tuple[str, ...] | None = None


@dataclass(frozen=True)
class GateSettings:
    """What fails a check: effects as fractions, device time in minutes."""

    minimum_effect: float = 0.005
    tolerance: float = 0.02
    device_minutes: float = 20.0
    strict: bool = False

    @property
    def thresholds(self) -> Thresholds:
        """The effects that a metric without an override is judged by."""
        return Thresholds(self.minimum_effect, self.tolerance)

    @property
    def device_s(self) -> float:
        """Device time per suite, device class and check [s]."""
        return self.device_minutes * 60


@dataclass(frozen=True)
class MetricSettings:
    """A metric of the project's own, or what is to differ for a known one; None overrides nothing."""

    name: str
    unit: str | None = None
    better: Better | None = None
    minimum_effect: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True)
class BudgetSettings:
    """An absolute limit on a metric of a benchmark; at least one of `max` and `min` is set."""

    benchmark: str
    metric: str
    max: Quantity | None = None
    min: Quantity | None = None


@dataclass(frozen=True)
class ScheduleSettings:
    """A named time that suites run at; `cron` has five fields and means UTC."""

    name: str
    cron: str


@dataclass(frozen=True)
class OwnerSettings:
    """The people who are asked about what is under `paths`, a glob."""

    paths: str
    people: tuple[str, ...]


@dataclass(frozen=True)
class PriceSettings:
    """What one device of the classes that `devices` (a glob) matches costs an hour, and since when."""

    devices: str
    hour: float
    currency: str
    date: date


@dataclass(frozen=True)
class TrafficSettings:
    """How much of a benchmark's work is done a day in earnest, on devices of the classes that `devices` matches.

    `per_day` is in what is counted (`tokens`, `samples`, `requests`); a plain number counts calls of the benchmark.
    """

    benchmark: str
    per_day: Quantity
    date: date
    devices: str = "*"


@dataclass(frozen=True)
class PowerSettings:
    """What a kilowatt-hour costs, and how many the building draws for each that the devices do."""

    kwh: float
    currency: str
    date: date
    pue: float = 1.0


@dataclass(frozen=True)
class CostSettings:
    """What an installation's own file says about money, for projects whose settings do not."""

    prices: tuple[PriceSettings, ...] = ()
    traffic: tuple[TrafficSettings, ...] = ()
    power: PowerSettings | None = None


@dataclass(frozen=True)
class Settings:
    """Everything that a `ratchet.toml` says. Names of suites, metrics and schedules are unique."""

    project: ProjectSettings
    suites: tuple[SuiteSettings, ...]
    gate: GateSettings = GateSettings()
    metrics: tuple[MetricSettings, ...] = ()
    budgets: tuple[BudgetSettings, ...] = ()
    schedules: tuple[ScheduleSettings, ...] = ()
    owners: tuple[OwnerSettings, ...] = ()
    prices: tuple[PriceSettings, ...] = ()
    traffic: tuple[TrafficSettings, ...] = ()
    power: PowerSettings | None = None

    def thresholds(self, metric: str) -> Thresholds:
        """Return the effects that `metric` is judged by: its own where it has some, else the gate's."""
        override = next((m for m in self.metrics if m.name == metric), MetricSettings(metric))
        return override_thresholds(self.gate, override)


def override_thresholds(gate: GateSettings, metric: MetricSettings) -> Thresholds:
    """Return the gate's thresholds with what `metric` sets in their place."""
    own = (metric.minimum_effect, metric.tolerance)
    common = (gate.minimum_effect, gate.tolerance)
    return Thresholds(
        *(ours if ours is not None else theirs for ours, theirs in zip(own, common, strict=True))
    )
