"""SuperBench's monitor: a JSON object a line and moment, with `metric:gpu` as key.

What it asks NVML for is in SuperBench's `superbench/common/utils/device_manager.py`: utilization in %, memory in bytes
(its own comments say MB), power and its limit in whole watts, memory errors since the driver was loaded as the sum over
the memories that count them (0 also where none does), remapped rows from `nvidia-smi -q`. It tells no product, so the
class of its devices is not known; the same monitor runs on AMD's GPUs and does not say so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from workers.readings.nvidia.products import KIND, device_class
from workers.readings.quantities import quantity, valid_time, whole
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, Tick, facts, tick

TOOL = "superbench"

KEY = re.compile(r"(gpu_[a-z_]+):(\d+)")
TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)")
OWN_KEYS = ("gpu_usage", "gpu_mem_used", "gpu_mem_total", "gpu_power_limit", "gpu_temperature")
"""Metrics that every version has; a device may lack some of them."""

AMOUNTS = {
    "util": ("gpu_usage", "%"),
    "temp_c": ("gpu_temperature", "C"),
    "power_w": ("gpu_power", "W"),
    "power_limit_w": ("gpu_power_limit", "W"),
}
COUNTS = {
    "mem_used_b": "gpu_mem_used",
    "ecc_corrected": "gpu_corrected_ecc",
    "ecc_uncorrected": "gpu_uncorrected_ecc",
}
REMAPPED = ("gpu_remap_correctable_error", "gpu_remap_uncorrectable_error")

Metrics = dict[str, Any]
"""What one line tells of one GPU, by metric."""


def recognises(text: str) -> bool:
    """Say whether the first object of a text, a line, is such a one."""
    line = _object(next((line for line in text.splitlines() if line.lstrip().startswith("{")), ""))
    return line is not None and any(key in metrics for metrics in _gpus(line).values() for key in OWN_KEYS)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs with a reading a line; a last line that is cut is left out, as are lines that begin no object.

    Raises:
        UnreadableError: another line is no JSON object.
    """
    memory: dict[int, int | None] = {}
    readings: dict[int, list[Tick]] = {}
    lines = [
        (number, line) for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("{")
    ]
    for number, line in lines:
        values = _object(line)
        if values is None and number == lines[-1][0]:
            break
        if values is None:
            raise UnreadableError(f"line {number}: expected a JSON object")
        for index, metrics in _gpus(values).items():
            readings.setdefault(index, []).append(_reading(metrics, values.get("time")))
            memory[index] = memory.get(index) or whole(metrics.get("gpu_mem_total"))
    return [_record(index, memory[index], readings[index]) for index in sorted(readings)]


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _gpus(values: Mapping[str, Any]) -> dict[int, Metrics]:
    found: dict[int, Metrics] = {}
    for key, value in values.items():
        if match := KEY.fullmatch(key):
            found.setdefault(int(match[2]), {})[match[1]] = value
    return found


def _reading(metrics: Metrics, time: object) -> Tick:
    match = TIME.fullmatch(time) if isinstance(time, str) else None
    remapped = [whole(metrics.get(name)) for name in REMAPPED]
    return tick(
        **{reading: quantity(metrics.get(metric), unit=unit) for reading, (metric, unit) in AMOUNTS.items()},
        **{reading: whole(metrics.get(metric)) for reading, metric in COUNTS.items()},
        remapped_rows=None if None in remapped else sum(count for count in remapped if count is not None),
        time=match and valid_time(f"{match[1]}T{match[2]}"),
    )


def _record(index: int, memory_b: int | None, readings: list[Tick]) -> DeviceRecord:
    known = facts(index=index, memory_b=memory_b)
    return DeviceRecord(KIND, device_class(None, None), known, tuple(readings))


READERS: tuple[Reader, ...] = (Reader(TOOL, "monitor", recognises, read),)
