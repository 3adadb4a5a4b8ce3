"""The fields that posted documents are made of: names, commits, times, directions, parameters.

A reader takes what was found at a path and returns it as it is stored. What does not fit is noted among the
problems, and what the reader then returns means nothing: a document with problems is refused whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from app.domain.projects import stands_in_addresses
from app.domain.results import Better, Params
from app.formats.problems import Path, Problems, did_you_mean, shown
from workers.protocol import params_key

MAX_NAME_B = 255
MAX_PARAMS = 32
MAX_POSITION = 2**31 - 1
MAX_PARAMS_B = 2048
"""A case's parameters as canonical JSON [B]: they are in a database index, whose entries have a limit."""

NO_PARAMS: tuple[Params, str] = ({}, params_key({}))
"""What a case without parameters has."""

FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters, line and paragraph separators, and what overrides the direction of text."""

_COMMIT = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
_YEARS = range(1970, 9999)
"""What every clock, driver and time zone on the way can hold."""


_NO_TIME = datetime(_YEARS[0], 1, 1, tzinfo=UTC)


class FieldReader(Protocol):
    """Turns what was found at a path into what is stored."""

    def __call__(self, found: Any, path: Path, problems: Problems) -> Any:
        """Return the field's value; note what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key of an object: how its value is read, and whether it may be left out."""

    read: FieldReader
    required: bool = True


def read_object(found: Any, fields: Mapping[str, Field], path: Path, problems: Problems) -> dict[str, Any]:
    """Return the values of an object's keys; unknown keys and missing required ones are problems.

    An optional key that is null counts as left out.
    """
    if not isinstance(found, dict):
        problems.add(path, "bad_type", f"expected an object, found {shown(found)}")
        return {}
    for key in [] if found.keys() <= fields.keys() else found:
        if key not in fields:
            problems.add(
                (*path, key), "unknown_key", f"unknown key {shown(key)}; {did_you_mean(key, fields)}"
            )
    values = {}
    for key, field in fields.items():
        value = found.get(key)
        if value is not None or (field.required and key in found):
            values[key] = field.read(value, (*path, key), problems)
        elif field.required:
            problems.add((*path, key), "missing", f"the key {shown(key)} is required")
    return values


def read_name(found: Any, path: Path, problems: Problems) -> str:
    """Read a name: 1 to 255 bytes of text in normal form C, with nothing in it that steers a display."""
    if found == "":
        problems.add(path, "bad_length", f"the name is empty; write 1 to {MAX_NAME_B} bytes")
    return read_text(found, path, problems)


def read_project(found: Any, path: Path, problems: Problems) -> str:
    """Read a project's name, which has a place in addresses."""
    name = read_name(found, path, problems)
    if not stands_in_addresses(name):
        problems.add(path, "bad_value", f"{shown(found)} has a part . or .., which no address keeps")
    return name


def read_position(found: Any, path: Path, problems: Problems) -> int:
    """Read a commit's place on its branch: a whole number from 0 on that an integer of PostgreSQL holds."""
    if type(found) is not int or not 0 <= found <= MAX_POSITION:
        what = f"expected a whole number from 0 to {MAX_POSITION}, found {shown(found)}"
        problems.add(path, "bad_value", what)
        return 0
    return found


def read_text(found: Any, path: Path, problems: Problems) -> str:
    """Read a text that may be empty: at most 255 bytes, else as a name."""
    if not isinstance(found, str):
        problems.add(path, "bad_type", f"expected text, found {shown(found)}")
        return ""
    if len(found) <= MAX_NAME_B and found.isascii() and found.isprintable():
        return found
    if (size := len(found.encode())) > MAX_NAME_B:
        problems.add(path, "bad_length", f"the text is {size} bytes long; at most {MAX_NAME_B} are taken")
    if bad := FORBIDDEN.search(found):
        what = f"U+{ord(bad.group()):04X} at character {bad.start() + 1}"
        problems.add(path, "bad_character", f"{shown(found)} holds a control or direction character, {what}")
    if not unicodedata.is_normalized("NFC", found):
        problems.add(path, "not_nfc", f"{shown(found)} is not in Unicode normal form C; normalise it")
    return found


def read_commit(found: Any, path: Path, problems: Problems) -> str:
    """Read a full commit id; it is stored in lower case."""
    if not isinstance(found, str) or not _COMMIT.fullmatch(found):
        problems.add(path, "bad_commit", f"expected 40 or 64 hexadecimal digits, found {shown(found)}")
        return ""
    return found.lower()


def read_time(found: Any, path: Path, problems: Problems) -> datetime:
    """Read an ISO 8601 time with an offset from UTC, in which it is stored."""
    try:
        time = datetime.fromisoformat(found)
    except (TypeError, ValueError):
        wanted = 'an ISO 8601 time such as "2026-01-31T12:00:00Z"'
        problems.add(path, "bad_time", f"expected {wanted}, found {shown(found)}")
        return _NO_TIME
    if time.tzinfo is None:
        problems.add(path, "bad_time", f"{shown(found)} has no offset from UTC; add Z, or one such as +02:00")
    if time.year in _YEARS and (stored := time.astimezone(UTC)).year in _YEARS:
        return stored
    problems.add(
        path, "bad_time", f"{shown(found)} is not within the years {_YEARS[0]} to {_YEARS[-1]}, told in UTC"
    )
    return _NO_TIME


def read_better(found: Any, path: Path, problems: Problems) -> Better:
    """Read a direction: `lower` or `higher`."""
    if found not in ("lower", "higher"):
        problems.add(path, "bad_value", f'expected "lower" or "higher", found {shown(found)}')
    return "higher" if found == "higher" else "lower"


def read_params(found: Any, path: Path, problems: Problems) -> tuple[Params, str]:
    """Read a case's parameters: at most 32 names, each with a text, a number, a truth value or null.

    They come with themselves as canonical JSON.
    """
    if not isinstance(found, dict):
        problems.add(path, "bad_type", f"expected an object, found {shown(found)}")
        return NO_PARAMS
    if len(found) > MAX_PARAMS:
        problems.add(path, "too_many", f"{len(found)} parameters; at most {MAX_PARAMS} are taken")
        return NO_PARAMS
    for name, value in found.items():
        read_name(name, (*path, name), problems)
        _read_scalar(value, (*path, name), problems)
    key = params_key(found)
    if (size := len(key.encode())) > MAX_PARAMS_B:
        problems.add(
            path, "too_long", f"the parameters are {size} bytes of JSON; at most {MAX_PARAMS_B} are taken"
        )
    return found, key


def _read_scalar(found: Any, path: Path, problems: Problems) -> None:
    if isinstance(found, str):
        read_text(found, path, problems)
    elif isinstance(found, dict | list):
        problems.add(path, "bad_type", f"expected text, a number, true, false or null, found {shown(found)}")


def read_free_object(found: Any, path: Path, problems: Problems) -> dict[str, Any]:
    """Read an object whose content is the sender's own."""
    if not isinstance(found, dict):
        problems.add(path, "bad_type", f"expected an object, found {shown(found)}")
        return {}
    return found
