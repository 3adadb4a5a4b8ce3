"""A Jetson board's readings from its kernel's files: load, clocks, temperatures, rails, the fan, and overloads.

Rails are of the monitors INA3221 (millivolts and milliamperes of each of three channels; in milliwatts before JetPack
5) and INA238 (microwatts of a carrier's input). What a set of rails means, and which temperature counts, is as in
`readings.tegrastats`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workers.devices.jetson.board import gpu_clocks, gpu_load
from workers.host.fingerprint import read_int, read_text
from workers.host.sparing import Sparing
from workers.readings.jetson.tegrastats import INPUTS, SUMS, power_w, temperature_c

EMC_CLOCKS = ("sys/kernel/debug/bpmp/debug/clk/emc/rate", "sys/kernel/debug/clk/emc/clk_rate")
"""The memory's clock [Hz], for root alone, where debugfs is mounted."""

FANS = ("sys/devices/pwm-fan/cur_pwm", "sys/devices/pwm-fan/target_pwm")
HIGHEST_PWM = 255
GPU_FILES = (
    "dev/nvhost-gpu",
    "dev/nvhost-as-gpu",
    "dev/nvgpu/igpu0/channel",
    "dev/nvgpu/igpu0/as",
    "dev/nvidia0",
)
"""Files of which a program opens one to use the GPU, in the order of JetPack's versions."""

Rail = Callable[[], float | None]
"""Reads what a rail draws [W]."""


class Sensors:
    """The readings that this board's files give; the places are found once."""

    def __init__(self, root: Path) -> None:
        self._load = gpu_load(root)
        self._clocks = gpu_clocks(root)
        self._zones = zones(root)
        self._rails = needed(rails(root))
        self._memory_clocks = [root / name for name in EMC_CLOCKS] + [
            root / "sys/class/devfreq/bwmgr/cur_freq"
        ]
        self._fans = fans(root)
        self._overloads = sorted(root.glob("sys/class/hwmon/hwmon*/oc*_event_cnt"))
        self._alerts = alerts(root)
        self._slow = Sparing(self._seldom)

    def readings(self) -> dict[str, Any]:
        """Return readings by name, None for what a file does not tell now."""
        watts = {name: rail() for name, rail in self._rails.items()}
        known = {name: value for name, value in watts.items() if value is not None}
        return {
            "util": _scaled(read_int(self._load), 1000) if self._load else None,
            "sm_clock_hz": _clock_hz(self._clocks / "cur_freq") if self._clocks else None,
            "power_w": power_w(known),
            **self._slow(),
        }

    def _seldom(self) -> dict[str, Any]:
        read = {name: read_int(path) for name, path in self._zones.items()}
        return {
            "temp_c": temperature_c(
                {name: celsius / 1000 for name, celsius in read.items() if celsius is not None}
            ),
            "mem_clock_hz": next((hz for path in self._memory_clocks if (hz := _clock_hz(path))), None),
            "fan": next(
                (share for path in self._fans if (share := _scaled(read_int(path), HIGHEST_PWM)) is not None),
                None,
            ),
            "over_current": self._overloaded(),
            "throttle_reasons": self._throttled(),
        }

    def _overloaded(self) -> int | None:
        """Return how often the supply was overloaded, of all kinds of overload together."""
        known = [count for path in self._overloads if (count := read_int(path)) is not None]
        return sum(known) if known else None

    def _throttled(self) -> list[str] | None:
        """Return the alerts of heat that hold now; the software that raises them lowers clocks."""
        states = {name: read_int(path) for name, path in self._alerts.items()}
        known = {name: state for name, state in states.items() if state is not None}
        return sorted({"sw_thermal" for state in known.values() if state > 0}) if known else None


def _clock_hz(path: Path) -> float | None:
    hz = read_int(path)
    return float(hz) if hz and hz > 0 else None


def _scaled(number: int | None, highest: int) -> float | None:
    return None if number is None or number < 0 else min(number / highest, 1.0)


def zones(root: Path) -> dict[str, Path]:
    """Return the files of temperatures by the sensor's name: `GPU-therm` and `gpu-thermal` are `gpu`."""
    found: dict[str, Path] = {}
    for zone in sorted((root / "sys/class/thermal").glob("thermal_zone*")):
        name = re.sub(r"[-_]therm(?:al)?$", "", (read_text(zone / "type") or "").lower())
        found.setdefault(name, zone / "temp")
    return found


def alerts(root: Path) -> dict[str, Path]:
    """Return the states of the alerts of heat by name, as `gpu-throttle-alert`."""
    devices = sorted((root / "sys/class/thermal").glob("cooling_device*"))
    named = {device: read_text(device / "type") or "" for device in devices}
    return {name: device / "cur_state" for device, name in named.items() if name.endswith("throttle-alert")}


def fans(root: Path) -> list[Path]:
    """Return the files with the fan's duty, 255 being all."""
    chips = [chip for chip in root.glob("sys/class/hwmon/hwmon*") if read_text(chip / "name") == "pwmfan"]
    return [path for chip in chips for path in sorted(chip.glob("pwm[0-9]"))] + [root / name for name in FANS]


# --- rails ---


def rails(root: Path) -> dict[str, Rail]:
    """Return how to read each rail, by name; rails that are not connected are named NC, or not at all."""
    found: dict[str, Rail] = {}
    for chip in sorted(root.glob("sys/class/hwmon/hwmon*")):
        name = read_text(chip / "name") or ""
        if name.startswith("ina3221"):
            found |= _channels(chip)
        elif name.startswith("ina238"):
            found[read_text(chip / "in1_label") or "VIN"] = _power(chip / "power1_input", 1e6)
    for path in sorted(root.glob("sys/bus/i2c/drivers/ina3221x/*/iio:device*/rail_name_*")):
        number = path.name.rpartition("_")[2]
        found[read_text(path) or ""] = _power(path.with_name(f"in_power{number}_input"), 1e3)
    return {name: rail for name, rail in found.items() if name and name != "NC"}


def _channels(chip: Path) -> dict[str, Rail]:
    labels = {number: read_text(chip / f"in{number}_label") for number in (1, 2, 3)}
    return {
        label: _product(chip / f"in{number}_input", chip / f"curr{number}_input")
        for number, label in labels.items()
        if label
    }


def _power(path: Path, unit: float) -> Rail:
    def read() -> float | None:
        number = read_int(path)
        return None if number is None else number / unit

    return read


def _product(millivolts: Path, milliamperes: Path) -> Rail:
    def read() -> float | None:
        volts, amperes = read_int(millivolts), read_int(milliamperes)
        return None if volts is None or amperes is None else volts * amperes / 1e6

    return read


def needed(found: dict[str, Rail]) -> dict[str, Rail]:
    """Return the rails that the module's power is read from; each takes a while on its bus."""
    for names in (*((name,) for name in INPUTS), *SUMS):
        if found.keys() >= set(names):
            return {name: found[name] for name in names}
    return {}
