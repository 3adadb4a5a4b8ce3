"""What makes a machine a bad place to measure: rules over what devices and host tell of themselves.

Each rule names what is wrong, what it costs, and the exact command that mends it. What a device does not tell is not
held against it. Pure: facts and readings in, ailments out; where the costs come from: docs/devices.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from workers.readings.record import THROTTLE_BITS

Told = Mapping[str, Any]

STEADY_POLICIES = ("locked", "application")
SWAP_USED_B = 64 * 2**20
FOREIGN_CPU = 0.5
MAX_STEAL = 0.02
QUOTA_NONE = "max"


class Ailment(NamedTuple):
    """One thing that is wrong: where, what, its cost, the command that mends it."""

    code: str
    where: str
    what: str
    cost: str
    mend: str


class Patient(NamedTuple):
    """One device as it tells of itself."""

    kind: str
    name: str
    facts: Told
    readings: Told

    @property
    def number(self) -> str:
        """What a vendor's tool calls the device."""
        return str(self.facts.get("index") if self.facts.get("index") is not None else 0)


def device_ailments(patient: Patient) -> list[Ailment]:
    """Return what is wrong with a device, worst first."""
    found = [ailment for rule in DEVICE_RULES.get(patient.kind, ()) for ailment in rule(patient)]
    return [*found, *_shared(patient)]


def host_ailments(soft: Told, load: Told, swap_used_b: int | None) -> list[Ailment]:
    """Return what is wrong with the host.

    Args:
        soft: the soft part of its fingerprint: governor, turbo, smt, cgroup_quota.
        load: `host_cpu_foreign` and `host_steal` over a second or so.
        swap_used_b: memory that lies in swap [B]; None where unknown.
    """
    return [
        ailment
        for found in (
            _governor(soft),
            _turbo(soft),
            _smt(soft),
            _swap(swap_used_b),
            _quota(soft),
            _neighbours(load),
            _steal(load),
        )
        if (ailment := found) is not None
    ]


# --- devices ----------------------------------------------------------------------------------------------------


def _shared(patient: Patient) -> Iterable[Ailment]:
    pids = patient.readings.get("foreign_pids")
    if pids:
        named = " ".join(map(str, pids[:5]))
        yield Ailment(
            "foreign_process",
            patient.name,
            f"another program is on the device: process {', '.join(map(str, pids[:5]))}",
            "it takes time and memory whenever it works; every pair that it touches is void",
            f"kill {named}",
        )


def _nvidia(patient: Patient) -> Iterable[Ailment]:
    facts, i = patient.facts, patient.number
    if facts.get("persistence") is False:
        yield Ailment(
            "persistence_off",
            patient.name,
            "the driver lets go of the device when nobody uses it",
            "start-up takes seconds longer, and settings such as locked clocks are lost in between",
            f"sudo nvidia-smi -i {i} -pm 1",
        )
    policy = facts.get("clock_policy")
    if policy is not None and policy not in STEADY_POLICIES:
        yield Ailment(
            "clocks_not_locked",
            patient.name,
            "the clock follows load and temperature",
            "runs differ by several percent as the device warms up; no grade A",
            _lock_clocks(patient),
        )
    if facts.get("ecc_mode_pending") is not None and facts["ecc_mode_pending"] != facts.get("ecc_mode"):
        yield Ailment(
            "ecc_pending",
            patient.name,
            "ECC changes with the next reset",
            "memory gets slower or faster by up to a tenth in the middle of a history",
            f"sudo nvidia-smi -i {i} --gpu-reset",
        )
    if facts.get("remap_pending"):
        yield Ailment(
            "remap_pending",
            patient.name,
            "memory rows wait to be replaced",
            "errors go on until the reset, and each one voids a pair",
            f"sudo nvidia-smi -i {i} --gpu-reset",
        )
    yield from _power_cap(patient, f"sudo nvidia-smi -i {i} -pl {{default:.0f}}")


def _lock_clocks(patient: Patient) -> str:
    highest = patient.facts.get("sm_clock_max_hz")
    mhz = f"{highest * 0.75 / 1e6:.0f}" if highest else "MHZ"
    return f"sudo nvidia-smi -i {patient.number} --lock-gpu-clocks={mhz},{mhz}"


def _power_cap(patient: Patient, mend: str) -> Iterable[Ailment]:
    limit, default = patient.readings.get("power_limit_w"), patient.facts.get("power_limit_default_w")
    if limit is not None and default is not None and limit < 0.99 * default:
        yield Ailment(
            "power_cap",
            patient.name,
            f"the power limit is {limit:.0f} W, {default:.0f} W as delivered",
            "code that draws more is slowed down, so that numbers are those of the limit",
            mend.format(default=default),
        )
    mask = patient.readings.get("throttle_mask")
    if mask and any(mask & bit for bit, name in THROTTLE_BITS.items() if name in ("hw_brake", "hw_slowdown")):
        yield Ailment(
            "hw_brake",
            patient.name,
            "the hardware holds the device back: power supply or heat",
            "it may run at half its clock; every pair is void",
            "check power cables, supply and airflow; then read `nvidia-smi -q -d PERFORMANCE`",
        )


def _amd(patient: Patient) -> Iterable[Ailment]:
    facts, i = patient.facts, patient.number
    policy = facts.get("clock_policy")
    if policy is not None and str(policy) in ("auto", "automatic"):
        yield Ailment(
            "clocks_not_locked",
            patient.name,
            "the clock follows load and temperature",
            "runs differ by several percent as the device warms up; no grade A",
            f"sudo rocm-smi -d {i} --setperfdeterminism {_three_quarters_mhz(patient)}",
        )
    yield from _power_cap(patient, f"sudo rocm-smi -d {i} --setpoweroverdrive {{default:.0f}}")


def _three_quarters_mhz(patient: Patient) -> str:
    highest = patient.facts.get("sm_clock_max_hz")
    return f"{highest * 0.75 / 1e6:.0f}" if highest else "MHZ"


def _jetson(patient: Patient) -> Iterable[Ailment]:
    mode = patient.facts.get("power_mode")
    if mode is not None and "MAXN" not in str(mode).upper():
        yield Ailment(
            "nvpmodel_below_maximum",
            patient.name,
            f"the power mode is {mode}",
            "cores, clocks and power are capped: numbers are those of the mode",
            "sudo nvpmodel -m 0",
        )
    policy = patient.facts.get("clock_policy")
    if policy is not None and policy not in STEADY_POLICIES:
        yield Ailment(
            "clocks_not_locked",
            patient.name,
            "jetson_clocks is not in force, so clocks follow the load",
            "short kernels run at whatever clock the governor has reached: tens of percent between runs",
            "sudo jetson_clocks",
        )


DEVICE_RULES: dict[str, tuple[Callable[[Patient], Iterable[Ailment]], ...]] = {
    "nvidia": (_nvidia,),
    "amd": (_amd,),
    "jetson": (_jetson,),
}
"""What can be wrong with devices of a kind, besides what can be with any."""


# --- host -------------------------------------------------------------------------------------------------------


def _governor(soft: Told) -> Ailment | None:
    governor = soft.get("governor")
    if governor is None or governor == "performance":
        return None
    return Ailment(
        "governor",
        "host",
        f"the processors' governor is {governor}",
        "after every pause the clock has to rise again: first calls and short ones are slower, now and then",
        "sudo cpupower frequency-set -g performance",
    )


def _turbo(soft: Told) -> Ailment | None:
    if not soft.get("turbo"):
        return None
    return Ailment(
        "turbo",
        "host",
        "turbo is on",
        "the clock depends on temperature and on how many cores work: a few percent between runs; no grade A",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
        "   # or: echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
    )


def _smt(soft: Told) -> Ailment | None:
    if soft.get("smt") != "on":
        return None
    return Ailment(
        "smt",
        "host",
        "two threads share each core",
        "whatever runs on the other thread slows this one down, by up to half",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    )


def _swap(used_b: int | None) -> Ailment | None:
    if used_b is None or used_b < SWAP_USED_B:
        return None
    return Ailment(
        "swap",
        "host",
        f"{used_b / 2**20:.0f} MiB of memory lie in swap",
        "what is read back stops a program for milliseconds; pairs in which that happens are void",
        "sudo swapoff -a",
    )


def _quota(soft: Told) -> Ailment | None:
    quota = soft.get("cgroup_quota")
    if not quota or str(quota).split()[0] == QUOTA_NONE:
        return None
    return Ailment(
        "cgroup_quota",
        "host",
        f"a control group limits the processors: {quota}",
        "a program that uses up its share is stopped for the rest of each period",
        "run the agent without --cpus; pin it with --cpuset-cpus instead",
    )


def _neighbours(load: Told) -> Ailment | None:
    foreign = load.get("host_cpu_foreign")
    if foreign is None or foreign <= FOREIGN_CPU:
        return None
    return Ailment(
        "noisy_neighbours",
        "host",
        f"other programs keep {foreign:.1f} processors busy just now",
        "timings that share a core with them are void, the others noisier; above half a processor pairs are void",
        "systemd-cgtop   # shows who; move it elsewhere",
    )


def _steal(load: Told) -> Ailment | None:
    steal = load.get("host_steal")
    if steal is None or steal <= MAX_STEAL:
        return None
    return Ailment(
        "steal",
        "host",
        f"the hypervisor takes {steal:.0%} of the processors' time",
        "another guest of the same machine is measured along; pairs in which that happens are void",
        "use a machine, or a class of instances, with processors of its own",
    )
