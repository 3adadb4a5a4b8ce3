"""From the bytes of a file to a TOML tree with the line of every key, within stated limits."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from app.domain.errors import Problem, SettingsError
from app.settings.positions import Path, key_lines
from app.settings.wording import backticked

MAX_BYTES = 1 << 20
"""The largest settings file that is read."""

MAX_DOTS = 100
"""The most dots in one line: reading a key takes time that grows with the square of its parts."""

_BYTE_ORDER_MARK = "\ufeff"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True)
class Document:
    """A parsed file: its values, and the 1-based line of every key and element in it."""

    tree: dict[str, Any]
    lines: dict[Path, int]


def decode_settings(data: bytes, *, name: str = "ratchet.toml") -> str:
    """Return the text of a settings file; a byte order mark is dropped.

    Raises:
        SettingsError: it is over 1 MiB, or not UTF-8; the message names the line.
    """
    if len(data) > MAX_BYTES:
        raise _refusal(
            name, "too_large", f"{len(data)} bytes; a settings file has at most {MAX_BYTES} (1 MiB)"
        )
    if data.startswith(_UTF_16_MARKS):
        raise _refusal(name, "encoding", "the file is UTF-16; save it as UTF-8")
    try:
        return data.decode().removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise _refusal(name, "encoding", message, line) from None


def parse_document(text: str, name: str) -> Document:
    """Return `text` as a tree with its lines.

    Raises:
        SettingsError: it is too large, no Unicode, or no TOML; with the line and, if TOML, the column.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    _check_characters(text, name)
    _check_lines(text, name)
    try:
        return Document(tomllib.loads(text), key_lines(text))
    except tomllib.TOMLDecodeError as error:
        raise _syntax_refusal(text, name, str(error)) from None
    except RecursionError:
        raise _refusal(name, "syntax", "lists or tables are nested too deeply to be read") from None
    except ValueError:  # what tomllib lets through from int(), which refuses over 4300 digits
        raise _refusal(name, "syntax", "a number has too many digits to be read") from None


def _check_characters(text: str, name: str) -> None:
    """Refuse what no UTF-8 file holds; a caller may have decoded the text in its own way."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise _refusal(name, "encoding", "a lone surrogate; save the file as UTF-8", line) from None
    if size > MAX_BYTES:
        raise _refusal(name, "too_large", f"{size} bytes; a settings file has at most {MAX_BYTES} (1 MiB)")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise _refusal(name, "encoding", "a NUL character; a settings file is plain text", line)


def _check_lines(text: str, name: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            message = f"over {MAX_DOTS} dots in one line; spread its values over several lines"
            raise _refusal(name, "too_large", message, number)


def _syntax_refusal(text: str, name: str, reason: str) -> SettingsError:
    """Return the refusal for a message of tomllib, with the line that it speaks of."""
    place = _PLACE.search(reason)
    if place is None or place[1] is None:
        message = f"not valid TOML: {_PLACE.sub('', reason)} at the end of the file"
        return _refusal(name, "syntax", message, text.rstrip().count("\n") + 1)
    number, column = int(place[1]), int(place[2])
    found = backticked(text.split("\n")[number - 1].strip())
    message = f"not valid TOML at column {column}: {_PLACE.sub('', reason)}; the line reads {found}"
    return _refusal(name, "syntax", message, number)


def _refusal(name: str, code: str, message: str, line: int = 1) -> SettingsError:
    return SettingsError([Problem("", code, message, line)], name=name)
