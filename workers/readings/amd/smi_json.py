"""JSON as tools print it: with warnings before it, one document after the other, and maybe without its end.

Of a document that was cut, what is complete for sure is kept: a number at the cut end may be cut itself, a list may
lack its end, and a quantity its unit, so none of them is. Lists of devices are kept: each device is judged alone.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from workers.readings.reader import UnreadableError

BEGIN = re.compile(r'^[ \t]*(?=\{\s*(?:"|\}|$)|\[\s*(?:[\[{\]]|$))', re.MULTILINE)
"""Where a document may begin: at the start of a line, and with what a warning in brackets does not have."""

PIECE = re.compile(
    r'\s*([{}\[\]]|"(?:[^"\\\n]|\\.)*"|(?:-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|-?Infinity|true|false|null|NaN)(?=[\s,}\]]))'
)
MEMBER = re.compile(r'\s*,?\s*("(?:[^"\\\n]|\\.)*")\s*:')
COMMA = re.compile(r"\s*,?")
DEVICE_KEYS = ("gpu", "gpu_id", "cpu", "core")
DECODER = json.JSONDecoder(strict=False)


class _Part(NamedTuple):
    """A value that was read, or what is kept of it; `place` is where it ends, or stops."""

    value: Any
    place: int
    is_whole: bool


def json_documents(text: str) -> tuple[list[Any], int | None]:
    """Return the JSON objects and lists of a text, and the place where the last one stops before its end.

    Raises:
        UnreadableError: a document is broken, and goes on after that; or it is nested without bounds.
    """
    found: list[Any] = []
    place, cut = 0, None
    for begin in BEGIN.finditer(text):
        if begin.start() < place:
            continue
        try:
            document, place, is_whole = _document(text, begin.end())
        except RecursionError:
            raise UnreadableError(
                f"{_where(text, begin.end())}: nested too deeply for a tool's JSON"
            ) from None
        if not is_whole:
            if re.search(r'":', text[place:]):
                raise UnreadableError(f"{_where(text, place)}: this is no JSON")
            cut, place = place, len(text)
        if document is not None:
            found.append(document)
    return found, cut


def _document(text: str, place: int) -> _Part:
    try:
        return _Part(*DECODER.raw_decode(text, place), True)
    except ValueError:
        return _value(text, place)._replace(is_whole=False)


def _where(text: str, place: int) -> str:
    place += len(text[place:]) - len(text[place:].lstrip())
    line = text.count("\n", 0, place) + 1
    return f"line {line}, column {place - text.rfind(chr(10), 0, place)}"


def _value(text: str, place: int) -> _Part:
    piece = PIECE.match(text, place)
    if piece is None or piece[1] in "}]":
        return _Part(None, place, False)
    if piece[1] == "{":
        return _object(text, piece.end())
    if piece[1] == "[":
        return _list(text, piece.end())
    try:
        return _Part(DECODER.decode(piece[1]), piece.end(), True)
    except ValueError:
        return _Part(None, place, False)


def _name(written: str) -> str:
    """Return the name of a member; one with an escape that JSON has not, as it is written."""
    try:
        return str(DECODER.decode(written))
    except ValueError:
        return written[1:-1]


def _object(text: str, place: int) -> _Part:
    members: dict[str, Any] = {}
    while member := MEMBER.match(text, place):
        value, place, is_whole = _value(text, member.end())
        if is_whole or value is not None:
            members[_name(member[1])] = value
        if not is_whole:
            return _Part(_kept_members(members), place, False)
    end = PIECE.match(text, place)
    if end is not None and end[1] == "}":
        return _Part(members, end.end(), True)
    return _Part(_kept_members(members), place, False)


def _list(text: str, place: int) -> _Part:
    items: list[Any] = []
    while True:
        comma = COMMA.match(text, place)
        end = PIECE.match(text, comma.end() if comma else place)
        if end is not None and end[1] == "]":
            return _Part(items, end.end(), True)
        value, place, is_whole = _value(text, comma.end() if comma else place)
        items.append(value)
        if not is_whole:
            return _Part(_kept_items(items), place, False)


def _kept_members(members: dict[str, Any]) -> dict[str, Any] | None:
    """Return what was read of an object that does not end; nothing of a quantity, as its unit may be missing."""
    return None if "value" in members or "unit" in members else members or None


def _kept_items(items: list[Any]) -> list[Any] | None:
    """Return what was read of a list that does not end: devices, but no values, which would be too few."""
    devices = [item for item in items if isinstance(item, dict) and any(key in item for key in DEVICE_KEYS)]
    return devices or None


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Return the values of nested objects by dotted names in lower case; lists and quantities stay as they are."""
    if not isinstance(value, dict) or set(value) == {"value", "unit"}:
        return {path: value}
    parts = [flat(inner, f"{path}.{name}" if path else str(name)) for name, inner in value.items()]
    return {name.lower(): inner for part in parts for name, inner in part.items()}
