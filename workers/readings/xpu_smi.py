"""`xpu-smi` (and `xpumcli`) of Intel's data centre GPUs: `discovery`, `stats` and `dump`, as tables, CSV and JSON.

Described in the Intel XPU System Management Interface User Guide. What is easily taken for something else:

- `GPU Memory Util (%)` is how full memory is, not how busy; `GPU Memory Bandwidth (%)` is how busy it is.
- A GPU of several tiles may tell each tile's value. The guide says what the device's is: the mean, and the sum of
  memory and of errors. Of power it does not say. A dump of tiles is one device for each.
- Of a dump, `DeviceId` and the time of the day are all that is told of device and date. Its counter of energy is of a
  span that the guide does not tell, and is not read.
- `Core Clock Rate` is the highest clock; `Number of EUs` counts execution units, the compute cores here.
- JSON gives memory in MiB, or in bytes in early versions, where it is a whole number far beyond any GPU's MiB.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from workers.readings.quantities import quantity, whole
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, Facts, Tick, facts, slug, tick

ROW = re.compile(r"^[ \t]*\|([^|\n]*)\|([^|\n]*)\|[ \t]*\r?$", re.MULTILINE)
DUMP = re.compile(r"^[ \t]*Timestamp,[ \t]*DeviceId\b.*$", re.MULTILINE)
LISTED = re.compile(
    r'^[ \t]*"?Device ID"?,"?(?:Device Name|Vendor Name|UUID|PCI BDF Address)\b.*$', re.MULTILINE
)
UNIT = re.compile(r"\s*\(([^()]*)\)\s*$")
TILE = re.compile(r"Tile \d+: *([^;,]*)")
CURRENT = re.compile(r"current: *([^,;]*)")
DEGREES = ("C", "°C", "Celsius Degree", "Degrees Celsius")
MOST_MIB = 2**22
"""No GPU has so much memory [MiB]: a larger number is of bytes."""

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
    "eu array idle": "sm_active",
    "gpu eu array idle": "sm_active",
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
    "XPUM_STATS_EU_IDLE": ("sm_active", "%"),
    "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_CORRECTABLE": ("ecc_corrected", ""),
    "XPUM_STATS_RAS_ERROR_CAT_NON_COMPUTE_ERRORS_UNCORRECTABLE": ("ecc_uncorrected", ""),
}
"""What JSON calls a metric -> the reading, and the unit of its number."""

COUNTS = ("mem_used_b", "ecc_corrected", "ecc_uncorrected")
"""Readings that are whole numbers, and whose sum over all tiles is the device's."""


# --- readings ---


def _reading(values: Mapping[str, float | None], **others: object) -> Tick:
    """Return a tick of readings in base units; an array of units that is idle so long has work for the rest."""
    known: dict[str, object] = {name: value for name, value in values.items() if value is not None}
    idle = values.get("sm_active")
    if idle is not None:
        known["sm_active"] = round(1 - idle, 9)
    known |= {name: round(value) for name in COUNTS if (value := values.get(name)) is not None}
    known["sm_clock_hz"] = values.get("sm_clock_hz") or None
    return tick(**known, **others)


def _field(title: str) -> tuple[str | None, str]:
    """Return the reading that a row or column is, and its unit."""
    found = UNIT.search(title)
    name = title[: found.start()] if found else title
    unit = found[1] if found else ""
    return FIELDS.get(" ".join(name.lower().split())), "C" if unit in DEGREES else unit


def _value(text: str, name: str, unit: str) -> float | None:
    """Return a cell's value in base units: the device's own, or what the guide says that it is of its tiles."""
    tiles = TILE.findall(text)
    if not tiles:
        current = CURRENT.search(text)
        return quantity(current[1] if current else text.split(";")[0], unit=unit)
    if "current:" in text:
        tiles = CURRENT.findall(text)
    values = [quantity(tile, unit=unit) for tile in tiles]
    known = [value for value in values if value is not None]
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
    for row in _rows(text[header.end() :], columns):
        device = row["DeviceId"] + (f"/{row['TileId']}" if row.get("TileId") else "")
        readings.setdefault(device, []).append(_dumped(row))
    return [
        DeviceRecord(
            "intel", "intel", facts(index=whole(device) if device.isdigit() else device), tuple(ticks)
        )
        for device, ticks in readings.items()
    ]


def _rows(text: str, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield whole rows; where the text ends within the last one's last cell, that cell may have been cut."""
    lines = text.splitlines()
    for number, cells in enumerate(csv.reader(lines, skipinitialspace=True), start=1):
        if len(cells) != len(columns) or cells[0].strip() == columns[0]:
            continue
        row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
        if number == len(lines) and not text.endswith("\n"):
            row[columns[-1]] = ""
        yield row


def _dumped(row: Mapping[str, str]) -> Tick:
    values: dict[str, float | None] = {}
    reasons = None
    for title, text in row.items():
        name, unit = _field(title)
        if name == "throttle_reasons":
            reasons = _reasons(text)
        elif name is not None:
            values[name] = _value(text, name, "%" if name == "util" else unit)
    return _reading(values, time=row["Timestamp"] or None, throttle_reasons=reasons)


# --- stats ---


def is_stats(text: str) -> bool:
    """Tell whether the text has a table of one device's statistics."""
    rows = [(title.strip(), value.strip()) for title, value in ROW.findall(text)]
    return ("Device ID", "Device Information") not in rows and any(
        title == "Device ID" and value.isdigit() for title, value in rows
    )


def read_stats(text: str) -> list[DeviceRecord]:
    """Return each device whose table is in the text, with the one reading that it is."""
    tables: dict[str, list[tuple[str, str]]] = {}
    title, device = "", ""
    for first, second in ((first.strip(), second.strip()) for first, second in ROW.findall(text)):
        if first == "Device ID":
            device = second
            tables.setdefault(device, [])
        elif first:
            title = first
            tables.setdefault(device, []).append((title, second))
        elif second and tables.get(device):
            title, begun = tables[device].pop()
            tables[device].append((title, f"{begun}; {second}" if begun else second))
    return [
        DeviceRecord("intel", "intel", facts(index=whole(device)), (_told(rows),))
        for device, rows in tables.items()
        if device
    ]


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
    return '"device_level"' in text and "XPUM_STATS_" in text


def read_stats_json(text: str) -> list[DeviceRecord]:
    """Return each device with its one reading.

    Raises:
        UnreadableError: the text is no whole JSON.
    """
    return [
        DeviceRecord("intel", "intel", facts(index=whole(device.get("device_id"))), (_measured(device),))
        for device in _devices(text)
        if isinstance(device.get("device_level"), list)
    ]


def _measured(device: Mapping[str, Any]) -> Tick:
    values: dict[str, float | None] = {}
    for metric in device["device_level"]:
        name, unit = METRICS.get(str(metric.get("metrics_type")), (None, ""))
        value = metric.get("value")
        if name == "mem_used_b" and isinstance(value, int) and value >= MOST_MIB:
            unit = "B"
        if name is not None:
            values[name] = quantity(value, unit=unit)
    moment = device.get("timestamp")
    return _reading(values, time=moment if isinstance(moment, str) else None)


def _devices(text: str) -> list[dict[str, Any]]:
    start = re.search(r"^\s*[\[{]", text, re.MULTILINE)
    try:
        found = json.JSONDecoder().raw_decode(text[start.start() :].lstrip() if start else text)[0]
    except json.JSONDecodeError as error:
        raise UnreadableError(f"xpu-smi: no whole JSON: {error}") from error
    listed = found.get("device_list", [found]) if isinstance(found, dict) else found
    return [device for device in listed if isinstance(device, dict)]


# --- discovery ---


def is_discovery(text: str) -> bool:
    """Tell whether the text has a table of devices."""
    return any(
        (title.strip(), value.strip()) == ("Device ID", "Device Information")
        for title, value in ROW.findall(text)
    )


def read_discovery(text: str) -> list[DeviceRecord]:
    """Return the devices that a table describes, in lines `Name: value`."""
    devices: list[tuple[str, dict[str, str]]] = []
    for first, second in ((first.strip(), second.strip()) for first, second in ROW.findall(text)):
        if first and first != "Device ID":
            devices.append((first, {}))
        name, colon, value = second.partition(":")
        if colon and devices:
            devices[-1][1].setdefault(_key(name), value.strip())
    return [_found(index, told) for index, told in devices]


def is_discovery_csv(text: str) -> bool:
    """Tell whether the header of a list of devices is in the text."""
    return LISTED.search(text) is not None


def read_discovery_csv(text: str) -> list[DeviceRecord]:
    """Return the devices of a list with the properties that were asked for."""
    header = LISTED.search(text)
    assert header is not None, "a list is recognised by its header"
    columns = [column.strip() for column in next(csv.reader([header[0]]))]
    rows = _rows(text[header.end() :], columns)
    return [_found(row["Device ID"], {_key(name): value for name, value in row.items()}) for row in rows]


def is_discovery_json(text: str) -> bool:
    """Tell whether the text is devices as JSON."""
    listed = re.search(r'^\s*\{\s*"device_list"\s*:', text, re.MULTILINE) is not None
    return listed or ('"pci_bdf_address"' in text and '"device_id"' in text and not is_stats_json(text))


def read_discovery_json(text: str) -> list[DeviceRecord]:
    """Return the devices of a list, or the one that was asked for in detail.

    Raises:
        UnreadableError: the text is no whole JSON.
    """
    return [
        _found(device.get("device_id"), {_key(name): value for name, value in device.items()})
        for device in _devices(text)
    ]


def _key(name: str) -> str:
    """Return a property's name as JSON and tables share it: lower case, words joined by underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", name.lower()))


def _found(index: object, told: Mapping[str, Any]) -> DeviceRecord:
    model = _text(told, "device_name")
    device_class = (
        slug("intel", re.sub(r"\((?:R|TM|C)\)|^Intel\b|\bGraphics\b", " ", model)) if model else "intel"
    )
    return DeviceRecord("intel", re.sub(r"^intel-intel-", "intel-", device_class), _facts(index, told, model))


def _facts(index: object, told: Mapping[str, Any], model: str | None) -> Facts:
    bus, ecc = _text(told, "pci_bdf_address"), _text(told, "ecc_state", "memory_ecc_state")
    return facts(
        index=whole(index),
        uuid=_text(told, "uuid"),
        serial=_text(told, "serial_number"),
        pci_bus_id=bus.lower() if bus else None,
        model=model,
        cores=whole(told.get("number_of_eus")),
        memory_b=_memory_b(told),
        driver=_text(told, "driver_version"),
        firmware=_text(told, "gfx_firmware_version", "firmware_version"),
        sm_clock_max_hz=quantity(told.get("core_clock_rate_mhz", told.get("core_clock_rate")), unit="MHz")
        or None,
        ecc_mode={"enabled": True, "disabled": False}.get(ecc.lower()) if ecc else None,
        pcie_gen_max=whole(told.get("pcie_generation")) or None,
        pcie_width_max=whole(told.get("pcie_max_link_width")) or None,
    )


def _memory_b(told: Mapping[str, Any]) -> int | None:
    """Return the memory [B]; 0 is a GPU that shares the host's."""
    size = told.get("memory_physical_size_byte")
    return (whole(size) if size is not None else whole(told.get("memory_physical_size"), unit="MiB")) or None


def _text(told: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these properties that says something."""
    texts = (str(told[name]).strip() for name in names if told.get(name) is not None)
    return next((text for text in texts if text and text.lower() not in ("unknown", "n/a", "-1")), None)


READERS = (
    Reader("xpu-smi", "dump", is_dump, read_dump),
    Reader("xpu-smi", "stats", is_stats, read_stats),
    Reader("xpu-smi", "stats-json", is_stats_json, read_stats_json),
    Reader("xpu-smi", "discovery", is_discovery, read_discovery),
    Reader("xpu-smi", "discovery-csv", is_discovery_csv, read_discovery_csv),
    Reader("xpu-smi", "discovery-json", is_discovery_json, read_discovery_json),
)
