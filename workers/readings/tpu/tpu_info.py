"""Google's `tpu-info`: what it prints about the TPU chips of a host.

Source: the tool's README and source, versions 0.1 to 0.14 and the dashboard after that
(github.com/AI-Hypercomputer/cloud-accelerator-diagnostics), and its page in the Cloud TPU documentation. The tables
are of box lines up to 0.8, markdown from 0.9 and `+--+` in the dashboard; columns were renamed more than once.

One record is one chip. Which rows of the other tables are about it is said in `tpu.spread`. An output without
the table of chips has as many as it tells otherwise; where it tells neither their number nor their generation, every
row stands for itself.

`util` is the duty cycle, the share of time with work; `tensor_active` the TensorCores' utilisation; `dram_active` the
used share of the memory's bandwidth. GiB are meant as written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from workers.readings.grids import Grid, grids
from workers.readings.quantities import quantity, whole
from workers.readings.reader import Reader
from workers.readings.record import DeviceRecord, Tick, facts
from workers.readings.tpu.chips import (
    DEVICES,
    KIND,
    Chip,
    Column,
    Moment,
    Row,
    cores,
    device_class,
    generation,
    spread,
)

TOOL = "tpu-info"

SCREEN = re.compile(r"\x1b\[(?:\d*;?\d*H|2J)")
CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^_=>])")
TITLES = re.compile(
    r"^[ \t]*(?:TPU Chips|TPU (?:Runtime |Chip )?Utilization|TPU Process (?:Info|Monitor)|TPU Duty Cycle|TPU HBM Usage"
    r"|TPU Device Status|TPU Runtime HBM Utilization|TensorCore Utilization)[ \t]*\r?$",
    re.MULTILINE,
)
HEAD = re.compile(r"^[^\w\n]*libtpu version:", re.MULTILINE | re.IGNORECASE)
ACCELERATOR = re.compile(r"accelerator type:|TPU Topology:", re.IGNORECASE)
HEAD_LINE = re.compile(r"\W*(?:refresh rate|last update|(?:libtpu|tpu-info) version)\s*:", re.IGNORECASE)
NO_CHIPS = re.compile(r"^No TPU chips found\.\s*$", re.MULTILINE)

LIBTPU = re.compile(r"libtpu version:[ \t]*(\S[^\n|]*?)[ \t]*(?:\||\s{2,}|\r?\n)", re.IGNORECASE)
TYPE_LINE = re.compile(r"accelerator type:[ \t]*(\S[^\n|]*?)[ \t]*(?:\||\r?\n)", re.IGNORECASE)
TOPOLOGY = re.compile(r"TPU Topology:[ \t]*(\d+)x(\w+)[\s|]", re.IGNORECASE)
BOUNDS = re.compile(r"TPU Topology:[ \t]*(\d+(?:,\d+)+)[\s|]", re.IGNORECASE)
MOMENT = re.compile(r"(?:Last update|Timestamp):[ \t]*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[ \t]*(UTC|Z)?")

PATH = re.compile(r"/dev/(?:accel|vfio/)(\d+)")
PIDS = re.compile(r"\d+(?:\s*,\s*\d+)*")
MEMORY = re.compile(r"([\d.]+\s*(?:[KMGT]iB)?)\s*/\s*([\d.]+\s*(?:[KMGT]iB)?)\s*(?:\([\d.]+\s*%\))?")
PERCENT = re.compile(r"(?:\[[|. ]*\]\s*)?(\d+(?:\.\d+)?\s*%?)")
HEADER_UNIT = re.compile(r"\(\s*([KMGT]iB|%)\s*\)", re.IGNORECASE)

CHIP_COLUMN = re.compile(r"chip|device(?: path / vfio path)?|(?:device|chip) path", re.IGNORECASE)
TYPE_COLUMN = re.compile(r"type", re.IGNORECASE)
COUNT_COLUMN = re.compile(r"devices|cores", re.IGNORECASE)
PID_COLUMN = re.compile(r"pids?", re.IGNORECASE)
MEMORY_COLUMN = re.compile(r"(?:hbm|memory) usage\b.*", re.IGNORECASE)
DUTY_COLUMN = re.compile(r"(?:tensorcore )?duty cycle\b.*", re.IGNORECASE)
TENSOR_COLUMN = re.compile(r"tensorcore utilization\b.*", re.IGNORECASE)
BANDWIDTH_COLUMN = re.compile(r"hbm bandwidth util.*", re.IGNORECASE)
SHARE_COLUMN = re.compile(r"utilization\b.*", re.IGNORECASE)


def recognises(text: str) -> bool:
    """Return whether a text is what tpu-info prints."""
    plain = CONTROL.sub("", text)
    if NO_CHIPS.search(plain) or (HEAD.search(plain) and ACCELERATOR.search(plain)):
        return True
    return any(TITLES.fullmatch(grid.title) for grid in grids(plain)) if TITLES.search(plain) else False


def read(text: str) -> list[DeviceRecord]:
    """Return one record a chip; the refreshes of streaming mode, and outputs after each other, are its readings."""
    seen: dict[int, _Known] = {}
    for moment in moments(text):
        for chip, reading in zip(moment.chips, moment.readings(), strict=True):
            known = seen.setdefault(chip.number, _Known(chip))
            known.add(chip, reading, moment.runtime)
    return [seen[index].record() for index in sorted(seen)]


def moments(text: str) -> list[Moment]:
    """Return what every output or refresh in a text tells, in its order."""
    screens = [plain for screen in SCREEN.split(text) if (plain := CONTROL.sub("", screen)).strip()]
    drawn = [screen for place, screen in enumerate(screens) if screen not in screens[place - 1 : place]]
    told: list[Moment] = []
    for moment in (_moment(part) for screen in drawn for part in _outputs(screen)):
        if moment.time is None or moment.time not in [earlier.time for earlier in told[-1:]]:
            told.append(moment)  # a screen is drawn more often than its numbers change
    return told


def _outputs(text: str) -> list[str]:
    """Return the outputs that follow each other: one ends where a title comes again, or a head after a title."""
    lines, starts, seen = text.splitlines(keepends=True), [0], set[str]()
    for number, line in enumerate(lines):
        title = line.strip() if TITLES.match(line) else None
        if title in seen or (seen and HEAD_LINE.match(line)):
            starts.append(number)
            seen = set()
        if title is not None:
            seen.add(title)
    return ["".join(lines[start:end]) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _moment(text: str) -> Moment:
    tables = [grid for grid in grids(text) if TITLES.fullmatch(grid.title)]
    moment = Moment(runtime=_runtime(text), time=_time(text))
    for grid in tables:
        _add_rows(moment, grid)
    moment.chips = _listed(tables) or _counted(moment, tables, text)
    return moment


def _runtime(text: str) -> str | None:
    match = LIBTPU.search(text)
    return match[1] if match and not match[1].lower().startswith(("unknown", "n/a", "missing")) else None


def _time(text: str) -> str | None:
    match = MOMENT.search(text)
    return f"{match[1]}T{match[2]}{'+00:00' if match[3] else ''}" if match else None


def _add_rows(moment: Moment, grid: Grid) -> None:
    """Put a table's lines where they belong; which table it is, is told by its columns."""
    rows = folded(grid)
    memory, duty = grid.column(MEMORY_COLUMN), grid.column(DUTY_COLUMN)
    tensor, bandwidth = grid.column(TENSOR_COLUMN), grid.column(BANDWIDTH_COLUMN)
    if bandwidth is None and grid.title == "TPU Runtime HBM Utilization":
        bandwidth = grid.column(SHARE_COLUMN)
    if memory is not None:
        unit = _unit(grid, memory)
        moment.memory = Column([_memory(row[memory], unit) for row in rows], grid.closed)
    if duty is not None:
        moment.duty, moment.duty_by_chip = _shares(grid, rows, duty), memory is None
    if tensor is not None:
        moment.tensor = _shares(grid, rows, tensor)
    if bandwidth is not None:
        moment.bandwidth = _shares(grid, rows, bandwidth)


def _shares(grid: Grid, rows: Sequence[Sequence[str]], place: int) -> Column:
    unit = _unit(grid, place)
    return Column([_share(row[place], unit) for row in rows], grid.closed)


def _unit(grid: Grid, column: int) -> str:
    """Return the unit that a column's name tells for those of its numbers that have none; `?`, which is none."""
    match = HEADER_UNIT.search(grid.columns[column])
    return match[1] if match else "?"


def folded(grid: Grid) -> list[list[str]]:
    """Return a table's rows, each as one line: text that was too wide goes on below an empty first cell."""
    rows: list[list[str]] = []
    for row in grid.rows:
        if rows and not row[0]:
            rows[-1] = [" ".join(filter(None, cells)) for cells in zip(rows[-1], row, strict=True)]
        else:
            rows.append(list(row))
    return rows


def _memory(cell: str, unit: str) -> Row:
    match = MEMORY.fullmatch(cell)
    return Row(whole(match[1], unit=unit), whole(match[2], unit=unit)) if match else Row()


def _share(cell: str, unit: str) -> Row:
    match = PERCENT.fullmatch(cell)
    share = quantity(match[1], unit=unit) if match else None
    return Row(share=share if share is not None and share <= 1 else None, blank=not cell)


def _listed(tables: Sequence[Grid]) -> list[Chip]:
    """Return the chips of the table that lists them with their device files."""
    for grid in tables:
        path, pid = grid.column(CHIP_COLUMN), grid.column(PID_COLUMN)
        if path is not None and pid is not None and "Monitor" not in grid.title:
            chips = [_chip(grid, row, path, pid) for row in folded(grid)]
            return sorted((chip for chip in chips if chip is not None), key=lambda chip: chip.number)
    return []


def _chip(grid: Grid, row: Sequence[str], path: int, pid: int) -> Chip | None:
    match = PATH.fullmatch(row[path])
    if match is None:
        return None
    type_at, count_at = grid.column(TYPE_COLUMN), grid.column(COUNT_COLUMN)
    model = None if type_at is None else row[type_at] or None
    count = None if count_at is None else whole(row[count_at])
    name = generation(model)
    return Chip(int(match[1]), count or DEVICES.get(name or "", 1), _pids(row[pid]), model, name)


def _pids(cell: str) -> tuple[int, ...] | None:
    """Return the processes of a cell; None where it names none, as the tool sees only what its user may see."""
    return tuple(sorted(map(int, re.findall(r"\d+", cell)))) if PIDS.fullmatch(cell) else None


def _counted(moment: Moment, tables: Sequence[Grid], text: str) -> list[Chip]:
    """Return the chips of an output without a list of them.

    As many as it tells, or as the rows of a table that has one for every chip or for every device of a chip of this
    generation; where it tells no generation either, every row stands for itself.
    """
    columns = (moment.memory, moment.duty, moment.bandwidth)
    rows = max(len(column.rows) for column in columns) or len(moment.tensor.rows)
    count, name = _topology(text)
    if count is None and moment.duty_by_chip and moment.duty.whole:
        count = len(moment.duty.rows)
    devices = DEVICES.get(name or "") or (rows // count if count and rows % count == 0 else 1)
    chips = [Chip(place, devices, generation=name) for place in range(count or rows // devices)]
    holders = spread(_monitored(tables), chips)
    return [chip._replace(pids=_joined(rows)) for chip, rows in zip(chips, holders, strict=True)]


def _topology(text: str) -> tuple[int | None, str | None]:
    """Return the number of chips and their generation, as far as the head tells them."""
    match, bounds, line = TOPOLOGY.search(text), BOUNDS.search(text), TYPE_LINE.search(text)
    if match:
        return int(match[1]), generation(match[2])
    count = math.prod(map(int, bounds[1].split(","))) if bounds else None
    return count, generation(line[1]) if line else None


def _monitored(tables: Sequence[Grid]) -> Column:
    """Return who holds each device, of the dashboard's process monitor."""
    for grid in tables:
        pid = grid.column(PID_COLUMN)
        if pid is not None and "Monitor" in grid.title:
            return Column([Row(pids=_pids(row[pid])) for row in folded(grid)], grid.closed)
    return Column()


def _joined(rows: Sequence[Row]) -> tuple[int, ...] | None:
    known = [row.pids for row in rows if row.pids is not None]
    return tuple(sorted({pid for pids in known for pid in pids})) if known else None


@dataclass
class _Known:
    """One chip over all outputs of a text."""

    chip: Chip
    memory_b: int | None = None
    runtime: str | None = None
    readings: list[Tick] = field(default_factory=list)

    def add(self, chip: Chip, reading: tuple[Tick, int | None], runtime: str | None) -> None:
        """Take what one more output tells of the chip."""
        ticked, memory_b = reading
        self.chip = self.chip if self.chip.generation else chip
        self.memory_b = memory_b if self.memory_b is None else self.memory_b
        self.runtime = self.runtime or runtime
        self.readings.append(ticked)

    def record(self) -> DeviceRecord:
        """Return the chip's record."""
        name = self.chip.generation
        known = facts(
            index=self.chip.number,
            model=self.chip.model,
            architecture=name,
            cores=cores(name, self.chip.devices),
            memory_b=self.memory_b,
            runtime=self.runtime,
        )
        return DeviceRecord(KIND, device_class(name), known, tuple(self.readings))


TPU_INFO = Reader(TOOL, "tables", recognises, read)
READERS: tuple[Reader, ...] = (TPU_INFO,)
