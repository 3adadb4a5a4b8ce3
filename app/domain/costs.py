"""What work costs: prices of devices and of energy, and how much of the measured work is done in earnest.

All of it is stated by people, each with the day that it was valid on; nothing is assumed where nobody said anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.domain.hardware import Price

DAYS_A_MONTH = 365.25 / 12
"""The mean length of a month [d]."""

ITERATIONS = "1"
"""What a bare number of traffic counts: calls of the benchmark, or runs of a command."""


@dataclass(frozen=True)
class Traffic:
    """How much of a benchmark's work is done a day, by each case whose benchmark and device class the globs match.

    `unit` is what is counted (`tokens`, `samples`, `requests`), or `ITERATIONS`; `day` when that was so.
    """

    benchmark: str
    devices: str
    per_day: float
    unit: str
    day: str


@dataclass(frozen=True)
class Power:
    """What a kilowatt-hour costs, and how much the building draws for each that a device does (PUE)."""

    kwh: float
    currency: str
    day: str
    pue: float = 1.0


@dataclass(frozen=True)
class Costs:
    """Everything that somebody stated; of several entries that fit the first one counts."""

    prices: tuple[Price, ...] = ()
    traffic: tuple[Traffic, ...] = ()
    power: Power | None = None

    def price(self, device_class: str) -> Price | None:
        """Return what a device of the class costs an hour."""
        return next((its for its in self.prices if fnmatchcase(device_class, its.devices)), None)

    def traffic_of(self, benchmark: str, device_class: str) -> Traffic | None:
        """Return how much of a benchmark's work is done a day on devices of the class."""
        fits = (
            its
            for its in self.traffic
            if fnmatchcase(benchmark, its.benchmark) and fnmatchcase(device_class, its.devices)
        )
        return next(fits, None)

    def or_else(self, other: Costs) -> Costs:
        """Return these, and what `other` says where they say nothing."""
        return Costs(
            prices=(*self.prices, *other.prices),
            traffic=(*self.traffic, *other.traffic),
            power=self.power or other.power,
        )
