"""`nvidia-smi --query-gpu=... --format=csv`: a header of field names, units in brackets; a row a GPU and moment.

The header is needed: with `noheader` nothing says what the numbers are. With `nounits` the units are those of the
header. The names are those of `nvidia-smi --help-query-gpu`; the reasons for a low clock said `throttle` for `event`
before driver 535.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from workers.readings.nvidia.smi import (
    DEFAULT_SM_CLOCK,
    FACT_AMOUNTS,
    READING_AMOUNTS,
    STATES,
    TEXTS,
    TOOL,
    first,
    is_capture,
    iso_time,
    told,
)
from workers.readings.nvidia.smi_devices import devices, joined, united
from workers.readings.reader import AFTERWARDS, Reader, UnreadableError
from workers.readings.record import DeviceRecord

CELL = re.compile(r"([a-z][A-Za-z0-9_.]*)(?: \[([^\]]+)\])?")
FAMILY = re.compile(
    r"(clocks_(event|throttle)_reasons|clocks_event_reasons_counters|ecc\.(errors|mode)|remapped_rows|retired_pages"
    r"|pcie\.link|utilization|temperature|clocks|memory|power|enforced|mig\.mode|fan|encoder|inforom|pci)\..+"
)
"""Fields that are `nvidia-smi --query-gpu`'s by their name."""

KNOWN = {
    *(
        "timestamp",
        "count",
        "pstate",
        "gpu_name",
        "gpu_uuid",
        "gpu_bus_id",
        "gpu_serial",
        "index",
        "compute_cap",
    ),
    *(name for names in (*TEXTS.values(), *STATES.values()) for name in names),
    *(
        name
        for amount in (*FACT_AMOUNTS.values(), *READING_AMOUNTS.values(), DEFAULT_SM_CLOCK)
        for name in amount.names
    ),
}
FOREIGN = re.compile(
    r"pid|process_name|\w+_(instance|utilization)|retired_pages\.(address|timestamp|cause)|module_id|bus_id"
    r"|.*\.(aip|npu)"
)
"""Fields of nvidia-smi's other queries, and of tools that took its form over."""

ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id", "gpu_serial": "serial"}
SURE_END = re.compile(r".*(\]|\d ?(%|MiB|W|MHz|us|ms)|N/A|(En|Dis)abled|Active|Default|-[0-9a-fA-F]{12})")
"""What the last cell of a text that ends within a line shows to be whole: a unit, a bracket, a known word, a uuid."""

IDENTITIES = ("pci.bus_id", "uuid", "index", "serial")
SAME_POLL = timedelta(seconds=0.1)
"""Rows of one poll are milliseconds apart."""


MOST_WARNINGS = 20
"""Lines that may stand before the header; a list of names alone, one a line, is no header."""


class Row(NamedTuple):
    """One GPU at one moment, and the line that it stands in."""

    line: int
    fields: dict[str, str]


def recognises(text: str) -> bool:
    """Say whether a text begins, but for warnings, with such a header."""
    return _header_line(text) is not None and not is_capture(text)


def read(text: str) -> list[DeviceRecord]:
    """Return the GPUs in the order of their first rows, with a reading a row.

    A row that the end of the text cuts is left out; of a last row without a line's end a last value that may be cut.

    Raises:
        UnreadableError: a row has not the cells of the header, or rows cannot be told apart by GPU.
    """
    rows = list(_rows(text))
    records = [devices(row.fields) for row in rows]
    if any(told(row.fields.get(name)) for row in rows for name in IDENTITIES):
        return united(records)
    found = [record for output in records for record in output]
    if len(rows) > 1 and _are_of_a_gpu_each(found):
        return found
    _require_one_gpu(rows)
    return joined(found)


def _header_line(text: str) -> int | None:
    """Return the number of the header's line, from 0; it follows warnings at most."""
    lines = text.splitlines()[: MOST_WARNINGS + 2]
    for number, (line, below) in enumerate(pairwise([*lines, ""])):
        cells = _cells(line)
        if _is_header(cells) and (len(cells) > 1 or (below.strip() and not CELL.fullmatch(below))):
            return number
    return None


def is_header(line: str) -> bool:
    """Say whether a line names several fields of `--query-gpu`."""
    cells = _cells(line)
    return len(cells) > 1 and _is_header(cells)


def _is_header(cells: list[str]) -> bool:
    matches = [CELL.fullmatch(cell) for cell in cells]
    names = [match[1] for match in matches if match is not None]
    if len(names) < len(cells) or any(FOREIGN.fullmatch(name) for name in names):
        return False
    return any(FAMILY.fullmatch(name) for name in names) or sum(name in KNOWN for name in names) > 1


def _is_other_header(cells: list[str]) -> bool:
    """Say whether cells are the header of another query of nvidia-smi's."""
    names = [match[1] for cell in cells if (match := CELL.fullmatch(cell)) is not None]
    return len(names) == len(cells) > 1 and any(FOREIGN.fullmatch(name) for name in names)


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


def _rows(text: str) -> Iterator[Row]:
    lines = text.splitlines()
    header: list[tuple[str, str]] = []
    start = _header_line(text)
    assert start is not None, "read only what is recognised"
    for number, line in enumerate(lines[start:], start + 1):
        cells = _cells(line)
        if number == start + 1 or is_header(line):
            header = [_column(cell) for cell in cells]
            continue
        if not header or AFTERWARDS.fullmatch(line) or _is_other_header(cells):
            header = []
            continue
        unended = number == len(lines) and not text.endswith(("\n", "\r"))
        if unended and cells and not SURE_END.fullmatch(cells[-1]):
            cells = [*cells[:-1], ""] if len(cells) == len(header) else []
        if not any(cells) or (len(cells) == 1 < len(header)) or (unended and len(cells) < len(header)):
            continue
        if len(cells) != len(header):
            raise UnreadableError(
                f"line {number}: {len(cells)} values below a header of {len(header)} fields"
            )
        yield Row(
            number, {name: _value(cell, unit) for (name, unit), cell in zip(header, cells, strict=True)}
        )


def _column(cell: str) -> tuple[str, str]:
    match = CELL.fullmatch(cell)
    assert match is not None
    return ALIASES.get(match[1], match[1]), match[2] or ""


def _value(cell: str, unit: str) -> str:
    """Return a cell with the unit of its column, where it is a bare number."""
    return f"{cell} {unit}" if unit and re.fullmatch(r"-?\d+(\.\d+)?", cell) else cell


def _are_of_a_gpu_each(records: list[DeviceRecord]) -> bool:
    """Say whether rows that name no GPU are of one each: of different products, or without what may change."""
    models = [record.facts["model"] for record in records]
    lasting = {"unavailable", "mode"}
    changing = {
        name for record in records for tick in record.readings for name in tick if tick[name] is not None
    }
    return None not in models and (len(set(models)) == len(models) or changing <= lasting)


def _require_one_gpu(rows: list[Row]) -> None:
    """Raise unless rows that name no GPU are of one: the only one, or rows of different polls."""
    if len(rows) < 2 or all(first(row.fields, ("count",)) == "1" for row in rows):
        return
    times = [iso_time(row.fields.get("timestamp")) for row in rows]
    moments = [datetime.fromisoformat(time) for time in times if time is not None]
    apart = all(later - moment >= SAME_POLL for moment, later in pairwise(moments))
    if len(moments) < len(rows) or not apart:
        raise UnreadableError(
            f"line {rows[1].line}: rows of several GPUs or moments that nothing tells apart; "
            f"expected one of the fields {', '.join(IDENTITIES)}"
        )


CSV = Reader(TOOL, "query-csv", recognises, read)
