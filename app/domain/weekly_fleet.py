"""The accelerators in a week: how long they were there and held, what for, at what cost, and how well they measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.device_use import Drawn, sum_of
from app.domain.weekly import Money

INFRASTRUCTURE = ("infra_failed", "lost", "timed_out")
"""Outcomes of attempts that say something of machines and agents, and nothing of the commits."""

CONTAMINATED = "contaminated"


@dataclass(frozen=True)
class Waits:
    """How long jobs that began in the week had waited for their first attempt [s]: the median and what 95 % keep to."""

    n: int
    p50_s: float
    p95_s: float


@dataclass(frozen=True)
class Queue:
    """Jobs that wait just now, and since when the oldest does."""

    n: int
    oldest_at: datetime


@dataclass(frozen=True)
class Part:
    """Device time [s] and what it costs; None where nobody stated a price."""

    seconds: float
    cost: Money | None


@dataclass(frozen=True)
class Unheld:
    """What became of the time that nobody held, as DCGM told: used by others, idle, and not known.

    Of what others used something ran for `busy_s` at least [s].
    `drawn` is the energy of all the time, held or not, and `drawn_idle` that of idle time, with what it costs; None
    where none is told, or nobody stated a price.
    """

    used: Part
    idle: Part
    unknown: Part
    busy_s: float
    drawn: Drawn | None
    drawn_idle: Drawn | None
    drawn_idle_cost: Money | None


@dataclass(frozen=True)
class Watched:
    """Of how many GPUs DCGM told something of the week, and of how many it was asked.

    `reason` says why not of all, where that is known, as a sentence without its full stop.
    """

    n_told: int
    n: int
    reason: str | None


@dataclass(frozen=True)
class DeviceWeek:
    """One device: how long it was there and held [s], and what it is like. `quarantined_at` is None for a well one.

    `unheld` is None where only leases tell of it: what nobody held counts as idle then.
    """

    device_id: int
    hardware_id: str
    device_class: str
    worker: str
    health: str
    grade: str | None
    there_s: float
    held_s: float
    quarantined_at: datetime | None = None
    why: str = ""
    """Of a quarantine; a sentence without its full stop, empty where nothing is told."""
    unheld: Unheld | None = None

    @property
    def idle_s(self) -> float:
        """How long it was idle [s]: as it was seen, or else as long as it was there and nobody held it."""
        if self.unheld is not None:
            return self.unheld.idle.seconds
        return max(0.0, self.there_s - self.held_s)

    @property
    def share(self) -> float | None:
        """How much of its time it was held; None where it was not there."""
        return self.held_s / self.there_s if self.there_s > 0 else None


@dataclass(frozen=True)
class Activity:
    """What DCGM told: the mean over runs, weighted by their device time. None for what it did not tell."""

    sm_active: float | None
    tensor_active: float | None
    n_runs: int


@dataclass(frozen=True)
class ClassWeek:
    """The devices of a class together. Costs are None where nobody stated a price.

    `there_s` is None where the report is of one project: then only what the project held is told. `unheld` is None
    where only leases tell of the class.
    """

    device_class: str
    n_devices: int
    held_s: float
    there_s: float | None = None
    idle_s: float | None = None
    idle_cost: Money | None = None
    held_cost: Money | None = None
    waits: Waits | None = None
    queue: Queue | None = None
    activity: Activity | None = None
    unheld: Unheld | None = None

    @property
    def share(self) -> float | None:
        """How much of their time they were held."""
        return self.held_s / self.there_s if self.there_s else None


@dataclass(frozen=True)
class Use:
    """Device time that something took [s], what that cost in each currency, and the part that has a price.

    `project` is empty for those that the report is not of, `what` is a suite or a purpose.
    """

    project: str
    what: str
    held_s: float
    costs: tuple[Money, ...] = ()
    unpriced_s: float = 0.0


@dataclass(frozen=True)
class Energy:
    """What the devices drew while something was measured on them [J].

    `low` and `high` are how far off it may be: None where counters told it for every run of the week. `told_s` of the
    `of_s` device seconds of these runs are behind it; nothing is put in place of the rest.
    """

    joules: float
    low: float | None
    high: float | None
    told_s: float
    of_s: float
    n_read: int
    n_runs: int
    is_counted: bool
    """Whether energy counters told it; else some of it is from readings of the power."""

    @property
    def is_measured(self) -> bool:
        """Whether it is no estimate."""
        return self.low is None


@dataclass(frozen=True)
class Spoiled:
    """Invocations that do not count, of all of the runs that were looked at."""

    n_void: int
    n: int
    n_read: int
    n_runs: int


@dataclass(frozen=True)
class FleetWeek:
    """The fleet in a week; what is of projects is of those of the report alone, unless it has no name.

    Attributes:
        is_whole: whether it is of all devices, and not only of what one project used of them.
        classes: device classes, the one with most idle time first.
        devices: those that were there, the idlest first; none for one project.
        suites: device time by project and suite, the most first.
        purposes: device time by what asked for it.
        retired_s: device time on devices that are retired by now, which `classes` and `devices` leave out.
        outcomes: how many attempts ended how.
        reasons: why attempts ended as one of `INFRASTRUCTURE` or contaminated, the commonest first.
        spoiled: void invocations; None where nothing was measured.
        energy: what was drawn; None where no device tells it.
        energy_cost: what that cost, with what the building draws besides; None without a price of energy.
        pue: how much the building draws for each that a device does, where that is in `energy_cost`.
        watched: of how many GPUs DCGM told; None where it was not asked.
        drawn_cost: what the energy of all time of these GPUs cost, held or not, with the building's.
        drawn_idle_cost: of that what they drew while they were idle.
    """

    is_whole: bool
    classes: tuple[ClassWeek, ...]
    devices: tuple[DeviceWeek, ...]
    suites: tuple[Use, ...]
    purposes: tuple[Use, ...]
    retired_s: float
    outcomes: Mapping[str, int]
    reasons: tuple[tuple[str, int], ...]
    spoiled: Spoiled | None
    energy: Energy | None
    energy_cost: Money | None = None
    pue: float = 1.0
    watched: Watched | None = None
    drawn_cost: Money | None = None
    drawn_idle_cost: Money | None = None

    @property
    def is_seen(self) -> bool:
        """Whether more than leases tells what devices did."""
        return self.watched is not None and self.watched.n_told > 0

    @property
    def has_unseen(self) -> bool:
        """Whether there are devices of which leases alone tell."""
        return any(its.there_s and its.unheld is None for its in self.classes)

    @property
    def drawn(self) -> Drawn | None:
        """The energy of the GPUs that DCGM told of, in all of their time."""
        return sum_of(its.unheld.drawn for its in self.classes if its.unheld)

    @property
    def drawn_idle(self) -> Drawn | None:
        """The same of their idle time."""
        return sum_of(its.unheld.drawn_idle for its in self.classes if its.unheld)

    @property
    def held_s(self) -> float:
        """Device time that was held [s], on devices that are retired by now, too."""
        return sum(use.held_s for use in self.purposes)

    @property
    def n_ended(self) -> int:
        """How many attempts ended."""
        return sum(self.outcomes.values())

    @property
    def n_infrastructure(self) -> int:
        """How many ended by a fault of machine or agent."""
        return sum(self.outcomes.get(outcome, 0) for outcome in INFRASTRUCTURE)

    @property
    def quarantined(self) -> tuple[DeviceWeek, ...]:
        """Devices that are in quarantine now."""
        return tuple(device for device in self.devices if device.quarantined_at is not None)

    def __bool__(self) -> bool:
        """Whether there was anything."""
        return bool(self.classes or self.devices or self.purposes)
