"""What a machine has to measure on, as one document: of this machine, or of a folder of recorded outputs.

The form of the document is documented in docs/devices.md, and scripts rely on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from workers.devices import KINDS
from workers.devices.base import Device, Host
from workers.readings.folder import read_folder
from workers.readings.record import DeviceRecord, Tick

VERSION = 1
NOT_ON_THIS_MACHINE = frozenset(("simulated",))
"""Kinds that are no hardware."""

Document = dict[str, Any]


def survey_machine(host: Host, kinds: Iterable[str] = tuple(KINDS)) -> Document:
    """Return the document of this machine; devices that were opened are closed again."""
    devices: list[Document] = []
    absent: list[Document] = []
    for kind in kinds:
        if kind in NOT_ON_THIS_MACHINE and host.script is None:
            continue
        found: Sequence[Device] = KINDS[kind].detect(host)
        devices += [_of_device(device) for device in found]
        lack = KINDS[kind].absent() if not found else None
        absent += [{"kind": kind, **lack._asdict()}] if lack else []
        for device in found:
            device.close()
    return {"version": VERSION, "source": "machine", "devices": devices, "absent": absent, "unread": []}


def _of_device(device: Device) -> Document:
    record = device.settled_record()
    lacks = [lack._asdict() for lack in device.lacks()]
    return {**_of_record(record), "hardware_id": device.hardware_id, "source": None, "lacks": lacks}


def survey_folder(path: Path) -> Document:
    """Return the document of recorded outputs; what no reader knows, or is broken, is listed in `unread`.

    Raises:
        OSError: the folder cannot be read.
    """
    devices: list[Document] = []
    unread = []
    for file in read_folder(path):
        if file.recording is None:
            unread.append({"file": file.name, "why": file.trouble})
            continue
        source = {"file": file.name, "tool": file.recording.tool, "form": file.recording.form}
        devices += [
            {**_of_record(record), "hardware_id": record.facts["uuid"], "source": source, "lacks": []}
            for record in file.recording.devices
        ]
    return {"version": VERSION, "source": str(path), "devices": devices, "absent": [], "unread": unread}


def _of_record(record: DeviceRecord) -> Document:
    last: Tick = record.readings[-1] if record.readings else {}
    facts = {name: value for name, value in record.facts.items() if name != "unavailable"}
    return {
        "kind": record.kind,
        "device_class": record.device_class,
        "facts": facts,
        "readings": {name: value for name, value in last.items() if name != "unavailable"},
        "unavailable": {
            "facts": record.facts["unavailable"],
            "readings": last.get("unavailable", []),
        },
        "samples": [
            {name: value for name, value in tick.items() if value is not None and name != "unavailable"}
            for tick in record.readings
        ],
    }
