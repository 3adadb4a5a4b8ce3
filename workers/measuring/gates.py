"""Gates: what makes a pair void, or explains it, told from telemetry alone.

A gate must not see timings: one that did could choose its result. Hard gates void the pair; soft ones say what held
the device back, and void only where the control workload says that it was the machine. Thresholds and their reasons:
docs/measurement.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, median

from workers.host.load import TICKS_PER_S
from workers.measuring.telemetry_summary import rise, throttle_shares, throttled_ns, values
from workers.protocol import Arm
from workers.readings.record import Tick

MEMORY_ABOVE_IDLE_B = 64 * 2**20
STEAL = 0.02
"""Share of the processors' time that the hypervisor may take."""

FOREIGN_CPU = 0.5
"""Processors that other programs may keep busy: so many, or a fiftieth of all where that is more."""

FOREIGN_CPU_SHARE = 0.02
MIN_SPAN_NS = 20_000_000
"""Over less time the kernel's ticks of 10 ms say nothing about load."""

MIN_FOREIGN_S = 0.1
"""Less processor time than that is a burst, such as a service at its ordinary work; it is no load."""

LOW_CLOCK = 0.95
THROTTLED_SHARE = 0.1
"""A reason that holds less of the time explains nothing."""

CORRECTED_ERRORS = 100
BRAKES = ("hw_brake", "prochot", "hw_slowdown")
THERMAL = ("sw_thermal", "hw_thermal", "thermal", "socket_thermal", "vr_thermal", "hbm_thermal")
POWER = ("power_cap", "ppt", "board_limit")


@dataclass(frozen=True)
class Raised:
    """One gate that an invocation raised, with a sentence on what was seen."""

    gate: str
    is_hard: bool
    sentence: str

    @property
    def reason(self) -> str:
        """The gate's code and the sentence."""
        return f"{self.gate}: {self.sentence}"


@dataclass
class Reference:
    """What a device was like before: at the start of the run, and in its invocations so far."""

    start: Tick
    has_own_memory: bool
    base_clocks_hz: list[float]
    link: dict[str, float]


@dataclass(frozen=True)
class Load:
    """What may go on beside a program on a host of so many hardware threads.

    `foreign_cpu`: processors that other programs keep busy; `steal`: share of time that the hypervisor takes.
    """

    threads: int
    foreign_cpu: float
    steal: float

    def at_most(self, other: Load) -> Load:
        """Return the less of both."""
        return Load(self.threads, min(self.foreign_cpu, other.foreign_cpu), min(self.steal, other.steal))


class Gates:
    """The gates of one run.

    `threads` are the host's, `foreign_cpu` is what other programs may use of them, `steal` the share of their time that
    the hypervisor may take.
    """

    def __init__(
        self,
        names: Sequence[str],
        starts: Sequence[Tick],
        *,
        threads: int,
        foreign_cpu: float | None = None,
        steal: float | None = None,
        has_own_memory: bool = True,
    ) -> None:
        """Name the devices and give a reading of each from the start of the run, nothing measured yet."""
        self._names = names
        self._references = [Reference(start, has_own_memory, [], {}) for start in starts]
        self._usual = Load(threads, max(FOREIGN_CPU, FOREIGN_CPU_SHARE * threads), STEAL)
        self._allowed = Load(
            threads,
            self._usual.foreign_cpu if foreign_cpu is None else foreign_cpu,
            STEAL if steal is None else steal,
        )

    def judge(self, arm: Arm, ticks: Sequence[Sequence[Tick]]) -> list[Raised]:
        """Return the gates that an invocation raised, hard ones first, and learn from it what is usual."""
        raised = [
            Raised(found.gate, found.is_hard, f"{found.sentence}{self._where(index)}")
            for index, (of_device, reference) in enumerate(zip(ticks, self._references, strict=True))
            for found in (*self._of_device(of_device, reference), *_soft(of_device, reference))
        ]
        raised += _of_host(ticks[0], self._allowed)
        for of_device, reference in zip(ticks, self._references, strict=True):
            _learn(arm, of_device, reference)
        return sorted(raised, key=lambda found: not found.is_hard)

    def changed_mode(self, ticks: Sequence[Sequence[Tick]]) -> str | None:
        """Return how a device's mode changed since the start of the run; None where it did not."""
        for of_device, reference in zip(ticks, self._references, strict=True):
            before = reference.start.get("mode")
            after = _another(of_device, "mode", before)
            if before is not None and after is not None:
                return f"{before} became {after}"
        return None

    def _where(self, index: int) -> str:
        return f" on {self._names[index]}" if len(self._names) > 1 else ""

    def _of_device(self, ticks: Sequence[Tick], reference: Reference) -> list[Raised]:
        return [
            Raised(gate, True, sentence)
            for gate, look in HARD.items()
            if (sentence := look(ticks, reference)) is not None
        ]

    def disturbance(self, ticks: Sequence[Tick]) -> str | None:
        """Return what the host did to the control workload meanwhile, by its readings in time order.

        Who lets others be busy while code is measured does not say that the control does not feel them.
        """
        found = _of_host(ticks, self._allowed.at_most(self._usual))
        return found[0].reason if found else None


def _of_host(ticks: Sequence[Tick], allowed: Load) -> list[Raised]:
    span_ns = ticks[-1].get("t_ns", 0) - ticks[0].get("t_ns", 0)
    if len(ticks) < 2 or span_ns < MIN_SPAN_NS:
        return []
    span_s = span_ns / 1e9
    # The first reading is about the time before.
    foreign, steal = values(ticks[1:], "host_cpu_foreign"), values(ticks[1:], "host_steal")
    found = []
    if foreign and fmean(foreign) > max(allowed.foreign_cpu, MIN_FOREIGN_S / span_s):
        sentence = f"{fmean(foreign):.2g} of them, where {allowed.foreign_cpu:.2g} may be"
        found.append(Raised("host_cpu", True, sentence))
    # Such time is counted in ticks, of which one may be as good as nothing.
    if steal and fmean(steal) - 1 / (TICKS_PER_S * allowed.threads * span_s) > allowed.steal:
        sentence = f"{fmean(steal):.1%} of it, where {allowed.steal:.0%} may be"
        found.append(Raised("host_steal", True, sentence))
    if swapped := rise(ticks, "swap_in_b"):
        found.append(Raised("host_swap", True, f"{swapped / 2**20:.3g} MiB"))
    return found


def _foreign_process(ticks: Sequence[Tick], reference: Reference) -> str | None:
    pids = sorted({pid for tick in ticks for pid in tick.get("foreign_pids") or ()})
    if pids:
        seen = sum(bool(tick.get("foreign_pids")) for tick in ticks)
        named = ", ".join(map(str, pids[:5])) + (" and more" if len(pids) > 5 else "")
        return f"process {named}, in {seen} of {len(ticks)} readings"
    idle_b, before_b = reference.start.get("mem_used_b"), ticks[0].get("mem_used_b")
    if not reference.has_own_memory or idle_b is None or before_b is None:
        return None
    if before_b - idle_b > MEMORY_ABOVE_IDLE_B:
        more = (before_b - idle_b) / 2**20
        return f"{more:.0f} MiB more of its memory in use before the start than when idle"
    return None


def _ecc(ticks: Sequence[Tick], _: Reference) -> str | None:
    limits = {"ecc_uncorrected": 1, "remapped_rows": 1, "xid_count": 1, "ecc_corrected": CORRECTED_ERRORS}
    words = {
        "ecc_uncorrected": "uncorrected memory errors",
        "remapped_rows": "memory rows replaced",
        "xid_count": "errors of the driver (Xid)",
        "ecc_corrected": "corrected memory errors",
    }
    found = [
        f"{rose:.0f} {words[name]}"
        for name, limit in limits.items()
        if (rose := rise(ticks, name) or 0) >= limit
    ]
    return ", ".join(found) or None


def _limit_changed(ticks: Sequence[Tick], reference: Reference) -> str | None:
    for name, unit in (("power_limit_w", " W"), ("mode", "")):
        before = reference.start.get(name)
        other = _another(ticks, name, before)
        if before is not None and other is not None:
            return f"{name.removesuffix('_w').replace('_', ' ')} {before}{unit} became {other}{unit}"
    return None


def _hw_brake(ticks: Sequence[Tick], _: Reference) -> str | None:
    held = {**throttle_shares(ticks), **throttled_ns(ticks)}
    reasons = [reason for reason in BRAKES if held.get(reason)]
    if (over := rise(ticks, "over_current") or 0) > 0:
        reasons.append(f"{over:.0f} times over-current")
    return ", ".join(reason.replace("_", " ") for reason in reasons) or None


def _link(ticks: Sequence[Tick], reference: Reference) -> str | None:
    for name, word in (("pcie_gen", "PCIe generation"), ("pcie_width", "PCIe width")):
        best, told = reference.link.get(name), values(_busy(ticks), name)
        if best is not None and told and max(told) < best:
            return f"{word} {max(told):g} under load, {best:g} before"
    return None


HARD: dict[str, Callable[[Sequence[Tick], Reference], str | None]] = {
    "foreign_process": _foreign_process,
    "ecc": _ecc,
    "limit_changed": _limit_changed,
    "hw_brake": _hw_brake,
    "link": _link,
}
"""Gates of a device that void a pair; those of the host are in `Gates`."""


def _soft(ticks: Sequence[Tick], reference: Reference) -> list[Raised]:
    shares = throttle_shares(ticks)
    found = []
    for gate, reasons in (("power_cap", POWER), ("thermal", THERMAL)):
        share = max((shares.get(reason, 0.0) for reason in reasons), default=0.0)
        if share > THROTTLED_SHARE:
            found.append(Raised(gate, False, f"in {share:.0%} of the readings"))
    clocks, usual = _busy_clocks_hz(ticks), reference.base_clocks_hz
    if clocks and usual and median(clocks) < LOW_CLOCK * median(usual):
        low, high = median(clocks) / 1e6, median(usual) / 1e6
        found.append(Raised("low_clock", False, f"{low:.0f} MHz, where base usually ran at {high:.0f} MHz"))
    if _is_lost(ticks, reference):
        found.append(Raised("telemetry_lost", False, "nothing of what it told before"))
    return found


def _is_lost(ticks: Sequence[Tick], reference: Reference) -> bool:
    """Tell whether a device that told of itself at the start of the run has fallen silent."""
    asked = [name for name in ("temp_c", "sm_clock_hz", "power_w") if reference.start.get(name) is not None]
    return bool(asked) and not any(values(ticks, name) for name in asked)


def _busy_clocks_hz(ticks: Sequence[Tick]) -> list[float]:
    """Return the clocks while the device had work, where that is told."""
    return values(_busy(ticks), "sm_clock_hz")


def _busy(ticks: Sequence[Tick]) -> list[Tick]:
    """Return the readings in which the device had work, as far as is told: an idle one rests its clock and link."""
    return [tick for tick in ticks if tick.get("util") is None or tick["util"] > 0]


def _another(ticks: Sequence[Tick], name: str, before: object) -> object | None:
    """Return what a setting became: told twice in a row, as a driver may refuse a part of it once."""
    told = [now for tick in ticks if (now := tick.get(name)) is not None]
    return next((now for earlier, now in pairwise(told) if now == earlier != before), None)


def _learn(arm: Arm, ticks: Sequence[Tick], reference: Reference) -> None:
    clocks = _busy_clocks_hz(ticks)
    if arm == "base" and clocks:
        reference.base_clocks_hz.append(median(clocks))
    for name in ("pcie_gen", "pcie_width"):
        told = values(_busy(ticks), name)
        if told:
            reference.link[name] = max(*told, reference.link.get(name, 0))
