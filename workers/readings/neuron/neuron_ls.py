"""AWS `neuron-ls`: the Neuron devices of an instance and who uses them, as JSON and as a table.

Source: the Neuron LS User Guide of the AWS Neuron documentation, from its first version to 2.34. JSON is a list of
devices; from 2.34 on (`--output-format json`) an object that has the list, and beside it what all devices share. Sizes
in JSON are bytes; the table's GB are GiB (its 32 GB is 34359738368 B in JSON), its MB MiB.

The guide itself prints JSON with devices left out as `...`. Every device that is there as a whole is read, whatever
stands between them, so a text that was cut tells its first devices.

The reading is who uses a device: `neuron_processes`, or the column PID. With `--show-all-procs` that includes tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from workers.readings.grids import Grid, grids
from workers.readings.neuron.products import KIND, count, device_class, numa_node, pci_bus_id, word
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord, Facts, Tick, facts, tick

TOOL = "neuron-ls"

Json = Mapping[str, Any]

INDEX_KEYS = ("neuron_device", "neuron_device_index", "device_index", "logical_id")
BUS_KEYS = ("bdf", "pci_bdf", "pci_bus_id")
CORE_KEYS = ("nc_count", "neuroncore_count")
INDEX_KEY = re.compile(r'"(?:neuron_device|neuron_device_index|device_index|logical_id)"\s*:\s*"?\d')
OWN_KEY = re.compile(r'"(?:neuron_device|nc_count|neuroncore_count|neuroncore_ids|neuron_processes)"\s*:')
MONITOR_KEY = re.compile(r'"(?:neuron_runtime_data|neuroncores_in_use|neuron_hw_counters|system_data)"\s*:')

INDEX = re.compile("NEURON DEVICE|LOGICAL ID", re.IGNORECASE)
CORES = re.compile("NEURON ?CORES", re.IGNORECASE)
MEMORY = re.compile(r"(?:NEURON |DEVICE )?MEMORY(?: CHANNEL \d+)?", re.IGNORECASE)
BUS = re.compile("PCI BDF|BDF", re.IGNORECASE)
NUMA = re.compile("NUMA NODE", re.IGNORECASE)
PID = re.compile("PID", re.IGNORECASE)
RUNTIME = re.compile("RUNTIME VERSION", re.IGNORECASE)
INSTANCE = re.compile(r"^[ \t]*instance-type:[ \t]*(\S+)[ \t]*\r?\n", re.MULTILINE)
UNITS = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])I?B")


def recognises_json(text: str) -> bool:
    """Return whether a text is a list of devices in JSON, whole or not."""
    return bool(INDEX_KEY.search(text) and OWN_KEY.search(text) and not MONITOR_KEY.search(text))


def read_json(text: str) -> list[DeviceRecord]:
    """Return one record for every device that is there as a whole.

    Raises:
        UnreadableError: none is.
    """
    found = list(_devices(text))
    if not found:
        end = text.count("\n") + 1
        raise UnreadableError(f"neuron-ls: no whole device up to line {end}; a JSON object was expected")
    return _merged(_from_json(device, shared) for device, shared in found)


def core_numbers(text: str) -> dict[int, tuple[int, ...]]:
    """Return the numbers of each device's cores, as programs ask for them, where JSON tells as many as it has."""
    found = {}
    for device, _ in _devices(text):
        index, ids = _index(device), device.get("neuroncore_ids")
        numbers = [count(number) for number in ids] if isinstance(ids, list) else []
        known = sorted(number for number in numbers if number is not None)
        if index is not None and len(known) == len(numbers) == count(_first(device, CORE_KEYS)):
            found[index] = tuple(known)
    return found


def _devices(text: str) -> Iterator[tuple[Json, Json]]:
    """Yield every device, and what stands beside the list that it is in."""
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            document, end = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            end = place + 1
        else:
            yield from _within(document)
        place = text.find("{", end)


def _within(document: Json) -> Iterator[tuple[Json, Json]]:
    if _is_device(document):
        yield document, {}
        return
    shared = dict(_flat(document))
    for value in document.values():
        if isinstance(value, list):
            yield from (
                (device, shared) for device in value if isinstance(device, dict) and _is_device(device)
            )


def _flat(document: Json) -> Iterator[tuple[str, Any]]:
    """Yield the values of an object and of the objects in it, as `instance` is one in which the type stands."""
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from value.items()
        else:
            yield name, value


def _is_device(document: Json) -> bool:
    return _index(document) is not None and any(name in document for name in (*BUS_KEYS, *CORE_KEYS))


def _first(document: Json, names: Sequence[str]) -> Any:
    return next((document[name] for name in names if document.get(name) is not None), None)


def _index(document: Json) -> int | None:
    return count(_first(document, INDEX_KEYS))


def _from_json(device: Json, shared: Json) -> DeviceRecord:
    instance = word(device.get("instance_type")) or word(shared.get("instance_type"))
    listed = device.get("neuron_processes")
    processes = (
        [process for process in listed if isinstance(process, Mapping)] if isinstance(listed, list) else None
    )
    told = facts(
        index=_index(device),
        pci_bus_id=pci_bus_id(_first(device, BUS_KEYS)),
        cores=count(_first(device, CORE_KEYS)) or None,
        memory_b=_memory_size(device.get("memory_size")) or None,
        numa_node=numa_node(device.get("numa_node")),
        runtime=_one(process.get("neuron_runtime_version") for process in processes or ()),
        instance_type=instance,
    )
    readings = () if processes is None else (_reading(process.get("pid") for process in processes),)
    return DeviceRecord(KIND, device_class(instance), told, readings)


def _memory_size(value: object) -> int | None:
    written = _size(str(value))
    return count(value) if written is None else written


def recognises_table(text: str) -> bool:
    """Return whether a text has a table of Neuron devices."""
    return "NEURON" in text.upper() and any(_is_list(grid) for grid in grids(text))


def read_table(text: str) -> list[DeviceRecord]:
    """Return one record a device; processes that share one are in lines of their own below it.

    Whether more of them were to follow is not known of the last device of a table that was cut.
    """
    match = INSTANCE.search(text)
    instance = match[1] if match else None
    found = []
    for grid in filter(_is_list, grids(text)):
        devices = _by_device(grid)
        ended = [grid.closed or place + 1 < len(devices) for place in range(len(devices))]
        found += [_from_table(grid, rows, instance, used) for rows, used in zip(devices, ended, strict=True)]
    return _merged(found)


def _is_list(grid: Grid) -> bool:
    return None not in (grid.column(INDEX), grid.column(CORES), grid.column(BUS))


def _by_device(grid: Grid) -> list[list[list[str]]]:
    """Return the table's lines by device: one whose number is empty goes on with the device above."""
    index = grid.column(INDEX)
    devices: list[list[list[str]]] = []
    for row in grid.rows:
        if index is not None and count(row[index]) is not None:
            devices.append([row])
        elif devices and not row[index or 0]:
            devices[-1].append(row)
    return devices


def _from_table(grid: Grid, rows: Sequence[Sequence[str]], instance: str | None, used: bool) -> DeviceRecord:
    """Return a device's record, with who uses it if `used`."""

    def cell(pattern: re.Pattern[str]) -> str:
        place = grid.column(pattern)
        return "" if place is None else rows[0][place]

    pid, runtime = grid.column(PID), grid.column(RUNTIME)
    told = facts(
        index=count(cell(INDEX)),
        pci_bus_id=pci_bus_id(cell(BUS)),
        cores=count(cell(CORES)),
        memory_b=_memory(grid, rows[0]),
        numa_node=numa_node(cell(NUMA)),
        runtime=_one(row[runtime] for row in rows) if used and runtime is not None else None,
        instance_type=instance,
    )
    readings = (_reading(row[pid] for row in rows),) if used and pid is not None else ()
    return DeviceRecord(KIND, device_class(instance), told, readings)


def _memory(grid: Grid, row: Sequence[str]) -> int | None:
    """Return a device's memory [B]; the first version told it by channel."""
    sizes = [_size(row[place]) for place, name in enumerate(grid.columns) if MEMORY.fullmatch(name)]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _size(text: str) -> int | None:
    match = SIZE.fullmatch(text.strip().upper())
    return round(float(match[1]) * UNITS[match[2]]) if match else None


def _reading(pids: Iterable[object]) -> Tick:
    return tick(foreign_pids=sorted({number for pid in pids if (number := count(pid))}))


def _one(versions: Iterable[object]) -> str | None:
    """Return the version that all processes agree on; tools without the runtime have `NA`."""
    known = {told for version in versions if (told := word(version))}
    return known.pop() if len(known) == 1 else None


def _merged(found: Iterable[DeviceRecord]) -> list[DeviceRecord]:
    """Return one record a device; outputs after each other are its readings."""
    devices: dict[tuple[object, ...], DeviceRecord] = {}
    for record in found:
        key = (record.facts["index"], record.facts["pci_bus_id"], record.facts["instance_type"])
        earlier = devices.get(key)
        known: Facts = earlier.facts if earlier else record.facts
        readings = (*(earlier.readings if earlier else ()), *record.readings)
        devices[key] = DeviceRecord(KIND, record.device_class, known, readings)
    return list(devices.values())


NEURON_LS_JSON = Reader(TOOL, "json", recognises_json, read_json)
NEURON_LS_TABLE = Reader(TOOL, "table", recognises_table, read_table)
READERS: tuple[Reader, ...] = (NEURON_LS_JSON, NEURON_LS_TABLE)
