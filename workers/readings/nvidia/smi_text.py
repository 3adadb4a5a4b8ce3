"""`nvidia-smi -q`: sections of `Key : value` lines, indented, one block a GPU; of any driver since 390.

The names follow those of the XML form in their versions (`Power Readings` and `GPU Power Readings`, whose limits are in
a section of their own since driver 610, `Clocks Throttle Reasons` and `Clocks Event Reasons`, memory errors by bits or
by kind of memory); they are compared in lower case, as spelling changed between versions (`Gpu`, `GPU`). With `-l` logs
follow each other; with `-d` sections are missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from workers.readings.nvidia.smi import TOOL, Fields, is_capture, told
from workers.readings.nvidia.smi_devices import Instance, devices, united
from workers.readings.quantities import whole
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

LOG = re.compile(r"^[ \t]*=+\s*NVSMI LOG\s*=+[ \t]*\r?$", re.MULTILINE)
GPU = re.compile(r"[ \t]*GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*")
LINE = re.compile(r"( *)(\S.*?)(?:\s+:(?: (.*))?)?")

POWER = {
    "power draw": "power.draw",
    "average power draw": "power.draw.average",
    "instantaneous power draw": "power.draw.instant",
    "enforced power limit": "enforced.power.limit",
    "current power limit": "enforced.power.limit",
    "power limit": "power.limit",
    "requested power limit": "power.limit",
    "default power limit": "power.default_limit",
    "max power limit": "power.max_limit",
}
VOLATILE = {
    "single bit/total": "corrected.volatile.total",
    "double bit/total": "uncorrected.volatile.total",
    "sram correctable": "corrected.volatile.sram",
    "dram correctable": "corrected.volatile.dram",
    "sram uncorrectable": "uncorrected.volatile.sram",
    "sram uncorrectable parity": "uncorrected.volatile.sram.parity",
    "sram uncorrectable sec-ded": "uncorrected.volatile.sram.secded",
    "dram uncorrectable": "uncorrected.volatile.dram",
}
LINK = "pci/gpu link info"
NAMES = {
    "product name": "name",
    "product architecture": "architecture",
    "persistence mode": "persistence_mode",
    "mig mode/current": "mig.mode.current",
    "serial number": "serial",
    "gpu uuid": "uuid",
    "vbios version": "vbios_version",
    "pci/bus id": "pci.bus_id",
    f"{LINK}/pcie generation/max": "pcie.link.gen.max",
    f"{LINK}/pcie generation/current": "pcie.link.gen.current",
    f"{LINK}/link width/max": "pcie.link.width.max",
    f"{LINK}/link width/current": "pcie.link.width.current",
    "pci/replays since reset": "pcie.replays",
    "pci/tx throughput": "pcie.tx",
    "pci/rx throughput": "pcie.rx",
    "fan speed": "fan.speed",
    "fb memory usage/total": "memory.total",
    "fb memory usage/used": "memory.used",
    "shared fb memory usage/total": "memory.total",
    "shared fb memory usage/used": "memory.used",
    "device attributes/shared/multiprocessor count": "multiprocessor_count",
    "compute mode": "compute_mode",
    "utilization/gpu": "utilization.gpu",
    "utilization/memory": "utilization.memory",
    "ecc mode/current": "ecc.mode.current",
    "ecc mode/pending": "ecc.mode.pending",
    "retired pages/single bit ecc": "retired_pages.single_bit_ecc.count",
    "retired pages/double bit ecc": "retired_pages.double_bit.count",
    "retired pages/pending": "retired_pages.pending",
    "retired pages/pending page blacklist": "retired_pages.pending",
    "remapped rows/correctable error": "remapped_rows.correctable",
    "remapped rows/uncorrectable error": "remapped_rows.uncorrectable",
    "remapped rows/pending": "remapped_rows.pending",
    "temperature/gpu current temp": "temperature.gpu",
    "temperature/gpu": "temperature.gpu",
    "temperature/memory current temp": "temperature.memory",
    "clocks/sm": "clocks.current.sm",
    "clocks/memory": "clocks.current.memory",
    "applications clocks/graphics": "clocks.applications.graphics",
    "applications clocks/memory": "clocks.applications.memory",
    "default applications clocks/graphics": "clocks.default_applications.graphics",
    "max clocks/sm": "clocks.max.sm",
    "max clocks/memory": "clocks.max.memory",
    **{f"power readings/{name}": field for name, field in POWER.items()},
    **{f"gpu power readings/{name}": field for name, field in POWER.items()},
    **{f"gpu power readings/gpu ceiling power limit/{name}": field for name, field in POWER.items()},
    **{f"ecc errors/volatile/{name}": f"ecc.errors.{field}" for name, field in VOLATILE.items()},
}
"""Path below the GPU, in lower case -> field."""

HOST = {
    "timestamp": "timestamp",
    "driver version": "driver_version",
    "kmd version": "kmd_version",
    "cuda version": "cuda_version",
    "cuda umd version": "cuda_umd_version",
    "attached gpus": "attached_gpus",
}
FAMILIES = {
    "clocks event reasons": "clocks_event_reasons",
    "clocks throttle reasons": "clocks_event_reasons",
    "clocks event reasons counters": "clocks_event_reasons_counters",
}


LISTS = (*FAMILIES, "mig device", "processes")
"""Sections that are read as a whole: with a part of them the rest would seem not to be."""


class Entry(NamedTuple):
    """A line of a GPU's block: where it stands, and its value; None for the title of a section."""

    path: str
    value: str | None


def recognises(text: str) -> bool:
    """Say whether a text holds such a log."""
    return LOG.search(text) is not None and not is_capture(text)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs and MIG instances, with a reading a log.

    Where the text ends within a line, that line is left out, and the list that it stands in: they may be cut.

    Raises:
        UnreadableError: the text ends before the first GPU.
    """
    logs = LOG.split(text.expandtabs())[1:]
    found = united(_log(log) for log in logs)
    if not found and not any(re.search(r"Attached GPUs\s*: 0\s*$", log, re.MULTILINE) for log in logs):
        raise UnreadableError(f"line {len(text.splitlines())}: the log ends before its first GPU")
    return found


def _log(log: str) -> list[DeviceRecord]:
    lines = log.splitlines()
    starts = [number for number, line in enumerate(lines) if GPU.fullmatch(line)]
    host = _host(lines[: starts[0] if starts else len(lines)])
    numbered = whole(told(host.get("attached_gpus"))) == len(starts)
    records: list[DeviceRecord] = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else None
        entries = _entries(lines[start + 1 : end])
        if end is None:
            entries = _certain(entries, log)
        match = GPU.fullmatch(lines[start])
        index = {"index": str(number)} if numbered else {}
        records += _gpu(entries, {**host, **index, "pci.bus_id": match[1] if match else ""})
    return records


def _host(lines: list[str]) -> dict[str, str]:
    pairs = [(entry.path, entry.value) for entry in _entries(lines)]
    return {HOST[path]: value for path, value in pairs if path in HOST and value is not None}


def _entries(lines: list[str]) -> list[Entry]:
    """Return the lines with the titles that they stand below, by their indentation."""
    above: list[tuple[int, str]] = []
    entries = []
    for line in lines:
        match = LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        depth, key = len(match[1]), match[2].lower()
        while above and above[-1][0] >= depth:
            above.pop()
        above.append((depth, key))
        entries.append(Entry("/".join(name for _, name in above), match[3]))
    return entries


def _certain(entries: list[Entry], log: str) -> list[Entry]:
    """Return what is certain of the last GPU of a log: no last line without an end, no list that may go on."""
    unended = not log.endswith(("\n", "\r"))
    kept = entries[:-1] if unended else entries
    last = entries[-1].path.partition("/")[0] if entries else ""
    goes_on = last in LISTS if unended else last in FAMILIES and not re.search(r"\n[ \t\r]*\n\s*$", log)
    return [entry for entry in kept if not (goes_on and entry.path.partition("/")[0] == last)]


def _gpu(entries: list[Entry], host: Fields) -> list[DeviceRecord]:
    processes = _processes(entries)
    pids = None if processes is None else sorted({pid for pid, _ in processes})
    return devices({**host, **_fields(entries)}, pids, _instances(entries, processes))


def _fields(entries: list[Entry], prefix: str = "") -> dict[str, str]:
    fields: dict[str, str] = {}
    for path, value in entries:
        name = _name(path.removeprefix(prefix))
        if name is not None and value is not None and (told(value) is not None or name not in fields):
            fields[name] = value
    return fields


def _name(path: str) -> str | None:
    section, _, rest = path.partition("/")
    if section in FAMILIES and rest:
        return f"{FAMILIES[section]}.{rest.rpartition('/')[2].replace(' ', '_')}"
    return NAMES.get(path)


Place = tuple[int | None, int | None]
"""GPU instance and compute instance."""


def _processes(entries: list[Entry]) -> list[tuple[int, Place]] | None:
    """Return the processes and where they run, or None where they are not told, or the last one is cut."""
    section = [entry for entry in entries if entry.path.partition("/")[0] == "processes"]
    if len(section) < 2:
        return [] if section and section[0].value == "None" else None
    place: dict[str, int | None] = {}
    found = []
    for path, value in section:
        key = path.rpartition("/")[2]
        if key in ("gpu instance id", "compute instance id"):
            place[key] = whole(told(value))
        elif key == "process id" and (pid := whole(told(value))) is not None:
            found.append((pid, (place.pop("gpu instance id", None), place.pop("compute instance id", None))))
    if place or not section[-1].path.endswith("used gpu memory"):
        return None
    return found


def _instances(entries: list[Entry], processes: list[tuple[int, Place]] | None) -> list[Instance] | None:
    """Return the MIG instances, or None where there may be more than the text shows."""
    sections = list(_mig_sections(entries))
    if not entries or entries[-1].path.partition("/")[0] in ("mig device", "mig mode"):
        return None
    return [_instance(section, processes) for section in sections]


def _mig_sections(entries: list[Entry]) -> Iterator[list[Entry]]:
    section: list[Entry] = []
    for entry in entries:
        if entry.path == "mig device" and section:
            yield section
            section = []
        if entry.path.startswith("mig device/"):
            section.append(entry)
    if section:
        yield section


def _instance(section: list[Entry], processes: list[tuple[int, Place]] | None) -> Instance:
    values = {path.removeprefix("mig device/"): told(value) for path, value in section}
    gpu, compute = whole(values.get("gpu instance id")), whole(values.get("compute instance id"))
    return Instance(
        number=whole(values.get("index")),
        uuid=values.get("mig uuid"),
        gpu_instance=gpu,
        compute_instance=compute,
        fields=_fields(section, "mig device/"),
        pids=None if processes is None else [pid for pid, place in processes if place == (gpu, compute)],
    )


TEXT = Reader(TOOL, "query-text", recognises, read)
