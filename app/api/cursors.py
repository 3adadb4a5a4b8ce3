"""Cursors: where a list goes on. They are opaque: what is in them may change, and they are good for one list alone.

Pages follow each other by the last entry's key, not by a count, so that entries that come meanwhile move none.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from app.domain.errors import PayloadError, Problem

_INSIDE = re.compile(rb"([a-z_]+)((?::[1-9][0-9]{0,17})+)")


def position(kind: str, cursor: str | None) -> int | None:
    """Return the number of the entry that the page before ended with; None without a cursor.

    Raises PayloadError for what is no cursor of this kind of list.
    """
    if cursor is None:
        return None
    found = numbers(kind, cursor)
    if len(found) != 1:
        what = "this is no cursor of this list; take `next` of the page before, as it is"
        raise PayloadError([Problem("query.cursor", "bad_cursor", what)], code="bad_parameters")
    return found[0]


def numbers(kind: str, cursor: str) -> tuple[int, ...]:
    """Return what is in a cursor of this kind; nothing where it is none."""
    try:
        match = _INSIDE.fullmatch(urlsafe_b64decode(cursor.encode()))
    except ValueError:
        match = None
    if match is None or match[1].decode() != kind:
        return ()
    return tuple(map(int, match[2][1:].split(b":")))


def cursor_of(kind: str, *inside: int) -> str:
    """Return the cursor that these numbers, all above 0, are in."""
    return urlsafe_b64encode(":".join((kind, *map(str, inside))).encode()).decode()


def with_next(kind: str, page: dict[str, Any]) -> dict[str, Any]:
    """Return a page whose `next` is the number of its last entry, or None, with the cursor in its place."""
    number = page["next"]
    return page | {"next": None if number is None else cursor_of(kind, number)}
