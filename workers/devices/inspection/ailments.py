"""What makes a device a bad one to measure on: rules over what it tells of itself.

Each rule names what is wrong, what it costs, and the exact command that mends it. What a device does not tell is not
held against it; where a rule cannot know, it gives advice. Pure: facts and readings in, ailments out. Where the costs
come from: docs/devices.md.

Options of commands are those of the makers' own pages: nvidia-smi(1); "Performance levels and performance
determinism" of AMD SMI; "GPU sysfs power state interfaces" of the kernel's amdgpu; "Platform power and performance"
of the Jetson Linux Developer Guide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Told = Mapping[str, Any]

STEADY_POLICIES = ("locked", "application", "performance")
IDLE_CLOCK = 0.5
"""An idle clock below this share of the highest is none that somebody locked to measure at."""

BELOW_DEFAULT = 0.99
MEASURING_CLOCK = 0.75
"""A share of the highest clock that a device can hold under load, without reaching limits of power and heat."""

BRAKES = ("hw_brake", "hw_slowdown", "prochot")
HEAT = ("sw_thermal", "hw_thermal", "thermal", "vr_thermal", "socket_thermal", "hbm_thermal")
"""Reasons that hold a clock down: the gates' `hw_brake` and `thermal` (workers.measuring.gates)."""

DISPLAYS = ("Xorg", "Xwayland", "gnome-shell", "kwin_wayland", "kwin_x11", "gdm-x-session", "plasmashell")
ALONE = {
    "tpu": "a TPU chip serves one program at a time, so that nothing can be measured until it ends",
    "neuron": "a NeuronCore belongs to one program, so that nothing can be measured on its cores until it ends",
}
SHARED = "it takes time and memory whenever it works; every pair that it touches is void"


class Ailment(NamedTuple):
    """One thing that is wrong: where (`host`, or a device's hardware id), what, its cost, what mends it."""

    code: str
    where: str
    what: str
    cost: str
    mend: str


@dataclass(frozen=True)
class Patient:
    """One device as it tells of itself.

    `processes` are names by number, as far as they may be seen; `power_modes` a Jetson's by name, with their numbers.
    """

    kind: str
    hardware_id: str
    facts: Told
    readings: Told
    processes: Mapping[int, str] = field(default_factory=dict)
    power_modes: Mapping[str, int] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """What nvidia-smi calls the device; a MIG instance is `0:1`, of which commands want the GPU."""
        index = self.facts.get("index")
        return (
            str(self.facts.get("uuid") or 0) if index is None else str(index).rpartition(":")[0] or str(index)
        )

    @property
    def folder(self) -> str:
        """Where the kernel has the files of a device on the PCI bus."""
        return f"/sys/bus/pci/devices/{self.facts.get('pci_bus_id') or 'ADDRESS'}"

    def measuring_mhz(self) -> str:
        """Return a clock that the device can hold under load [MHz]."""
        highest_hz = self.facts.get("sm_clock_max_hz")
        return f"{highest_hz * MEASURING_CLOCK / 1e6:.0f}" if highest_hz else "MHZ"

    def ailment(self, code: str, what: str, cost: str, mend: str) -> Ailment:
        """Return an ailment of this device."""
        return Ailment(code, self.hardware_id, what, cost, mend)


Rule = Callable[[Patient], Iterator[Ailment]]


def device_ailments(patient: Patient) -> list[Ailment]:
    """Return what is wrong with a device."""
    rules = (*ANY_RULES, *DEVICE_RULES.get(patient.kind, ()))
    return [ailment for rule in rules for ailment in rule(patient)]


def device_advice(patient: Patient) -> list[Ailment]:
    """Return what may be wrong with a device and cannot be known, in the form of an ailment."""
    return [advice for rule in ADVICE_RULES.get(patient.kind, ()) for advice in rule(patient)]


# --- any device -------------------------------------------------------------------------------------------------


def _foreign_process(patient: Patient) -> Iterator[Ailment]:
    pids = (patient.readings.get("foreign_pids") or [])[:5]
    if not pids:
        return
    named = [f"{patient.processes[pid]} ({pid})" if pid in patient.processes else str(pid) for pid in pids]
    is_display = all(patient.processes.get(pid) in DISPLAYS for pid in pids)
    mend = "sudo systemctl isolate multi-user.target" if is_display else _kill(pids)
    what = "the screen is drawn by the device" if is_display else "another program is on the device"
    yield patient.ailment(
        "foreign_process", f"{what}: {', '.join(named)}", ALONE.get(patient.kind, SHARED), mend
    )


def _kill(pids: Sequence[int]) -> str:
    return f"sudo kill {' '.join(map(str, pids))}   # whose it is: ps -fp {','.join(map(str, pids))}"


def _held_back(patient: Patient) -> Iterator[Ailment]:
    reasons = patient.readings.get("throttle_reasons") or ()
    look = {
        "nvidia": f"nvidia-smi -i {patient.number} -q -d PERFORMANCE,TEMPERATURE",
        "amd": "amd-smi metric --temperature --power",
        "jetson": "tegrastats",
    }.get(patient.kind, "sensors")
    if any(reason in BRAKES for reason in reasons):
        yield patient.ailment(
            "hw_brake",
            "the hardware's brake holds the device back: its power supply, or great heat",
            "it may run at half its clock; every pair is void",
            f"{look}   # then see to power cables, supply and airflow",
        )
    elif any(reason in HEAT for reason in reasons):
        yield patient.ailment(
            "thermal",
            "heat holds the clock down",
            "the clock follows the temperature: later runs are slower than earlier ones, by several percent",
            f"{look}   # then see to fans, filters and airflow, or lock a lower clock",
        )


ANY_RULES: tuple[Rule, ...] = (_foreign_process, _held_back)


# --- NVIDIA -----------------------------------------------------------------------------------------------------

UNSTEADY = (
    "runs differ by several percent as the device warms up; grade A needs a clock that holds within 1 %"
)


def _nvidia_settings(patient: Patient) -> Iterator[Ailment]:
    facts, smi = patient.facts, f"sudo nvidia-smi -i {patient.number}"
    if facts.get("persistence") is False:
        yield patient.ailment(
            "persistence_off",
            "persistence is off: the driver lets go of the device when nobody uses it",
            "start-up takes seconds longer, and settings such as locked clocks are lost in between",
            f"{smi} -pm 1",
        )
    if facts.get("ecc_mode_pending") is not None and facts["ecc_mode_pending"] != facts.get("ecc_mode"):
        yield patient.ailment(
            "ecc_pending",
            f"memory error correction (ECC) is to be {'on' if facts['ecc_mode_pending'] else 'off'} after a reset",
            "memory gets slower or faster by up to a tenth in the middle of a history",
            f"{smi} --gpu-reset   # nothing may use it meanwhile; or reboot",
        )
    if facts.get("remap_pending"):
        yield patient.ailment(
            "remap_pending",
            "rows of memory wait to be replaced",
            "their errors go on until a reset, and each that is not corrected voids a pair",
            f"{smi} --gpu-reset   # nothing may use it meanwhile; or reboot",
        )
    yield from _power_cap(patient, lambda watts: f"{smi} -pl {watts:.0f}")


def _nvidia_clocks(patient: Patient) -> Iterator[Ailment]:
    """Tell of a clock that fell when nobody used the device: a locked one is held "regardless if an app is running"."""
    now_hz, highest_hz = patient.readings.get("sm_clock_hz"), patient.facts.get("sm_clock_max_hz")
    if _may_be_unlocked(patient) and _is_idle(patient) and now_hz and highest_hz:
        yield patient.ailment(
            "clocks_not_locked",
            f"the clock is not locked: without work it fell to {now_hz / 1e6:.0f} of {highest_hz / 1e6:.0f} MHz",
            UNSTEADY,
            _lock_clocks(patient),
        )


def _nvidia_clocks_advice(patient: Patient) -> Iterator[Ailment]:
    if _may_be_unlocked(patient) and not _is_idle(patient):
        yield patient.ailment(
            "clocks_unknown",
            "whether the clock is locked cannot be read (NVML has no such question)",
            f"where it is not, {UNSTEADY}",
            _lock_clocks(patient),
        )


def _may_be_unlocked(patient: Patient) -> bool:
    return patient.facts.get("clock_policy") not in STEADY_POLICIES and ":" not in str(
        patient.facts.get("index")
    )


def _is_idle(patient: Patient) -> bool:
    """Tell whether the device has nothing to do, and its clock fell."""
    readings, highest_hz = patient.readings, patient.facts.get("sm_clock_max_hz")
    clock_hz = readings.get("sm_clock_hz")
    if "idle" not in (readings.get("throttle_reasons") or ()) or clock_hz is None or not highest_hz:
        return False
    return bool(clock_hz < IDLE_CLOCK * highest_hz)


def _lock_clocks(patient: Patient) -> str:
    mhz = patient.measuring_mhz()
    return f"sudo nvidia-smi -i {patient.number} --lock-gpu-clocks={mhz},{mhz}"


def _power_cap(patient: Patient, mend: Callable[[float], str]) -> Iterator[Ailment]:
    limit, default = patient.readings.get("power_limit_w"), patient.facts.get("power_limit_default_w")
    if limit is not None and default is not None and limit < BELOW_DEFAULT * default:
        yield patient.ailment(
            "power_cap",
            f"the power limit is {limit:.0f} W; as delivered it is {default:.0f} W",
            "code that draws more is slowed down, so that numbers are those of the limit",
            mend(default),
        )


# --- AMD --------------------------------------------------------------------------------------------------------

DETERMINISTIC = ("gfx90a",)
"""Architectures that can hold one highest clock (MI200); newer ones of the Instinct family take a limit instead."""

LIMITED = ("gfx940", "gfx941", "gfx942", "gfx950")


def _amd(patient: Patient) -> Iterator[Ailment]:
    policy = str(patient.facts.get("clock_policy") or "")
    if policy.startswith("automatic"):
        yield patient.ailment(
            "clocks_not_locked", "the clock follows load and temperature", UNSTEADY, _hold(patient)
        )
    if policy.startswith("low"):
        yield patient.ailment(
            "clocks_low",
            "the clock is held at its lowest",
            "everything is several times slower than the device can do",
            _hold(patient),
        )
    yield from _power_cap(
        patient, lambda watts: f"echo {watts * 1e6:.0f} | sudo tee {patient.folder}/hwmon/hwmon*/power1_cap"
    )


def _hold(patient: Patient) -> str:
    """Return the command that holds the clock, which every generation has another way for."""
    chip, bus = patient.facts.get("architecture"), patient.facts.get("pci_bus_id") or 0
    if chip in DETERMINISTIC:
        return f"sudo amd-smi set --gpu {bus} --perf-determinism {patient.measuring_mhz()}"
    if chip in LIMITED:
        limit = f"sudo amd-smi set --gpu {bus} --clk-limit sclk max {patient.measuring_mhz()}"
        return f"sudo amd-smi set --gpu {bus} --perf-level MANUAL && {limit}"
    return f"echo profile_standard | sudo tee {patient.folder}/power_dpm_force_performance_level"


# --- Jetson -----------------------------------------------------------------------------------------------------


def _jetson(patient: Patient) -> Iterator[Ailment]:
    mode, best = patient.facts.get("power_mode"), _highest_mode(patient.power_modes)
    if mode is not None and mode != best and "MAXN" not in str(mode).upper():
        number = patient.power_modes.get(best) if best else None
        yield patient.ailment(
            "nvpmodel_below_maximum",
            f"the power mode is {mode}" + (f"; the highest is {best}" if best else ""),
            "cores, clocks and power are capped: numbers are those of the mode",
            "grep POWER_MODEL /etc/nvpmodel.conf   # then: sudo nvpmodel -m with the ID of the highest"
            if number is None
            else f"sudo nvpmodel -m {number}   # may ask for a reboot",
        )
    policy = patient.facts.get("clock_policy")
    if policy is not None and policy not in STEADY_POLICIES:
        yield patient.ailment(
            "clocks_not_locked",
            f"the clock follows the load (governor {policy}); jetson_clocks is not in force",
            "short kernels run at whatever clock the governor has reached: tens of percent between runs",
            "sudo jetson_clocks",
        )


def _highest_mode(modes: Mapping[str, int]) -> str | None:
    """Return the mode without limits, else the one of most watts; its number differs from board to board."""
    for name in ("MAXN_SUPER", "MAXN"):
        if name in modes:
            return name
    watts = {name: _watts(name) for name in modes}
    return max(modes, key=lambda name: (watts[name], name)) if modes and max(watts.values()) else None


def _watts(name: str) -> int:
    """Return the watts in a mode's name, as in `MODE_15W_6CORE`; 0 where it has none."""
    return next(
        (int(word[:-1]) for word in name.upper().split("_") if word[:-1].isdigit() and word[-1] == "W"), 0
    )


DEVICE_RULES: dict[str, tuple[Rule, ...]] = {
    "nvidia": (_nvidia_clocks, _nvidia_settings),
    "amd": (_amd,),
    "jetson": (_jetson,),
}
"""What can be wrong with devices of a kind, besides what can be with any; worst first."""

ADVICE_RULES: dict[str, tuple[Rule, ...]] = {"nvidia": (_nvidia_clocks_advice,)}
