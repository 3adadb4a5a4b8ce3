"""Histories as CSV: columns `series`, `x`, `value`; one row a point, each series in its order, rows interleaved or not.

What `ratchet detect` reads. docs/detect-and-compare.md describes it for people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.formats.csv_columns import BadChunkError, CsvFile
from app.formats.csv_numbers import integer_column, integer_fault, number_column, number_fault

COLUMNS = ("series", "x", "value")


@dataclass(frozen=True, eq=False)
class Histories:
    """The series of a file, in the order of their first rows.

    `x` and `values` hold the points of all series one series after the other, shape (n_points,); those of series `i`
    are rows `ends[i - 1]` (0 for the first) to `ends[i]`. `x` ascends within a series, `values` are finite.
    """

    names: tuple[str, ...]
    ends: NDArray[np.int64]
    x: NDArray[np.int64]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Points of each series, shape (n_series,)."""
        return np.diff(self.ends, prepend=0)

    def rows(self, index: int) -> slice:
        """Return where in `x` and `values` a series is."""
        return slice(int(self.ends[index - 1]) if index else 0, int(self.ends[index]))


def read_histories(data: bytes, name: str) -> Histories:
    """Return the series of a CSV file.

    Args:
        data: the file's bytes.
        name: what messages call the file.

    Raises:
        DataError: the file is not readable as such, or has bad rows: the message lists them by line.
    """
    return CsvFile(data, name, COLUMNS).read(_read_columns, _bad_rows)


def _read_columns(file: CsvFile) -> Histories:
    numbers: dict[str, int] = {}
    codes, x, values = [], [], []
    for names, xs, numerals in file.chunks():
        codes.append(_coded(names, numbers))
        x.append(integer_column(xs))
        values.append(number_column(numerals))
    if not all(map(str.strip, numbers)):
        raise BadChunkError
    if not numbers:
        return Histories((), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return _grouped(tuple(numbers), np.concatenate(codes), np.concatenate(x), np.concatenate(values))


def _coded(names: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int64]:
    """Return the number of each name; a new name gets the next one."""
    for name in dict.fromkeys(names):
        numbers.setdefault(name, len(numbers))
    return np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))


def _grouped(
    names: tuple[str, ...], codes: NDArray[np.int64], x: NDArray[np.int64], values: NDArray[np.float64]
) -> Histories:
    if (np.diff(codes) < 0).any():
        order = np.argsort(codes, kind="stable")
        codes, x, values = codes[order], x[order], values[order]
    if ((x[1:] <= x[:-1]) & (codes[1:] == codes[:-1])).any():
        raise BadChunkError
    return Histories(names, np.cumsum(np.bincount(codes, minlength=len(names))), x, values)


def _bad_rows(file: CsvFile) -> Iterator[tuple[int, str]]:
    last: dict[str, tuple[int, int]] = {}
    for line, row in file.rows():
        if isinstance(row, str):
            yield line, row
            continue
        name, x, value = row
        x_fault = integer_fault("x", x)
        faults = [
            "" if name.strip() else "series is empty; write its name",
            x_fault or _order_fault(int(x), last.get(name)),
            number_fault("value", value),
        ]
        if not x_fault:
            last[name] = int(x), line
        if told := ", and ".join(filter(None, faults)):
            yield line, told


def _order_fault(x: int, last: tuple[int, int] | None) -> str:
    if last is None or x > last[0]:
        return ""
    return f"x is {x} after {last[0]} (line {last[1]}); within a series x must ascend, so sort its rows by x"
