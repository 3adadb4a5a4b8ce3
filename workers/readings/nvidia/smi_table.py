"""Plain `nvidia-smi`: the table of GPUs, that of MIG devices, and that of processes; of any driver since 390.

A GPU has two lines, three since MIG is shown (driver 450). Columns moved between versions, so cells are read by what
stands in them; the cells of a line are those of the header in all versions. Names that do not fit were cut by drivers
before 530 and end in `...`; they are told as missing. Power is in whole watts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from workers.readings.nvidia.smi import CTIME, TOOL, is_capture, told
from workers.readings.nvidia.smi_devices import Instance, devices, united
from workers.readings.quantities import whole
from workers.readings.reader import Reader, UnreadableError
from workers.readings.record import DeviceRecord

HEAD = re.compile(r"^[ \t]*\| NVIDIA-SMI +\S+ .*\|[ \t]*\r?$", re.MULTILINE)
VERSIONS = {
    "driver_version": re.compile(r"(?:Driver|KMD) Version: *(\d[\d.]*)"),
    "cuda_version": re.compile(r"CUDA (?:UMD )?Version: *(\d[\d.]*)"),
}
RULE = re.compile(r"\+[-=+]+\+")
BELOW_HEADER = re.compile(r"\|[=+]+\|")

NAME = re.compile(r" *(\d+) +(\S.*?) +(On|Off|N/A|WDDM|TCC|MCDM) *")
BUS = re.compile(r" *([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\b.*")
STATE = re.compile(r" *(\S+) +(\S+) +(\S+) +(\S+) */ *(\S+) *")
MEMORY = re.compile(r" *(\S+) */ *(\S+) *")
LOAD = re.compile(r" *(\S+) +(\S.*?) *")
MIG_PLACE = re.compile(r" *(\d+) +(\d+) +(\d+) +(\d+) *")
PROCESS = re.compile(
    r" *(\d+) +(?:(N/A|\d+) +(N/A|\d+) +)?(\d+) +[A-Z](?:\+[A-Z])? .*|"
    r" *(?P<silent>\d+) +Not Supported *"
)

ROOM_ABOVE = 1000
"""Characters above a table's head that its time is looked for in: four lines, as wide as terminals are."""

COMPUTE_MODES = {"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"}
"""Words that the table shortens."""


MIG_TITLE, PROCESSES_TITLE = "MIG devices", "Processes"
TITLE = re.compile(rf"\| ({MIG_TITLE}|{PROCESSES_TITLE}): .*\|")


class Process(NamedTuple):
    """A process: its GPU, its GPU and compute instance, and its id; None for a GPU that does not tell its processes."""

    gpu: int
    place: tuple[int | None, int | None]
    pid: int | None


class Table(NamedTuple):
    """The lines of one output, by part; lists that are not there, or may go on beyond the text's end, are None."""

    fields: dict[str, str]
    gpus: list[list[str]]
    instances: list[list[str]] | None
    processes: list[Process] | None


def recognises(text: str) -> bool:
    """Say whether a text holds such a table."""
    return HEAD.search(text) is not None and not is_capture(text)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs and MIG instances, with a reading a table; a GPU whose lines are cut is left out.

    Raises:
        UnreadableError: the text ends before the first GPU is complete.
    """
    heads = [match.start() for match in HEAD.finditer(text)]
    parts = [text[start:end] for start, end in zip(heads, [*heads[1:], len(text)], strict=True)]
    found = united(
        _records(_table(part, _time_before(text[max(0, start - ROOM_ABOVE) : start])))
        for start, part in zip(heads, parts, strict=True)
    )
    if not found:
        raise UnreadableError(
            f"line {len(text.splitlines())}: the table ends before its first GPU is complete"
        )
    return found


def _time_before(text: str) -> str:
    """Return the time that stands right above a table, or nothing."""
    lines = [line.strip() for line in text.splitlines()[-4:]]
    return next((line for line in reversed(lines) if CTIME.fullmatch(line)), "")


def _table(text: str, time: str) -> Table:
    lines = [line.strip() for line in text.splitlines()]
    fields = {
        name: match[1]
        for name, pattern in VERSIONS.items()
        if (match := pattern.search(lines[0])) is not None
    }
    parts = list(_parts(lines))
    ended = {title: rows for title, rows in parts[:-1] if title == MIG_TITLE}
    listed = {title: rows for title, rows in parts if title == PROCESSES_TITLE and rows}
    return Table(
        {**fields, "timestamp": time},
        [row for title, rows in parts if title is None for row in rows],
        ended.get(MIG_TITLE),
        _processes(listed[PROCESSES_TITLE]) if listed else None,
    )


def _parts(lines: list[str]) -> Iterator[tuple[str | None, list[list[str]]]]:
    """Return the title of each table, None for that of GPUs, and its rows: the lines up to the next rule."""
    for framed, block in groupby(lines, lambda line: line[:1] in ("|", "+")):
        if not framed:
            continue
        title: str | None = None
        rows: list[list[str]] = []
        row: list[str] = []
        inside = False
        for line in block:
            if match := TITLE.fullmatch(line):
                title = match[1]
            elif RULE.fullmatch(line):
                rows += [row] if row else []
                row = []
            elif inside and line.endswith("|"):
                row.append(line)
            inside = inside or BELOW_HEADER.fullmatch(line) is not None
        yield title, rows


def _cells(line: str) -> list[str]:
    return line[1:-1].split("|")


def _records(table: Table) -> list[DeviceRecord]:
    records: list[DeviceRecord] = []
    for row in table.gpus:
        fields = {**table.fields, **_gpu(row)}
        number = whole(fields.get("index"))
        if number is not None:
            records += devices(fields, _pids(table.processes, number), _instances(table, number))
    return records


def _gpu(row: list[str]) -> dict[str, str]:
    """Return the fields of a GPU's lines; a cell that is not understood tells nothing."""
    lines = [_cells(line) for line in row]
    if len(lines) < 2 or any(len(cells) != 3 for cells in lines):
        return {}
    fields: dict[str, str] = {}
    (names, bus, errors), (state, memory, load), *more = lines
    if match := NAME.fullmatch(names):
        fields |= {"index": match[1], "persistence_mode": match[3] if match[3] in ("On", "Off") else ""}
        fields["name"] = "" if match[2].endswith("...") else match[2]
    if match := BUS.fullmatch(bus):
        fields["pci.bus_id"] = match[1]
    fields |= _errors(errors) | _state(state) | _memory(memory)
    if match := LOAD.fullmatch(load):
        fields |= {"utilization.gpu": match[1], "compute_mode": COMPUTE_MODES.get(match[2], match[2])}
    if more:
        fields["mig.mode.current"] = more[0][2].strip().rstrip("*")
    return fields


def _errors(cell: str) -> dict[str, str]:
    """Return the uncorrected errors since the driver was loaded, or whether errors are corrected at all."""
    word = cell.strip()
    if word in ("On", "Off"):
        return {"ecc.mode.current": word}
    return {"ecc.errors.uncorrected.volatile.total": word}


def _state(cell: str) -> dict[str, str]:
    match = STATE.fullmatch(cell)
    if match is None:
        return {}
    fan, temperature, _, draw, limit = match.groups()
    return {
        "fan.speed": fan,
        "temperature.gpu": temperature,
        "power.draw": draw,
        "enforced.power.limit": limit,
    }


def _memory(cell: str) -> dict[str, str]:
    match = MEMORY.fullmatch(cell)
    return {} if match is None else {"memory.used": match[1], "memory.total": match[2]}


def _instances(table: Table, gpu: int) -> list[Instance] | None:
    if table.instances is None:
        return None
    return [
        instance
        for row in table.instances
        if (instance := _instance(_cells(row[0]), table.processes, gpu)) is not None
    ]


def _instance(cells: list[str], processes: list[Process] | None, gpu: int) -> Instance | None:
    """Return a MIG device of this GPU; the third cell holds its multiprocessors and errors."""
    match = MIG_PLACE.fullmatch(cells[0])
    if match is None or int(match[1]) != gpu or len(cells) < 3:
        return None
    place = (int(match[2]), int(match[3]))
    cores = cells[2].split()
    return Instance(
        number=int(match[4]),
        gpu_instance=place[0],
        compute_instance=place[1],
        fields={**_memory(cells[1]), "multiprocessor_count": cores[0] if cores else ""},
        pids=_pids([process for process in processes or () if process.place == place], gpu)
        if processes is not None
        else None,
    )


def _processes(rows: list[list[str]]) -> list[Process] | None:
    """Return the processes; None where a line is not understood, as the list would lack one."""
    found = []
    for line in (line for row in rows for line in row):
        inner = line[1:-1]
        match = PROCESS.fullmatch(inner)
        if match is not None and match["silent"]:
            found.append(Process(int(match["silent"]), (None, None), None))
        elif match is not None:
            place = (whole(told(match[2])), whole(told(match[3])))
            found.append(Process(int(match[1]), place, int(match[4])))
        elif "No running processes found" not in inner:
            return None
    return found


def _pids(processes: list[Process] | None, gpu: int) -> list[int] | None:
    here = [process.pid for process in processes or () if process.gpu == gpu]
    if processes is None or None in here:
        return None
    return sorted({pid for pid in here if pid is not None})


TABLE = Reader(TOOL, "table", recognises, read)
