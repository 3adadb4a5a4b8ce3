"""`nvidia-smi dmon` and `nvidia-smi pmon`: columns under two lines of names and units that come again and again.

dmon prints a line a GPU and moment, pmon a line a process. Which columns there are follows from `-s`; `-o DT` puts date
and time before them. A value that a GPU has not is `-`. The names are those of nvidia-smi(1), "Device Monitoring" and
"Process Monitoring": `sm` and `mem` are what the other forms call GPU and memory utilization, `pclk` is the clock of
the processors, `pci` the packets sent again; `MB` of memory are MiB. Counts of memory errors are over the device's
life, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from workers.readings.nvidia.products import KIND, device_class
from workers.readings.nvidia.smi import MISSING, TOOL, WHOLE, is_capture
from workers.readings.quantities import quantity, valid_time
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts, tick

NAMES = re.compile(r"[ \t]*#[ \t]*(?:Date[\s,]+)?(?:Time[\s,]+)?gpu[\s,].*", re.IGNORECASE)
UNITS = re.compile(r"[ \t]*#.*\bIdx\b.*")
COLUMNS = {
    "pwr": "power_w",
    "gtemp": "temp_c",
    "temp": "temp_c",
    "mtemp": "mem_temp_c",
    "sm": "util",
    "mem": "mem_util",
    "mclk": "mem_clock_hz",
    "pclk": "sm_clock_hz",
    "fb": "mem_used_b",
    "pci": "pcie_replays",
    "rxpci": "pcie_rx_b_s",
    "txpci": "pcie_tx_b_s",
}
"""dmon's columns that are readings of the whole GPU."""

PLAIN_UNITS = {"mb": "MiB", "mb/s": "MB", "errs": "", "#": ""}
"""Units that mean something else than they say, or stand for a count."""


Moment = tuple[str | None, str | None]
"""Date and time as they are printed."""


class Line(NamedTuple):
    """Values by column, and the unit of each column."""

    values: dict[str, str]
    units: dict[str, str]


def _of_processes(text: str) -> set[bool]:
    """Return of each pair of header lines whether it is pmon's; nothing where the text is none of both forms."""
    return {
        "pid" in _words(names)
        for names, units in pairwise(text.splitlines())
        if NAMES.fullmatch(names) and UNITS.fullmatch(units)
    }


def recognises_devices(text: str) -> bool:
    """Say whether a text has dmon's lines."""
    return False in _of_processes(text) and not is_capture(text)


def recognises_processes(text: str) -> bool:
    """Say whether a text has pmon's lines."""
    return True in _of_processes(text) and not is_capture(text)


def read_devices(text: str) -> list[DeviceRecord]:
    """Return the GPUs with a reading a line; the last value of a line without an end may be cut and is left out."""
    readings: dict[int, list[Tick]] = {}
    for line in _lines(text):
        index = line.values.get("gpu", "")
        if index.isdecimal():
            readings.setdefault(int(index), []).append(_reading(line))
    return [_record(index, ticks) for index, ticks in sorted(readings.items())]


def read_processes(text: str) -> list[DeviceRecord]:
    """Return the GPUs with a reading a round: the ids of all processes of it.

    Rounds have no mark of their own unless times are printed; one begins where ids no longer rise. A last round that
    the end of the text may cut is left out.
    """
    rounds: dict[int, list[Round]] = {}
    last = None
    for line in _lines(text):
        index, pid = line.values.get("gpu", ""), line.values.get("pid", "")
        if not index.isdecimal() or not (pid.isdecimal() or pid == "-"):
            continue
        last = int(index)
        known = rounds.setdefault(last, [])
        moment = (line.values.get("date"), line.values.get("time"))
        if not known or not known[-1].takes(pid, moment):
            known.append(Round([], moment, _time(line)))
        known[-1].pids.extend([int(pid)] if pid != "-" else [])
    if last is not None and not text.endswith(("\n", "\r")):
        rounds[last].pop()
    return [_record(index, [each.reading() for each in known]) for index, known in sorted(rounds.items())]


class Round(NamedTuple):
    """The processes of one GPU at one moment."""

    pids: list[int]
    moment: Moment
    time: str | None

    def takes(self, pid: str, moment: Moment) -> bool:
        """Say whether a process belongs to this round, and not to one after it."""
        return pid != "-" and moment == self.moment and bool(self.pids) and int(pid) > self.pids[-1]

    def reading(self) -> Tick:
        """Return the round as a reading."""
        return tick(foreign_pids=list(self.pids), time=self.time)


def _words(line: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", line.strip().lstrip("#").lower()) if word]


def _lines(text: str) -> Iterator[Line]:
    lines = text.splitlines()
    names: list[str] = []
    units: list[str] = []
    for number, line in enumerate(lines, 1):
        if NAMES.fullmatch(line):
            names = _words(line)
        elif UNITS.fullmatch(line):
            units = _words(line)
        elif names and not line.lstrip().startswith("#"):
            values = re.split(r"[\s,]+", line.strip(), maxsplit=len(names) - 1)
            if number == len(lines) and not text.endswith(("\n", "\r")):
                values = values[:-1]
            yield Line(dict(zip(names, values, strict=False)), dict(zip(names, units, strict=False)))


def _reading(line: Line) -> Tick:
    readings = {
        reading: _amount(reading, line.values.get(column, ""), line.units.get(column, ""))
        for column, reading in COLUMNS.items()
        if column in line.values
    }
    return tick(**readings, time=_time(line))


def _amount(reading: str, value: str, unit: str) -> float | int | None:
    if value.lower() in MISSING:
        return None
    number = quantity(value, unit=PLAIN_UNITS.get(unit, unit))
    return round(number) if number is not None and reading.endswith(WHOLE) else number


def _time(line: Line) -> str | None:
    """Return date and time; one without the other is no moment."""
    date, clock = line.values.get("date", ""), line.values.get("time", "")
    match = re.fullmatch(r"(\d{4})[-/]?(\d\d)[-/]?(\d\d)", date)
    if match is None or not re.fullmatch(r"\d\d:\d\d:\d\d", clock):
        return None
    return valid_time(f"{match[1]}-{match[2]}-{match[3]}T{clock}")


def _record(index: int, readings: list[Tick]) -> DeviceRecord:
    return DeviceRecord(KIND, device_class(None, None), facts(index=index), tuple(readings))


DEVICES = Reader(TOOL, "dmon", recognises_devices, read_devices)
PROCESSES = Reader(TOOL, "pmon", recognises_processes, read_processes)
