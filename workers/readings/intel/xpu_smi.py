"""`xpu-smi` (and `xpumcli`) of Intel's data centre GPUs: `stats` as a table and JSON, and `dump`, which is CSV.

Described in the Intel XPU System Management Interface User Guide. What is easily taken for something else:

- `GPU Memory Util (%)` is how full memory is, not how busy; `GPU Memory Bandwidth (%)` is how busy it is.
- A GPU of several tiles may tell each tile's value. The guide says what the device's is: the mean, and the sum of
  memory and of errors. Of power it does not say. A dump of tiles is one device for each.
- Errors of the daemon's statistics are of its last span, with the `total` behind them, which is the counter.
- Units that are active, stalled and idle for no time at all are those of a GPU that does not count them.
- Of a dump, `DeviceId` and the time of the day are all that is told of device and date. Its counter of energy is of a
  span that the guide does not tell, and is not read.
- JSON gives memory in MiB, or in bytes in early versions, where it is a whole number far beyond any GPU's MiB.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from workers.readings.intel import xpu_smi_discovery, xpu_smi_summary
from workers.readings.intel.xpu_smi_documents import devices, objects
from workers.readings.intel.xpu_smi_rows import ROW, csv_rows
from workers.readings.quantities import quantity, whole
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts, tick

DUMP = re.compile(r"^[ \t]*Timestamp,[ \t]*DeviceId[ \t]*(?:,.*)?$", re.MULTILINE)
UNIT = re.compile(r"\s*\(([^()]*)\)\s*$")
TILE = re.compile(r"Tile \d+: *([^;,]*)")
CURRENT = re.compile(r"current: *([^,;]*)")
TOTAL = re.compile(r"total: *([^,;]*)")
DATED = re.compile(r"(\d{4})/(\d\d)/(\d\d)[ T](\d.*)")
DEGREES = ("C", "°C", "Celsius", "Celsius Degree", "Degrees Celsius")
MOST_MIB = 2**22
"""No GPU has so much memory [MiB]: a larger number is of bytes."""

EU_ACTIVE, EU_STALL, EU_IDLE = "eu_active", "eu_stall", "eu_idle"
"""How long the array of units does what; these are no readings of their own."""

FIELDS = {
    "average % utilization of": "util",
    "average % utilization of all gpu engines": "util",
    "gpu utilization": "util",
    "gpu power": "power_w",
    "gpu frequency": "sm_clock_hz",
    "gpu core temperature": "temp_c",
    "gpu memory temperature": "mem_temp_c",
    "gpu memory bandwidth": "dram_active",
    "gpu memory bandwidth utilization": "dram_active",
    "gpu memory used": "mem_used_b",
    "eu array active": EU_ACTIVE,
    "gpu eu array active": EU_ACTIVE,
    "eu array stall": EU_STALL,
    "gpu eu array stall": EU_STALL,
    "eu array idle": EU_IDLE,
    "gpu eu array idle": EU_IDLE,
    "fan speed": "fan",
    "mem errors correctable": "ecc_corrected",
    "mem errors uncorrectable": "ecc_uncorrected",
    "gpu memory errors correctable": "ecc_corrected",
    "gpu memory errors uncorrectable": "ecc_uncorrected",
    "throttle reason": "throttle_reasons",
}
"""What a column or row is called, in lower case and without its unit -> the reading."""

METRICS = {
    "XPUM_STATS_GPU_UTILIZATION": ("util", "%"),
    "XPUM_STATS_POWER": ("power_w", "W"),
    "XPUM_STATS_GPU_FREQUENCY": ("sm_clock_hz", "MHz"),
    "XPUM_STATS_GPU_CORE_TEMPERATURE": ("temp_c", "C"),
    "XPUM_STATS_MEMORY_TEMPERATURE": ("mem_temp_c", "C"),
    "XPUM_STATS_MEMORY_BANDWIDTH": ("dram_active", "%"),
    "XPUM_STATS_MEMORY_USED": ("mem_used_b", "MiB"),
    "XPUM_STATS_EU_ACTIVE": (EU_ACTIVE, "%"),
    "XPUM_STATS_EU_STALL": (EU_STALL, "%"),
    "XPUM_STATS_EU_IDLE": (EU_IDLE, "%"),
    "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_CORRECTABLE": ("ecc_corrected", ""),
    "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_UNCORRECTABLE": ("ecc_uncorrected", ""),
}
"""What JSON calls a metric -> the reading, and the unit of its number."""

COUNTS = ("mem_used_b", "ecc_corrected", "ecc_uncorrected")
"""Readings that are whole numbers, and whose sum over all tiles is the device's."""


# --- readings ---


def _reading(values: Mapping[str, float | None], **others: object) -> Tick:
    """Return a tick of readings in base units."""
    known: dict[str, object] = {name: value for name, value in values.items() if not name.startswith("eu_")}
    known |= {name: round(value) for name in COUNTS if (value := values.get(name)) is not None}
    known["sm_clock_hz"] = values.get("sm_clock_hz") or None
    return tick(**known, sm_active=_sm_active(values), **others)


def _sm_active(values: Mapping[str, float | None]) -> float | None:
    """Return how long the array of units has work: whenever it is not idle; None where it does not count that."""
    told = [value for name in (EU_ACTIVE, EU_STALL, EU_IDLE) if (value := values.get(name)) is not None]
    idle = values.get(EU_IDLE)
    return None if idle is None or (len(told) > 1 and not any(told)) else round(1 - idle, 9)


def _field(title: str) -> tuple[str | None, str]:
    """Return the reading that a row or column is, and its unit."""
    found = UNIT.search(title)
    name = title[: found.start()] if found else title
    unit = found[1] if found else ""
    return FIELDS.get(" ".join(name.lower().split())), "C" if unit in DEGREES else unit


def _value(text: str, name: str, unit: str) -> float | None:
    """Return a cell's value in base units: the device's own, or what the guide says that it is of its tiles."""
    own = quantity(text.split(";")[0], unit=unit)
    if own is not None:
        return own
    parts = next((found for form in (TOTAL, CURRENT, TILE) if (found := form.findall(text))), [])
    return _of_tiles([quantity(part, unit=unit) for part in parts], name)


def _of_tiles(values: Sequence[float | None], name: str) -> float | None:
    """Return what the guide says that a device's value is of its tiles'."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    if len(known) < len(values) or (name == "power_w" and len(known) > 1):
        return None
    return sum(known) if name in COUNTS else fmean(known)


def _reasons(text: str) -> list[str] | None:
    """Return the reasons that a cell names, in the vendor's words; none where it says that nothing throttles."""
    words = text.strip().strip('"')
    if not words or words.upper() == "N/A":
        return None
    if re.search(r"\bnot throttled\b|^(?:none|no|0)$", words, re.IGNORECASE):
        return []
    return [word.strip() for word in re.split(r"[|;]", words) if word.strip()]


# --- dump ---


def is_dump(text: str) -> bool:
    """Tell whether the header of a dump is in the text."""
    return DUMP.search(text) is not None


def read_dump(text: str) -> list[DeviceRecord]:
    """Return a device for each number, and tile, of a dump, with a reading for each of its rows."""
    header = DUMP.search(text)
    assert header is not None, "a dump is recognised by its header"
    columns = [column.strip() for column in next(csv.reader([header[0]]))]
    readings: dict[str, list[Tick]] = {}
    for row in csv_rows(text[header.end() :], columns):
        device = row["DeviceId"] + (f"/{row['TileId']}" if row.get("TileId") else "")
        readings.setdefault(device, []).append(_dumped(row))
    return [
        DeviceRecord(
            "intel", "intel", facts(index=whole(device) if device.isdigit() else device), tuple(ticks)
        )
        for device, ticks in readings.items()
    ]


def _dumped(row: Mapping[str, str]) -> Tick:
    values: dict[str, float | None] = {}
    reasons = None
    for title, text in row.items():
        name, unit = _field(title)
        if name == "throttle_reasons":
            reasons = _reasons(text)
        elif name is not None:
            values[name] = _value(text, name, "%" if name == "util" else unit)
    return _reading(
        values, time=DATED.sub(r"\1-\2-\3T\4", row["Timestamp"]) or None, throttle_reasons=reasons
    )


# --- stats ---


def is_stats(text: str) -> bool:
    """Tell whether the text has a table of one device's statistics."""
    rows = [(title.strip(), value.strip()) for title, value in ROW.findall(text)]
    return ("Device ID", "Device Information") not in rows and any(
        title == "Device ID" and value.isdigit() for title, value in rows
    )


def read_stats(text: str) -> list[DeviceRecord]:
    """Return each device whose table is in the text, with a reading for each of its tables."""
    readings: dict[str, list[Tick]] = {}
    for device, rows in _tables(text):
        readings.setdefault(device, []).append(_told(rows))
    return [
        DeviceRecord("intel", "intel", facts(index=whole(device)), tuple(ticks))
        for device, ticks in readings.items()
    ]


def _tables(text: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the device and the rows of each table; of tiles, the last row of a text may lack some: it is left out."""
    tables: list[tuple[str, list[tuple[str, str]]]] = []
    for first, second in ((first.strip(), second.strip()) for first, second in ROW.findall(text)):
        if first == "Device ID":
            tables.append((second, []))
        elif first and tables:
            tables[-1][1].append((first, second))
        elif second and tables and tables[-1][1]:
            title, begun = tables[-1][1].pop()
            tables[-1][1].append((title, f"{begun}; {second}" if begun else second))
    ends_within = text.rstrip().rpartition("\n")[2].lstrip().startswith("|")
    if ends_within and tables and tables[-1][1] and TILE.search(tables[-1][1][-1][1]):
        tables[-1][1].pop()
    return [(device, rows) for device, rows in tables if device]


def _told(rows: Sequence[tuple[str, str]]) -> Tick:
    values: dict[str, float | None] = {}
    for title, text in rows:
        name, unit = _field(title)
        if name is not None and name != "throttle_reasons":
            unit = {"util": "%", "temp_c": "C", "mem_temp_c": "C"}.get(name, unit)
            values[name] = _value(text, name, unit)
    return _reading(values)


def is_stats_json(text: str) -> bool:
    """Tell whether the text is statistics as JSON."""
    return ('"device_level"' in text or '"tile_level"' in text) and "XPUM_STATS_" in text


def read_stats_json(text: str) -> list[DeviceRecord]:
    """Return each device with a reading for each of its statistics.

    Raises:
        UnreadableError: the text is no whole JSON.
    """
    readings: dict[int | None, list[Tick]] = {}
    for device in devices(text):
        if isinstance(device.get("device_level"), list) or isinstance(device.get("tile_level"), list):
            readings.setdefault(whole(device.get("device_id")), []).append(_measured(device))
    return [
        DeviceRecord("intel", "intel", facts(index=index), tuple(ticks)) for index, ticks in readings.items()
    ]


def _measured(device: Mapping[str, Any]) -> Tick:
    """Return what a device's statistics tell; what only its tiles tell is as the guide says."""
    tiles = [_metrics(tile.get("data_list")) for tile in objects(device.get("tile_level"))]
    names = {name for tile in tiles for name in tile}
    values = {name: _of_tiles([tile.get(name) for tile in tiles], name) for name in names}
    moment = device.get("timestamp", device.get("end"))
    return _reading(
        values | _metrics(device.get("device_level")), time=moment if isinstance(moment, str) else None
    )


def _metrics(listed: object) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    for metric in objects(listed):
        name, unit = METRICS.get(str(metric.get("metrics_type")), (None, ""))
        value = metric.get("value")
        if name == "mem_used_b" and isinstance(value, int) and value >= MOST_MIB:
            unit = "B"
        if name is not None:
            values[name] = quantity(value, unit=unit)
    return values


READERS = (
    Reader("xpu-smi", "dump", is_dump, read_dump),
    Reader("xpu-smi", "stats", is_stats, read_stats),
    Reader("xpu-smi", "stats-json", is_stats_json, read_stats_json),
    *xpu_smi_discovery.READERS,
    *xpu_smi_summary.READERS,
)
