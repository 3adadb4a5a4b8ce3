"""The host's processor as a device: every reading comes from files of the Linux kernel (proc(5), sysfs)."""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from workers.devices.base import Device, DeviceTimer, Host, Lack
from workers.host import rapl
from workers.host.fingerprint import (
    CPU,
    Fingerprint,
    cpu_model,
    cpuinfo,
    host_fingerprint,
    read_int,
    read_text,
    with_unavailable,
)
from workers.host.load import HostLoad
from workers.host.processors import (
    Clock,
    clock_policy,
    edac_count,
    highest_clock_hz,
    is_corrected,
    mode,
    sensors,
)
from workers.host.sparing import Sparing
from workers.host.throttling import Throttling
from workers.readings.record import Facts, Tick, facts, tick

MACHINE_ID = Path("/etc/machine-id")
OWN_ID = "host-id"
SHORTEST_S = 0.01
CLOCK_SHARE = 0.001
"""What reading the clock may take of one processor's time."""

MARKETING = re.compile(r"\((?:r|tm|c)\)|@.*|\bwith .*|\b\d+-core\b|\b(?:cpu|processor)\b", re.IGNORECASE)


class CpuDevice(Device):
    """All processors that this agent may run on, as one device."""

    kind = "cpu"
    feels_host = False
    has_own_memory = False

    def __init__(self, host: Host, hardware_id: str) -> None:
        cpus = os.sched_getaffinity(0)
        name = cpu_model()
        super().__init__(
            host, hardware_id=hardware_id, device_class=f"cpu-{model_slug(name)}-{len(cpus)}t", model=name
        )
        self._cpus = sorted(cpus)
        self._sources = Sources(self._cpus)

    @property
    def lock_id(self) -> str:
        """One name for the one processor of a host, even where agents cannot agree on the host's id."""
        return "cpu"

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the one processor that every host has."""
        return [cls(host, f"cpu:{host_id(host.state_dir)}")]

    def facts(self) -> Facts:
        """Return what the kernel tells of the processor; its cores are the threads that may be used."""
        return facts(
            index=0,
            uuid=self.hardware_id,
            model=self.model,
            architecture=architecture(),
            cores=len(self._cpus),
            memory_b=memory_b(),
            firmware=cpuinfo("microcode"),
            sm_clock_max_hz=highest_clock_hz(self._cpus),
            clock_policy=clock_policy(self._cpus),
            power_limit_max_w=rapl.power_limit_max_w(),
            ecc_mode=is_corrected(),
            numa_node=numa_node(self._cpus),
        )

    def lacks(self) -> list[Lack]:
        """Return why energy or temperature cannot be read, where that is so."""
        return [lack for lack in (self._lack_of_energy(), self._lack_of_temperature()) if lack is not None]

    def _lack_of_energy(self) -> Lack | None:
        counter = self._sources.energy
        if counter.read() is not None:
            return None
        if not counter.packages:
            why = "the kernel shows no energy counter (RAPL), as in most virtual machines"
            return Lack(
                "energy, power", why, "measure on the machine itself, with the module intel_rapl_msr loaded"
            )
        why = f"{counter.packages[0] / 'energy_uj'} may not be read by this user"
        how = "chmod o+r /sys/class/powercap/intel-rapl:*/energy_uj at every boot, or run it with CAP_DAC_READ_SEARCH"
        return Lack("energy_j_total, power_w", why, how)

    def _lack_of_temperature(self) -> Lack | None:
        if self._sources.temperature() is not None:
            return None
        why = "the kernel shows no sensor of the processor, as in most virtual machines"
        return Lack("temp_c", why, "load the sensor's module: coretemp (Intel), k10temp (AMD)")

    def fingerprint(self) -> Fingerprint:
        """Return what the kernel tells of the machine."""
        parts = host_fingerprint()
        parts["machine"] |= {"kind": self.kind, "device_model": self.model, "device_count": 1}
        parts["identity"] |= {"uuid": self.hardware_id}
        parts["soft"] |= {"temp_c": temperature_c()}
        return with_unavailable(parts)

    def sync(self) -> None:
        """Return at once: a processor has finished when a call returns."""

    def device_timer(self) -> DeviceTimer | None:
        """Return None: the host's clock is the only one."""
        return None

    def telemetry(self) -> Tick:
        """Return the readings of this moment; utilisation, power and steal are of the time since the last call."""
        return tick(t_ns=time.monotonic_ns(), **self._sources.readings())

    def processes(self) -> list[int]:
        """Return none: everything on a host is on its processor, and load is judged by the telemetry."""
        return []

    def flush_cache(self) -> bool:
        """Overwrite as much memory as the last-level cache holds."""
        size = last_level_cache_b()
        if size is not None:
            bytearray(size)[::64] = b"\1" * len(range(0, size, 64))
        return size is not None


class Sources:
    """What is read of the processors at every telemetry, the slow parts no more often than their cost allows."""

    def __init__(self, cpus: Sequence[int]) -> None:
        throttling = Throttling(cpus)
        self.energy = rapl.EnergyCounter()
        self.temperature = Sparing(lambda: temperature_c(found))
        found = sensors()
        self._load = HostLoad()
        self._times = self._load.times
        self._clock = Sparing(Clock(cpus).read_hz, share=CLOCK_SHARE)
        self._throttled = Sparing(lambda: (throttling.times_ns(), throttling.counts()))
        self._errors = Sparing(lambda: (edac_count("ce_count"), edac_count("ue_count")))
        self._memory = Sparing(memory_used_b)
        self._mode = Sparing(lambda: (mode(cpus), rapl.power_limit_w()))
        self._last_energy: tuple[float, float] | None = None
        self._last_counts: dict[str, int] | None = None

    def readings(self) -> dict[str, Any]:
        """Return readings by name."""
        energy_j, moment_s = self.energy.read(), time.monotonic()
        throttled_ns, counts = self._throttled()
        corrected, uncorrected = self._errors()
        text, limit_w = self._mode()
        load = self._load.look()
        before, self._times = self._times, self._load.times
        spent = self._times - before
        return {
            **load,
            "util": spent.share(spent.busy),
            "sm_clock_hz": self._clock(),
            "temp_c": self.temperature(),
            "energy_j_total": energy_j,
            "power_w": self._power_w(energy_j, moment_s),
            "power_limit_w": limit_w,
            "throttle_ns": throttled_ns,
            "throttle_reasons": self._reasons(counts),
            "ecc_corrected": corrected,
            "ecc_uncorrected": uncorrected,
            "mode": text,
            "mem_used_b": self._memory(),
        }

    def _power_w(self, energy_j: float | None, moment_s: float) -> float | None:
        """Return the mean power since the last call [W]; not over less time than the counter can tell."""
        before = self._last_energy
        if before is not None and moment_s - before[1] < SHORTEST_S:
            return None
        self._last_energy = None if energy_j is None else (energy_j, moment_s)
        if before is None or energy_j is None:
            return None
        return (energy_j - before[0]) / (moment_s - before[1])

    def _reasons(self, counts: dict[str, int] | None) -> list[str] | None:
        """Return the kinds of heat that held the processor back since the last call."""
        before, self._last_counts = self._last_counts, counts
        if before is None or counts is None:
            return None
        return [reason for reason, count in counts.items() if count > before.get(reason, count)]


def temperature_c(paths: Sequence[Path] | None = None) -> float | None:
    """Return the hottest of the processor's own sensors [degrees C]."""
    read = [read_int(path) for path in (sensors() if paths is None else paths)]
    known = [reading for reading in read if reading is not None]
    return max(known) / 1000 if known else None


def memory_b() -> int | None:
    """Return the memory of the host [B]."""
    match = re.search(r"^MemTotal:\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def architecture() -> str:
    """Return the instruction set, and the generation in the numbers that the kernel tells it in."""
    numbers = [(name, cpuinfo(name)) for name in ("cpu family", "model", "stepping", "CPU part")]
    return " ".join([os.uname().machine, *(f"{name} {value}" for name, value in numbers if value)])


def numa_node(cpus: Sequence[int], cpu: Path = CPU) -> int | None:
    """Return the one node that all these processors belong to; None where there are several, or none is told."""
    nodes = {path.name for number in cpus for path in (cpu / f"cpu{number}").glob("node[0-9]*")}
    return int(nodes.pop()[4:]) if len(nodes) == 1 else None


def memory_used_b() -> int | None:
    """Return the memory that is neither free nor reclaimable [B]."""
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE))
    if not {"MemTotal", "MemAvailable"} <= sizes.keys():
        return None
    return (int(sizes["MemTotal"]) - int(sizes["MemAvailable"])) * 1024


def last_level_cache_b() -> int | None:
    """Return the size of the largest cache of the first processor [B]."""
    sizes = [read_text(path) or "" for path in CPU.glob("cpu0/cache/index*/size")]
    kibibytes = [int(size[:-1]) for size in sizes if re.fullmatch(r"\d+K", size)]
    return max(kibibytes) * 1024 if kibibytes else None


def model_slug(name: str) -> str:
    """Return a processor's name without trade marks, clocks and core counts: `AMD EPYC 7763` is `amd-epyc-7763`."""
    plain = MARKETING.sub(" ", name)
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-") or "unknown"


def host_id(state_dir: Path, machine_id: Path = MACHINE_ID) -> str:
    """Return an id of this host that survives restarts and tells nothing else.

    It comes from the operating system's machine id, which is confidential (machine-id(5)) and is hashed; containers
    often have an empty one, and then an id of our own is kept in `state_dir`.
    """
    origin = read_text(machine_id) or _own_id(state_dir / OWN_ID)
    return hashlib.sha256(f"ratchet {origin}".encode()).hexdigest()[:32]


def _own_id(path: Path) -> str:
    known = read_text(path)
    if known:
        return known
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(uuid.uuid4().hex)
    return _own_id(path)
