"""What holds a program back: time in which the device does nothing for it, a limit of the device, or one of its roofs.

The rules are few and in a fixed order, each with one threshold (docs/efficiency.md states their reasons). Whatever is
known is a finding with its number; what is not known is named, and without any finding that reaches its threshold the
answer is `unclear`, never the likeliest class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum

from app.analysis.efficiency.utilisation import PEAK_TOLERANCE
from app.domain.derived import Note

LOST_TIME = 0.20
"""Share of a step that is worth naming as lost: without it the step would be 1.25 times as fast. It is also from where
on XProf calls a program highly input-bound."""

NEAR_ROOF = 0.50
"""Share of a roof from which on it is the limit: nothing but that roof allows more than twice the speed."""

THROTTLED_TIME = 0.50
"""Share of the time under a power or heat limit from which on the median clock is a limited one."""

FULL_CLOCK = 0.95
"""Share of the highest clock that counts as full, as for the gate `low_clock`."""


class BottleneckKind(StrEnum):
    """Classes of what holds a program back."""

    INPUT = "input"
    """The device waits for data."""
    COMMUNICATION = "communication"
    """Time goes into collectives."""
    LAUNCH = "launch"
    """The device is idle between kernels: the host does not launch them fast enough."""
    POWER = "power"
    """A limit of power or heat holds the clock down."""
    COMPUTE = "compute"
    """The arithmetic peak is near."""
    MEMORY = "memory"
    """The peak of the memory's bandwidth is near."""
    UNCLEAR = "unclear"
    """Nothing that is known reaches its threshold."""


@dataclass(frozen=True)
class Signs:
    """What is known of a step; None for what is not. Shares are from 0 to 1.

    Attributes:
        device_s: time in which the device worked on the step [s]: the union of its kernels. The time between two
            events counts the gaps and is no such time.
        host_s: time of the whole step [s].
        util: share of time in which the device had work; taken where `device_s` is not known.
        sm_active: share of multiprocessors that had work, over time.
        tensor_active: share of cycles in which matrix units worked.
        dram_active: share of cycles in which device memory moved data.
        mfu: model FLOP utilisation.
        hfu: hardware FLOP utilisation.
        bandwidth_util: share of the memory's peak that the declared bytes take.
        input_wait_share: share of the step in which it waits for input.
        comm_share: share of the step in collectives, also of what runs beside other work.
        power_throttle_share: share of time under a power limit.
        thermal_throttle_share: share of time under a limit of temperature.
        clock_share: median clock over the highest.
        intensity: operations for each byte moved [FLOP/B].
        ridge: the intensity at which the device's roofs meet [FLOP/B].
    """

    device_s: float | None = None
    host_s: float | None = None
    util: float | None = None
    sm_active: float | None = None
    tensor_active: float | None = None
    dram_active: float | None = None
    mfu: float | None = None
    hfu: float | None = None
    bandwidth_util: float | None = None
    input_wait_share: float | None = None
    comm_share: float | None = None
    power_throttle_share: float | None = None
    thermal_throttle_share: float | None = None
    clock_share: float | None = None
    intensity: float | None = None
    ridge: float | None = None


@dataclass(frozen=True)
class Finding:
    """One thing that is known: its name and number, a sentence, and the class that it speaks for.

    `kind` is None for what speaks for none. `is_decisive` tells whether it reaches its class's threshold.
    """

    name: str
    value: float
    text: str
    kind: BottleneckKind | None = None
    is_decisive: bool = False


@dataclass(frozen=True)
class Bottleneck:
    """The class with everything that was known beside it.

    Attributes:
        kind: what holds the program back most.
        also: further classes whose thresholds are reached, the gravest first.
        findings: what was known, what speaks for `kind` first.
        missing: what was not known or cannot be right: the name as code, and a sentence.
    """

    kind: BottleneckKind
    also: tuple[BottleneckKind, ...]
    findings: tuple[Finding, ...]
    missing: tuple[Note, ...]


def classify(signs: Signs) -> Bottleneck:
    """Return what holds a step back, and everything that is known of it.

    The class is the first of these that holds:

    1. The largest share of time lost, to input, communication or launching, if it is at least `LOST_TIME`.
    2. `power`: limited for at least `THROTTLED_TIME`, and the clock below `FULL_CLOCK` where it is known.
    3. The roof that is nearer, `compute` or `memory`, if its share is at least `NEAR_ROOF`.
    4. `unclear`.
    """
    usable, doubted = _usable(signs)
    lost = sorted([*_lost(usable)], key=lambda finding: -finding.value)
    limits = [*_limits(usable)]
    roofs = sorted(_roofs(usable), key=lambda finding: -finding.value)
    findings = [*lost, *limits, *roofs]
    kinds = [finding.kind for finding in findings if finding.kind and finding.is_decisive]
    ranked = list(dict.fromkeys(kinds)) or [BottleneckKind.UNCLEAR]
    findings.sort(key=lambda finding: not (finding.is_decisive and finding.kind is ranked[0]))
    shown = (*findings, *_context(usable))
    return Bottleneck(ranked[0], tuple(ranked[1:]), shown, (*doubted, *_missing(usable, doubted)))


# --- what can be believed -------------------------------------------------------------------------------------


_SECONDS = ("device_s", "host_s")
_ABOVE_ZERO = (*_SECONDS, "intensity", "ridge")


def _usable(signs: Signs) -> tuple[Signs, list[Note]]:
    """Return the signs without those that cannot be right, and what was taken out."""
    known = {field.name: getattr(signs, field.name) for field in fields(signs)}
    doubted = [name for name, value in known.items() if value is not None and not _is_possible(name, value)]
    device_s, host_s = known["device_s"], known["host_s"]
    if not doubted and device_s and host_s and device_s > host_s * (1 + PEAK_TOLERANCE):
        doubted = [*_SECONDS]
    notes = [Note(name, f"{name} of {known[name]:.3g} cannot be right and was left out") for name in doubted]
    return Signs(**(known | dict.fromkeys(doubted))), notes


def _is_possible(name: str, value: float) -> bool:
    if not math.isfinite(value):
        return False
    return value > 0 if name in _ABOVE_ZERO else 0 <= value <= 1 + PEAK_TOLERANCE


_WANTED = (
    (("device_s", "util"), "how long the device worked on the step is not known"),
    (("input_wait_share",), "no time waiting for input was reported"),
    (("comm_share",), "no time in collectives was reported"),
    (("power_throttle_share",), "the device does not tell how long a power limit held"),
    (("mfu", "hfu", "tensor_active"), "no share of the arithmetic peak is known"),
    (("bandwidth_util", "dram_active"), "no share of the memory's bandwidth is known"),
)
"""Signs of which at least one is wanted, the first giving the note its code, and what to say where there is none."""


def _missing(signs: Signs, doubted: Iterable[Note]) -> list[Note]:
    told = {note.code for note in doubted}
    return [
        Note(names[0], text)
        for names, text in _WANTED
        if names[0] not in told and all(getattr(signs, name) is None for name in names)
    ]


# --- findings -------------------------------------------------------------------------------------------------


def _lost(signs: Signs) -> Iterable[Finding]:
    if signs.input_wait_share is not None:
        text = "{} of the step waits for input"
        yield _loss("input_wait_share", signs.input_wait_share, text, BottleneckKind.INPUT)
    if signs.comm_share is not None:
        text = "{} of the step is in collectives, what runs beside other work included"
        yield _loss("comm_share", signs.comm_share, text, BottleneckKind.COMMUNICATION)
    idle = _idle_share(signs)
    if idle is not None:
        waiting = signs.input_wait_share or 0.0
        text = "{} of the step the device is idle" + (", waiting for input apart" if waiting else "")
        yield _loss("idle_share", max(0.0, idle - waiting), text, BottleneckKind.LAUNCH)


def _loss(name: str, value: float, text: str, kind: BottleneckKind) -> Finding:
    return Finding(name, value, text.format(_percent(value)), kind, value >= LOST_TIME)


def _idle_share(signs: Signs) -> float | None:
    if signs.device_s is not None and signs.host_s is not None:
        return max(0.0, 1 - signs.device_s / signs.host_s)
    return None if signs.util is None else max(0.0, 1 - signs.util)


def _limits(signs: Signs) -> Iterable[Finding]:
    clock = signs.clock_share
    for name, cause in (("power_throttle_share", "power"), ("thermal_throttle_share", "temperature")):
        share = getattr(signs, name)
        if share is not None:
            text = f"{_percent(share)} of the time a limit of {cause} held"
            text += "" if clock is None else f"; the median clock was {_percent(clock)} of the highest"
            is_limited = share >= THROTTLED_TIME and (clock is None or clock < FULL_CLOCK)
            yield Finding(name, share, text, BottleneckKind.POWER, is_limited)


_ROOFS = (
    ("mfu", "the model's operations take {} of the arithmetic peak", BottleneckKind.COMPUTE),
    ("hfu", "the executed operations take {} of the arithmetic peak", BottleneckKind.COMPUTE),
    ("tensor_active", "the matrix units work in {} of the cycles", BottleneckKind.COMPUTE),
    ("bandwidth_util", "the declared bytes take {} of the memory's peak bandwidth", BottleneckKind.MEMORY),
    ("dram_active", "the memory moves data in {} of the cycles", BottleneckKind.MEMORY),
)


def _roofs(signs: Signs) -> Iterable[Finding]:
    for name, text, kind in _ROOFS:
        share = getattr(signs, name)
        if share is not None:
            yield Finding(name, share, text.format(_percent(share)), kind, share >= NEAR_ROOF)


def _context(signs: Signs) -> Iterable[Finding]:
    """Return what helps to read the others and speaks for no class."""
    if signs.sm_active is not None:
        text = f"{_percent(signs.sm_active)} of the multiprocessors have work, over time"
        yield Finding("sm_active", signs.sm_active, text)
    if signs.intensity is not None and signs.ridge is not None:
        side = (
            "left of the ridge, under the memory's roof"
            if signs.intensity < signs.ridge
            else "right of the ridge"
        )
        text = f"{_digits(signs.intensity)} FLOP for each byte lies {side} at {_digits(signs.ridge)}"
        yield Finding("intensity", signs.intensity, text)


def _digits(value: float) -> str:
    return f"{value:.0f}" if 1000 <= value < 1e6 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
