"""Base and head as CSV: columns `benchmark`, `side`, `block`, `value`; one row a value.

What `ratchet compare` reads. docs/detect-and-compare.md describes it for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from app.formats.csv_columns import BadChunkError, CsvFile
from app.formats.csv_numbers import number_column, number_fault
from app.formats.problems import shown

COLUMNS = ("benchmark", "side", "block", "value")

SIDES = ("base", "head")


@dataclass(frozen=True, eq=False)
class SideValues:
    """The values of one benchmark, (block, value) in the order of the file; a blank block is None.

    No block comes twice on a side. Either side may be empty.
    """

    base: list[tuple[str | None, float]] = field(default_factory=list)
    head: list[tuple[str | None, float]] = field(default_factory=list)


def read_comparison(data: bytes, name: str) -> dict[str, SideValues]:
    """Return the values of each benchmark of a CSV file, in the order of their first rows.

    Args:
        data: the file's bytes.
        name: what messages call the file.

    Raises:
        DataError: the file is not readable as such, or has bad rows: the message lists them by line.
    """
    return CsvFile(data, name, COLUMNS).read(_read_columns, _bad_rows)


def _read_columns(file: CsvFile) -> dict[str, SideValues]:
    sides: dict[tuple[str, str], list[tuple[str | None, float]]] = {}
    benchmarks: dict[str, SideValues] = {}
    blocks: dict[str, str | None] = {}
    for names, side_column, block_column, numerals in file.chunks():
        for name in dict.fromkeys(names):
            if name not in benchmarks:
                new = benchmarks[name] = SideValues()
                sides[name, "base"], sides[name, "head"] = new.base, new.head
        for block in dict.fromkeys(block_column):
            blocks.setdefault(block, block if block.strip() else None)
        values = number_column(numerals).tolist()
        try:
            for name, side, block, value in zip(names, side_column, block_column, values, strict=True):
                sides[name, side].append((blocks[block], value))
        except KeyError as error:
            raise BadChunkError from error
    if not all(map(str.strip, benchmarks)) or any(map(_has_block_twice, sides.values())):
        raise BadChunkError
    return benchmarks


def _has_block_twice(values: list[tuple[str | None, float]]) -> bool:
    blocks = [block for block, _ in values if block is not None]
    return len(set(blocks)) < len(blocks)


def _bad_rows(file: CsvFile) -> Iterator[tuple[int, str]]:
    first: dict[tuple[str, str, str], int] = {}
    for line, row in file.rows():
        if isinstance(row, str):
            yield line, row
            continue
        name, side, block, value = row
        earlier = first.setdefault((name, side, block), line) if block.strip() else line
        faults = [
            "" if name.strip() else "benchmark is empty; write its name",
            "" if side in SIDES else f"side is {shown(side)}; write base or head",
            "" if earlier == line else _twice(block, side, earlier),
            number_fault("value", value),
        ]
        if told := ", and ".join(filter(None, faults)):
            yield line, told


def _twice(block: str, side: str, earlier: int) -> str:
    return f"block {shown(block)} has a value of {side} in line {earlier} already; give each pair a block of its own"
