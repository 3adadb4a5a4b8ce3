"""What a file holds: one document, or one a line.

Files are JSON, but not strictly so: asv writes NaN, `data.js` is a line of JavaScript, and Ratchet's own documents
come a line each. Those are read one at a time, so that a file of any size takes no more memory than its longest line.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from app.domain.errors import DataError
from app.formats.imported.disguises import HEAD_B, refuse_disguised

_SPACE = re.compile(r"[ \t\r\n]*")
_SCRIPT, _SCRIPT_END = re.compile(r"\s*window\.BENCHMARK_DATA\s*=?\s*"), re.compile(r"\s*;?\s*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class Lines:
    """The documents of a file that has one a line; `first` is the first of them."""

    file: BinaryIO
    first: Any

    def __iter__(self) -> Iterator[Any]:
        """Yield the documents from the first on. Raises DataError, which names the line, for one that is no JSON."""
        self.file.seek(0)
        begin = 0
        # A file's lines end with \n alone: a text within may have one of Unicode's other line breaks.
        for number, line in enumerate(self.file, 1):
            text = _decoded(line, begin)
            begin += len(line)
            if text.strip():
                yield _loaded(text, number)


def read_source(file: BinaryIO) -> Any:
    """Return the document that a file holds, or its Lines where there are several: each of them has been looked at.

    Args:
        file: can be read again from its beginning.

    Raises:
        DataError: it is no UTF-8, or no JSON; the message says where, or what it is.
    """
    try:
        first = _loaded(_decoded(_first_line(file), 0), 1)
    except DataError:
        file.seek(0)
        return parse(file)
    if not any(line.strip() for line in file):
        return first
    lines = Lines(file, first)
    deque(lines, maxlen=0)
    return lines


def parse(file: BinaryIO) -> Any:
    """Return the one document that a file holds. Raises DataError as `read_source` does."""
    data = file.read()
    refuse_disguised(data[:HEAD_B])
    text = _decoded(data, 0)
    script = _SCRIPT.match(text)
    try:
        document, end = _DECODER.raw_decode(text, script.end() if script else _behind(_SPACE, text, 0))
        end = _behind(_SCRIPT_END if script else _SPACE, text, end)
        if end < len(text):
            raise json.JSONDecodeError("Extra data", text, end)
    except json.JSONDecodeError as error:
        raise _no_json(error, error.lineno) from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(error) from None
    return document


def _behind(what: re.Pattern[str], text: str, at: int) -> int:
    """Return where the text goes on after this, which may be nothing."""
    found = what.match(text, at)
    return found.end() if found else at


def _first_line(file: BinaryIO) -> bytes:
    """Return the first line that has something in it; none where there is nothing."""
    return next((line for line in file if line.strip()), b"")


def _decoded(data: bytes, begin: int) -> str:
    """Return the text of what stands in a file from byte `begin` on."""
    try:
        return data.decode("utf-8" if begin else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: see byte {begin + error.start}", code="bad_utf8") from None


def _loaded(line: str, number: int) -> Any:
    try:
        return json.loads(line.rstrip("\r\n"))
    except json.JSONDecodeError as error:
        raise _no_json(error, number) from None
    except (RecursionError, ValueError) as error:
        raise _unreadable(error) from None


def _no_json(error: json.JSONDecodeError, line: int) -> DataError:
    return DataError(f"not JSON: {error.msg} at line {line}, column {error.colno}", code="bad_json")


def _unreadable(error: Exception) -> DataError:
    return DataError(f"not JSON that can be read: {error}", code="bad_json")
