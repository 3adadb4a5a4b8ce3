"""Other people's text made safe to show: names shortened, control characters removed, logs cut to their end.

Escaping for HTML is the templates' work; this is about what no reader should get raw: terminal escape sequences,
characters that reorder a line, megabytes of output.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
"""Terminal control sequences: CSI, OSC and the two-character ones (ECMA-48, section 5)."""

_REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Unicode's explicit embeddings, overrides and isolates (UAX #9); the plain directional marks do no harm."""


NAME_WIDTH = 120
"""Characters of a name that are shown before it is shortened."""


@dataclass(frozen=True)
class Name:
    """A user's name as it is shown, and in full for a tooltip where it had to be shortened (else empty)."""

    shown: str
    full: str = ""


def plain(text: str) -> str:
    """Return text as one line of printable characters; anything that could move a cursor becomes `�` or a space."""
    spaced = " ".join(_ESCAPES.sub("", text).split())
    return "".join("�" if _is_unsafe(char) else char for char in spaced)


def subject_line(message: str) -> str:
    """Return the first line of a commit's message, as `plain` makes it safe."""
    return plain(message.strip().partition("\n")[0])


def plain_lines(text: str) -> list[str]:
    """Return a log's lines without escape sequences, control or reordering characters; tabs become four spaces."""
    unescaped = _ESCAPES.sub("", text).replace("\t", "    ")
    return ["".join("" if _is_unsafe(char) else char for char in line) for line in unescaped.splitlines()]


def tail(text: str, characters: int) -> str:
    """Return the end of a log that fits into `characters`, beginning with a whole line where there is one."""
    clean = "\n".join(plain_lines(text)).strip("\n")
    if len(clean) <= characters:
        return clean
    cut = clean[-characters:]
    return "…\n" + (cut.partition("\n")[2] or cut)


def shorten(text: str, characters: int) -> str:
    """Return `text` in at most `characters`, its middle replaced by `…`."""
    if len(text) <= characters:
        return text
    front = (characters - 1) * 2 // 3
    return f"{text[:front]}…{text[len(text) - (characters - 1 - front) :]}"


def name(text: str, width: int = NAME_WIDTH) -> Name:
    """Return a user's name on one line, shortened to `width` characters with the whole of it (up to 500) beside."""
    line = plain(text)
    return Name(line) if len(line) <= width else Name(shorten(line, width), shorten(line, 500))


def columns(text: str) -> int:
    """Return how many columns of a terminal `text` takes: wide characters two, combining ones none."""
    return sum(map(_char_columns, text))


def fit(text: str, width: int) -> str:
    """Return `text` cut to `width` terminal columns, its middle replaced by `…`."""
    if columns(text) <= width:
        return text
    room = max(width - 1, 0)
    front = _take(text, room * 2 // 3)
    back = _take(text[::-1], room - columns(front))[::-1]
    return f"{front}…{back}" if width > 0 else ""


def clip(text: str, width: int) -> str:
    """Return a sentence cut to `width` terminal columns, its end replaced by `…`."""
    return text if columns(text) <= width else _take(text, max(width - 1, 0)).rstrip() + "…" * (width > 0)


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Return `text` filled with spaces to `width` terminal columns."""
    spaces = " " * max(width - columns(text), 0)
    return spaces + text if right else text + spaces


def _take(text: str, width: int) -> str:
    used = 0
    for index, char in enumerate(text):
        used += _char_columns(char)
        if used > width:
            return text[:index]
    return text


def _char_columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _is_unsafe(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs") or char in _REORDERING
