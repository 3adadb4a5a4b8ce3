"""Columns of a CSV file: whole chunks at a time, and row by row where something in the file is wrong.

A file of a million rows is read in about a second as long as every row is right: blocks of text without quotes are
split at once, others by the csv module, and a column of a chunk is converted in one go. Only a file with a fault is
read a second time by `rows`, which counts lines and says what is wrong with each. All take the same rows for right, so
that the second reading finds what stopped the first.

The format is RFC 4180's with a header: columns in any order, other columns ignored, LF, CRLF or CR, UTF-8 with or
without a byte order mark, empty lines skipped.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from app.domain.errors import DataError
from app.formats.problems import shown

if TYPE_CHECKING:
    from _csv import Reader

CHUNK_ROWS = 1 << 15
CHUNK_B = 1 << 20
"""Rows, and bytes where nothing is quoted, that are converted together: so many that the loop around them costs
nothing, and so few that the fields as Python objects take little memory."""

MAX_LISTED = 50
"""Bad rows that are listed; the others are counted."""

_OTHER_SEPARATORS = re.compile(r"[;\t|]")
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


Content = TypeVar("Content")

Columns = tuple[Sequence[str], ...]
"""Fields of the wanted columns, all of one length."""


class BadChunkError(Exception):
    """A chunk holds a row that is not right. Which one and why is for the reading row by row to find."""


class CsvFile:
    """A CSV file in memory.

    Args:
        data: the file's bytes.
        name: what messages call it.
        wanted: the columns that are read; `chunks` and `rows` return them in this order.

    Raises:
        DataError: the file is empty, not UTF-8, holds a NUL byte, or its header lacks a wanted column.
    """

    def __init__(self, data: bytes, name: str, wanted: Sequence[str]) -> None:
        _refuse_unreadable(data, name)
        self._data, self._name, self._wanted = data, name, tuple(wanted)
        self._header = self._read_header()
        self._places = [self._header.index(column) for column in self._wanted]

    def read(
        self, columns: Callable[[CsvFile], Content], bad_rows: Callable[[CsvFile], Iterator[tuple[int, str]]]
    ) -> Content:
        """Return what `columns` makes of the file's chunks.

        Raises:
            DataError: a chunk has a bad row; the message lists what `bad_rows` says, by line.
        """
        try:
            return columns(self)
        except BadChunkError:
            raise self.refusal(bad_rows(self)) from None

    def chunks(self) -> Iterator[Columns]:
        """Yield the wanted columns of some thousand rows at a time.

        Raises:
            BadChunkError: a row has too few or too many fields, or is no CSV.
        """
        if b'"' in self._data or self._data.count(b"\r") != self._data.count(b"\r\n"):
            yield from self._columns(self._reader_behind_header())
            return
        for block in _blocks(self._data):
            text = block.decode().replace("\r\n", "\n").removesuffix("\n")
            columns = self._split(text)
            yield from [columns] if columns else self._columns(_reader(block))

    def _split(self, text: str) -> Columns | None:
        """Return the wanted columns of rows without quotes and lone CR; None where it is not as many fields each."""
        n_columns = len(self._header)
        fields = text.replace("\n", "\n,").split(",")
        columns = [fields[place::n_columns] for place in self._places]
        # Every field that ended a line still ends in its newline. If those are in the last column, all of them and one
        # in every row but the last, then every line had a field for each column and no more.
        lasts = "".join(fields[n_columns - 1 :: n_columns]).split("\n")
        if len(fields) != n_columns * len(lasts) or text.count("\n") != len(lasts) - 1:
            return None
        return tuple(lasts if p == n_columns - 1 else c for p, c in zip(self._places, columns, strict=True))

    def _columns(self, reader: Reader) -> Iterator[Columns]:
        pick = itemgetter(*self._places)
        try:
            while chunk := list(islice(reader, CHUNK_ROWS)):
                if filled := self._filled(chunk):
                    yield tuple(zip(*map(pick, filled), strict=True))
        except csv.Error as error:
            raise BadChunkError from error

    def rows(self) -> Iterator[tuple[int, tuple[str, ...] | str]]:
        """Yield for each row its first line, counted from 1, and its wanted fields or what is wrong with it."""
        reader = self._reader_behind_header()
        while True:
            line = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                yield line, _broken(error)
                continue
            if row is None:
                return
            if row:
                yield line, self._fault(row) or tuple(row[place] for place in self._places)

    def refusal(self, problems: Iterator[tuple[int, str]]) -> DataError:
        """Return the error that lists bad rows, each with its line and what is wrong with it."""
        told = [f"  line {line}: {problem}" for line, problem in islice(problems, MAX_LISTED)]
        n_bad = len(told) + sum(1 for _ in problems)
        if n_bad > len(told):
            told.append(f"  and {n_bad - len(told)} more")
        count = "1 bad row" if n_bad == 1 else f"{n_bad} bad rows"
        return DataError("\n".join([f"{count} in {self._name}; nothing was judged", *told]), code="bad_rows")

    def _reader_behind_header(self) -> Reader:
        reader = _reader(self._data)
        _first_row(reader)
        return reader

    def _read_header(self) -> list[str]:
        try:
            header = [field.strip() for field in _first_row(_reader(self._data))]
        except csv.Error as error:
            raise self._bad_header(f"{_broken(error)} in the header") from error
        if not header:
            raise DataError(f"{self._name} is empty; it must begin with {self._right_header}", code="empty")
        for column in self._wanted:
            if header.count(column) > 1:
                raise self._bad_header(f"the header has the column {column} more than once; keep one of them")
            if column not in header:
                raise self._bad_header(self._lack(header, column))
        return header

    def _lack(self, header: Sequence[str], column: str) -> str:
        """Return what to do about a header without a wanted column."""
        found = f"the header is {shown(','.join(header))}"
        separator = _OTHER_SEPARATORS.search(header[0]) if len(header) == 1 else None
        if separator:
            return f"{found}; separate columns by commas, not by {shown(separator.group())}"
        return f"{found}, without the column {column}; it must have {self._right_header}, in any order"

    def _bad_header(self, problem: str) -> DataError:
        return DataError(f"{self._name}: {problem}", code="bad_header")

    @property
    def _right_header(self) -> str:
        return ",".join(self._wanted)

    def _filled(self, chunk: list[list[str]]) -> list[list[str]]:
        """Return the rows of a chunk without the empty ones."""
        if set(map(len, chunk)) == {len(self._header)}:
            return chunk
        filled = [row for row in chunk if row]
        if any(map(self._fault, filled)):
            raise BadChunkError
        return filled

    def _fault(self, row: list[str]) -> str:
        """Return what is wrong with the number of a row's fields, or nothing."""
        missing = [name for name, place in zip(self._wanted, self._places, strict=True) if place >= len(row)]
        if missing:
            return f"{_fields(row)} and none for {' and '.join(missing)}; each column of the header needs one"
        if any(row[len(self._header) :]):
            what = f"{_fields(row)} for {len(self._header)} columns"
            return f"{what}; put a name with commas in quotes, and write a number with a decimal point"
        return ""


def _refuse_unreadable(data: bytes, name: str) -> None:
    if data.startswith(_UTF_16_MARKS):
        raise DataError(f"{name} is UTF-16; save it as UTF-8", code="not_utf_8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"{name}, line {_line_at(data, error.start)}"
        raise DataError(
            f"{where}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8", code="not_utf_8"
        ) from None
    if (place := data.find(b"\0")) >= 0:
        where = f"{name}, line {_line_at(data, place)}"
        raise DataError(f"{where}: a NUL byte, which no CSV file has; is it a binary file?", code="nul_byte")


def _line_at(data: bytes, place: int) -> int:
    return data.count(b"\n", 0, place) + 1


def _blocks(data: bytes) -> Iterator[bytes]:
    """Yield what follows the header, in blocks of whole lines; nothing is quoted, and lines end in LF or CRLF."""
    start = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
    while data[start : start + 1] in (b"\r", b"\n"):
        start += 1
    start = data.find(b"\n", start) + 1 or len(data)
    while start < len(data):
        end = data.find(b"\n", start + CHUNK_B) + 1 or len(data)
        yield data[start:end]
        start = end


def _reader(data: bytes) -> Reader:
    """Return a reader of rows that decodes as it goes, so that the text is never in memory as a whole."""
    csv.field_size_limit(max(len(data), csv.field_size_limit()))  # the file is in memory already
    return csv.reader(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline=""), strict=True)


def _first_row(reader: Reader) -> list[str]:
    return next((row for row in reader if row), [])


def _broken(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quote is opened and never closed"
    return f"no CSV ({error}); put a name in quotes as a whole, and double the quotes within it"


def _fields(row: Sequence[str]) -> str:
    return "1 field" if len(row) == 1 else f"{len(row)} fields"
