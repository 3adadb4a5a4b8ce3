"""The host's processor as a device: every reading comes from files of the Linux kernel (proc(5), sysfs)."""

from __future__ import annotations

import hashlib
import os
import re
import statistics
import time
import uuid
from pathlib import Path
from typing import NamedTuple, Self

from workers.devices.base import Device, DeviceTimer, Host
from workers.host.fingerprint import (
    CPU,
    Fingerprint,
    cpu_model,
    host_fingerprint,
    read_int,
    read_text,
    with_unavailable,
)
from workers.readings.record import Facts, Tick, facts, tick

MACHINE_ID = Path("/etc/machine-id")
OWN_ID = "host-id"
MARKETING = re.compile(r"\((?:r|tm|c)\)|@.*|\bwith .*|\b\d+-core\b|\b(?:cpu|processor)\b", re.IGNORECASE)
SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "x86_pkg_temp")
"""Names that drivers give to the processor's own temperature."""


class CpuDevice(Device):
    """All processors that this agent may run on, as one device."""

    kind = "cpu"

    def __init__(self, host: Host, hardware_id: str) -> None:
        self._times = cpu_times()
        threads = len(os.sched_getaffinity(0))
        name = cpu_model()
        super().__init__(
            host, hardware_id=hardware_id, device_class=f"cpu-{model_slug(name)}-{threads}t", model=name
        )

    @property
    def lock_id(self) -> str:
        """One name for the one processor of a host, even where agents cannot agree on the host's id."""
        return "cpu"

    @classmethod
    def detect(cls, host: Host) -> list[Self]:
        """Return the one processor that every host has."""
        return [cls(host, f"cpu:{host_id(host.state_dir)}")]

    def facts(self) -> Facts:
        """Return what the kernel tells of the processor."""
        return facts(index=0, uuid=self.hardware_id, model=self.model)

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
        """Return the readings of this moment; utilisation and steal are shares of the time since the last call."""
        before, self._times = self._times, cpu_times()
        spent = self._times - before
        return tick(
            t_ns=time.monotonic_ns(),
            util=spent.share(spent.busy),
            host_steal=spent.share(spent.steal),
            sm_clock_hz=clock_hz(),
            temp_c=temperature_c(),
            mem_used_b=memory_used_b(),
            energy_j_total=energy_j(),
        )

    def processes(self) -> list[int]:
        """Return none: everything on a host is on its processor, and load is judged by the telemetry."""
        return []

    def flush_cache(self) -> bool:
        """Overwrite as much memory as the last-level cache holds."""
        size = last_level_cache_b()
        if size is not None:
            bytearray(size)[::64] = b"\1" * len(range(0, size, 64))
        return size is not None


class CpuTimes(NamedTuple):
    """Time that all processors spent since boot, in the kernel's ticks."""

    busy: int
    idle: int
    steal: int

    def __sub__(self, other: CpuTimes) -> CpuTimes:
        return CpuTimes(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def share(self, part: int) -> float | None:
        """Return `part` of all the time, or None where no time has passed."""
        total = self.busy + self.idle + self.steal
        return part / total if total > 0 else None


def cpu_times() -> CpuTimes:
    """Return the first line of `/proc/stat`, guests' time left in what it is counted in."""
    words = (read_text("/proc/stat") or "cpu 0 0 0 0 0 0 0 0").split()[1:9]
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, words)
    return CpuTimes(busy=user + nice + system + irq + softirq, idle=idle + iowait, steal=steal)


def clock_hz() -> float | None:
    """Return the mean clock of all processors [Hz]."""
    scaling = [read_int(path) for path in CPU.glob("cpu[0-9]*/cpufreq/scaling_cur_freq")]
    clocks = [khz * 1e3 for khz in scaling if khz]
    clocks = clocks or [
        float(mhz) * 1e6 for mhz in re.findall(r"cpu MHz\s*:\s*([\d.]+)", read_text("/proc/cpuinfo") or "")
    ]
    return statistics.fmean(clocks) if clocks else None


def temperature_c() -> float | None:
    """Return the hottest of the processor's own sensors [degrees C]."""
    hwmon = [
        reading
        for chip in Path("/sys/class/hwmon").glob("hwmon*")
        if read_text(chip / "name") in SENSORS
        for reading in map(read_int, chip.glob("temp*_input"))
    ]
    zones = [
        read_int(zone / "temp")
        for zone in Path("/sys/class/thermal").glob("thermal_zone*")
        if read_text(zone / "type") in SENSORS
    ]
    known = [reading for reading in hwmon + zones if reading is not None]
    return max(known) / 1000 if known else None


def memory_used_b() -> int | None:
    """Return the memory that is neither free nor reclaimable [B]."""
    sizes = dict(re.findall(r"^(\w+):\s+(\d+) kB$", read_text("/proc/meminfo") or "", re.MULTILINE))
    if not {"MemTotal", "MemAvailable"} <= sizes.keys():
        return None
    return (int(sizes["MemTotal"]) - int(sizes["MemAvailable"])) * 1024


def energy_j() -> float | None:
    """Return the package's energy counter [J], which wraps; most hosts show it to root alone."""
    counter = read_int("/sys/class/powercap/intel-rapl:0/energy_uj")
    return None if counter is None else counter / 1e6


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
