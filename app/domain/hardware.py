"""Two device classes held against each other: what they do, what they draw for it, and what that costs.

Values of either class are kept with where they are from; a ratio is there only where both are of the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from app.domain.results import Better

SideName = Literal["base", "head"]


class Source(StrEnum):
    """Where a value is from."""

    MEASURED = "measured"
    ENERGY_COUNTER = "energy_counter"
    POWER_SAMPLES = "power_samples"
    SIMULATED = "simulated"
    POSTED = "posted"
    STATED_PRICE = "stated_price"


class Kind(StrEnum):
    """What two device classes are compared by."""

    PERFORMANCE = "performance"
    ENERGY = "energy"
    PERF_PER_WATT = "perf_per_watt"
    COST = "cost"

    @property
    def better(self) -> Better:
        """Which way its ratio head/base is good for head; that of performance is of speeds, whatever is measured."""
        return "higher" if self in (Kind.PERFORMANCE, Kind.PERF_PER_WATT) else "lower"


@dataclass(frozen=True)
class Measured:
    """A stored number of a case on one device class [unit], a base unit.

    `energy` is where its run has energy from, `devices` how many devices worked on it, None where nobody told.
    """

    metric: str
    unit: str
    better: str
    value: float
    low: float
    high: float
    n: int
    run: str
    commit: str
    source: Source = Source.MEASURED
    energy: Source = Source.MEASURED
    devices: int | None = None


@dataclass(frozen=True)
class MeasuredCase:
    """One case with what either device class has of it."""

    benchmark: str
    params: dict[str, Any]
    base: tuple[Measured, ...]
    head: tuple[Measured, ...]


@dataclass(frozen=True)
class Price:
    """What one device costs an hour: of the device classes that `devices` (a glob) matches, on the day `day`."""

    hour: float
    currency: str
    day: str
    devices: str


@dataclass(frozen=True)
class HardwareSide:
    """A device class, and its price; without one, `why` says so."""

    device_class: str
    price: Price | None = None
    why: str = ""


@dataclass(frozen=True)
class Level:
    """A value of one side [unit], `per` so much work where the unit does not say; `better` is which way it is better.

    It is of all `devices` together, None where nobody told how many. `low` and `high` are the range of what it was made
    of, None where one number is all that is known. `formula` is in the names of metrics, empty for a number that is
    stored as it is.
    """

    metric: str
    unit: str
    better: str
    value: float
    low: float | None
    high: float | None
    n: int
    run: str
    commit: str
    source: Source
    devices: int | None = None
    per: str = ""
    formula: str = ""


@dataclass(frozen=True)
class Ratio:
    """How many times base's something of head is, between `low` and `high`; these are None for single numbers."""

    value: float
    low: float | None
    high: float | None

    def best(self, better: Better) -> SideName | None:
        """Return the side that is better; None where the range leaves that open, and for equal numbers."""
        low = self.value if self.low is None else self.low
        high = self.value if self.high is None else self.high
        if low <= 1 <= high:
            return None
        return "head" if (low > 1) == (better == "higher") else "base"


@dataclass(frozen=True)
class Quantity:
    """One kind of number of a case on both sides; `why` says what is missing, in sentences without a full stop."""

    kind: Kind
    base: Level | None
    head: Level | None
    ratio: Ratio | None
    why: tuple[str, ...] = ()

    @property
    def best(self) -> SideName | None:
        """The better side, where that can be said."""
        return self.ratio.best(self.kind.better) if self.ratio else None


@dataclass(frozen=True)
class HardwareCase:
    """One case on both device classes."""

    benchmark: str
    params: dict[str, Any]
    performance: Quantity
    energy: Quantity
    perf_per_watt: Quantity
    cost: Quantity

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """All four."""
        return self.performance, self.energy, self.perf_per_watt, self.cost

    @property
    def known(self) -> tuple[Quantity, ...]:
        """Those of which a side at least has a value."""
        return tuple(its for its in self.quantities if its.base or its.head)

    @property
    def unknown(self) -> tuple[Quantity, ...]:
        """Those of which neither side has a value."""
        return tuple(its for its in self.quantities if not (its.base or its.head))

    @property
    def is_of_two_commits(self) -> bool:
        """Whether a ratio is of two commits, and so not of the devices alone."""
        sides = ((its.base, its.head) for its in self.quantities if its.ratio)
        return any(base.commit != head.commit for base, head in sides if base and head)


@dataclass(frozen=True)
class Mean:
    """The geometric mean of a quantity's ratios over the `n` cases that have one; `why` says why there are none."""

    kind: Kind
    n: int
    ratio: Ratio | None
    why: str = ""

    @property
    def best(self) -> SideName | None:
        """The better side, where that can be said."""
        return self.ratio.best(self.kind.better) if self.ratio else None


@dataclass(frozen=True)
class HardwareComparison:
    """Two device classes over the cases that both have."""

    base: HardwareSide
    head: HardwareSide
    cases: tuple[HardwareCase, ...]
    means: tuple[Mean, ...]

    @property
    def n_of_two_commits(self) -> int:
        """How many cases have numbers of two commits, so that their ratios are not of the devices alone."""
        return sum(case.is_of_two_commits for case in self.cases)

    def mean(self, kind: Kind) -> Mean:
        """Return the mean of one kind."""
        return next(mean for mean in self.means if mean.kind == kind)
