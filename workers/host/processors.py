"""The host's processors as sysfs shows them: clocks and how they are chosen, sensors, and memory errors.

Described in the kernel's "CPU Performance Scaling", "Naming and data format standards for sysfs files" (hwmon) and
"Error Detection And Correction".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from workers.host.fingerprint import CPU, read_int, read_text
from workers.host.load import parse_cpu_times
from workers.host.processes import PROC

HWMON, THERMAL, EDAC = (
    Path("/sys/class/hwmon"),
    Path("/sys/class/thermal"),
    Path("/sys/devices/system/edac/mc"),
)
SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "x86_pkg_temp")
"""Names that drivers give to the processor's own temperature."""

MOST_CLOCKS = 8
"""Of so many processors the clock is read: each may take a while on a big machine."""

NO_CORRECTION = ("None", "Unknown", "Reserved", "PARITY", "EC")
"""Modes of memory that correct nothing (`edac_mode`)."""


class Clock:
    """The clock at which the processors did their work, those that worked most since the last reading."""

    def __init__(self, cpus: Sequence[int], cpu: Path = CPU, proc: Path = PROC) -> None:
        self._cpus, self._cpu, self._proc = list(cpus), cpu, proc
        self._last = self._busy()

    def read_hz(self) -> float | None:
        """Return the mean of their clocks, by the work that each did [Hz]; None where the kernel tells no clock."""
        before, self._last = self._last, self._busy()
        worked = {number: self._last.get(number, 0) - before.get(number, 0) for number in self._cpus}
        busiest = sorted(self._cpus, key=lambda number: -worked[number])[:MOST_CLOCKS]
        clocks = self._scaling(busiest) or self._told(busiest)
        weight = sum(worked[number] for number in clocks)
        if weight <= 0:
            return fmean(clocks.values()) if clocks else None
        return sum(hz * worked[number] for number, hz in clocks.items()) / weight

    def _busy(self) -> dict[int, int]:
        """Return the ticks in which each processor worked."""
        lines = re.findall(r"^cpu(\d+) (.*)$", read_text(self._proc / "stat") or "", re.MULTILINE)
        return {int(number): parse_cpu_times(f"cpu {rest}").busy for number, rest in lines}

    def _scaling(self, cpus: Sequence[int]) -> dict[int, float]:
        read = {number: read_int(self._cpu / f"cpu{number}/cpufreq/scaling_cur_freq") for number in cpus}
        return {number: khz * 1e3 for number, khz in read.items() if khz}

    def _told(self, cpus: Sequence[int]) -> dict[int, float]:
        """Return what `/proc/cpuinfo` says, where there is no scaling of clocks, as in a virtual machine."""
        try:
            text = (self._proc / "cpuinfo").read_text(errors="replace")
        except OSError:
            return {}
        told = re.findall(r"^processor\s*: (\d+)$.*?^cpu MHz\s*: ([\d.]+)$", text, re.MULTILINE | re.DOTALL)
        return {int(number): float(mhz) * 1e6 for number, mhz in told if int(number) in cpus}


def highest_clock_hz(cpus: Sequence[int], cpu: Path = CPU) -> float | None:
    """Return the highest clock that one of these processors can reach [Hz]."""
    read = [read_int(cpu / f"cpu{number}/cpufreq/cpuinfo_max_freq") for number in cpus]
    known = [khz for khz in read if khz]
    return max(known) * 1e3 if known else None


def clock_policy(cpus: Sequence[int], cpu: Path = CPU) -> str | None:
    """Return the driver and the governor that choose the clocks, all governors where they differ."""
    words = [_each(cpus, cpu, "scaling_driver"), _each(cpus, cpu, "scaling_governor")]
    return " ".join(word for word in words if word) or None


def mode(cpus: Sequence[int], cpu: Path = CPU) -> str | None:
    """Return what else changes how fast the processors are: policy, preference, turbo, sibling threads."""
    preference, siblings = _each(cpus, cpu, "energy_performance_preference"), read_text(cpu / "smt/control")
    words = {
        "clocks": clock_policy(cpus, cpu),
        "preference": preference,
        "turbo": turbo(cpu),
        "smt": siblings,
    }
    return ", ".join(f"{name} {word}" for name, word in words.items() if word) or None


def _each(cpus: Sequence[int], cpu: Path, name: str) -> str | None:
    found = {read_text(cpu / f"cpu{number}/cpufreq/{name}") for number in cpus} - {None}
    return "/".join(sorted(word for word in found if word)) or None


def turbo(cpu: Path = CPU) -> str | None:
    """Return whether the clock may go beyond the nominal one: `on`, `off`, or None where that is not told."""
    off = read_int(cpu / "intel_pstate/no_turbo")
    on = read_int(cpu / "cpufreq/boost") if off is None else not off
    return None if on is None else ("on" if on else "off")


def sensors(hwmon: Path = HWMON, thermal: Path = THERMAL) -> list[Path]:
    """Return the files with the processor's own temperatures, in thousandths of a degree C."""
    chips = [chip for chip in hwmon.glob("hwmon*") if read_text(chip / "name") in SENSORS]
    zones = [zone for zone in thermal.glob("thermal_zone*") if read_text(zone / "type") in SENSORS]
    return [path for chip in chips for path in chip.glob("temp*_input")] + [zone / "temp" for zone in zones]


def edac_count(name: str, edac: Path = EDAC) -> int | None:
    """Return the errors of all memory controllers, `ce_count` corrected and `ue_count` not; None where none is seen."""
    read = [read_int(path) for path in edac.glob(f"mc*/{name}")]
    known = [count for count in read if count is not None]
    return sum(known) if known else None


def is_corrected(edac: Path = EDAC) -> bool | None:
    """Return whether every module of memory corrects errors; None where the kernel does not tell."""
    modules = [*edac.glob("mc*/dimm*/dimm_edac_mode"), *edac.glob("mc*/rank*/dimm_edac_mode")]
    modes = [text for path in modules if (text := read_text(path)) not in (None, "Unknown")]
    return all(text not in NO_CORRECTION for text in modes) if modes else None
