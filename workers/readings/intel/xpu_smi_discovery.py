"""`xpu-smi discovery`: what Intel's tool knows of each GPU, as a table, CSV and JSON.

Described in the Intel XPU System Management Interface User Guide. `Core Clock Rate` is the highest clock; `Number of
EUs` counts execution units, the compute cores here. `SOC UUID` is what `UUID` was called before.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from typing import Any

from workers.readings.intel.xpu_smi_documents import devices
from workers.readings.intel.xpu_smi_rows import ROW, csv_rows
from workers.readings.quantities import quantity, whole
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Facts, facts, slug

LISTED = re.compile(
    r'^[ \t]*"?Device (?:ID|Name)"?,"?(?:Device Name|Vendor Name|(?:SOC )?UUID|PCI BDF Address|Serial Number)\b.*$',
    re.MULTILINE,
)


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
    return _once(_found(index, told) for index, told in devices)


def is_discovery_csv(text: str) -> bool:
    """Tell whether the header of a list of devices is in the text."""
    return LISTED.search(text) is not None


def read_discovery_csv(text: str) -> list[DeviceRecord]:
    """Return the devices of a list with the properties that were asked for."""
    header = LISTED.search(text)
    assert header is not None, "a list is recognised by its header"
    columns = [column.strip() for column in next(csv.reader([header[0]]))]
    rows = csv_rows(text[header.end() :], columns)
    return _once(
        _found(row.get("Device ID"), {_key(name): value for name, value in row.items()}) for row in rows
    )


def is_discovery_json(text: str) -> bool:
    """Tell whether the text is devices as JSON."""
    listed = re.search(r'^[ \t]*\{\s*"device_list"\s*:', text, re.MULTILINE) is not None
    return listed or ('"pci_bdf_address"' in text and '"device_id"' in text and "XPUM_STATS_" not in text)


def read_discovery_json(text: str) -> list[DeviceRecord]:
    """Return the devices of a list, or the one that was asked for in detail.

    Raises:
        UnreadableError: the text is no whole JSON.
    """
    return _once(
        _found(device.get("device_id"), {_key(name): value for name, value in device.items()})
        for device in devices(text)
    )


def _once(found: Iterable[DeviceRecord]) -> list[DeviceRecord]:
    """Return one record a device; of one that is there more than once, the one that tells most."""
    devices: dict[tuple[object, ...], DeviceRecord] = {}
    for record in found:
        key = (record.facts["index"], record.facts["pci_bus_id"])
        known = devices.setdefault(key, record)
        if len(record.facts["unavailable"]) < len(known.facts["unavailable"]):
            devices[key] = record
    return list(devices.values())


def _key(name: str) -> str:
    """Return a property's name as JSON and tables share it: lower case, words joined by underscores."""
    return "_".join(re.findall(r"[a-z0-9]+", name.lower()))


def class_of(model: str | None) -> str:
    """Return the class of a GPU by its product's name: `intel-data-center-gpu-flex-170`; `intel` without one."""
    words = re.sub(r"\((?:R|TM|C)\)|\bIntel\b|\bGraphics\b", " ", model or "")
    return slug("intel", words)


def _found(index: object, told: Mapping[str, Any]) -> DeviceRecord:
    model = _text(told, "device_name")
    return DeviceRecord("intel", class_of(model), _facts(index, told, model))


def _facts(index: object, told: Mapping[str, Any], model: str | None) -> Facts:
    bus, ecc = _text(told, "pci_bdf_address"), _text(told, "ecc_state", "memory_ecc_state")
    return facts(
        index=whole(index),
        uuid=_text(told, "uuid", "soc_uuid"),
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
    Reader("xpu-smi", "discovery", is_discovery, read_discovery),
    Reader("xpu-smi", "discovery-csv", is_discovery_csv, read_discovery_csv),
    Reader("xpu-smi", "discovery-json", is_discovery_json, read_discovery_json),
)
