"""Other people's words in Markdown: shown as they are, and without any effect.

Names stand in code spans, in which nothing is a mention, a link, or markup. Sentences are escaped, and what would
become a mention or a link by itself is broken with a zero-width space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from app.reports.text import plain, shorten

LONGEST_NAME = 160

_BREAK = "\u200b"
_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_BY_ITSELF = re.compile(r"(@|://|www\.|#(?=\d)|GH-(?=\d))", re.IGNORECASE)


def code(text: str, *, longest: int = LONGEST_NAME) -> str:
    """Return a name as a code span that fits into a table's cell."""
    name = shorten(plain(text), longest).replace("|", "\\|") or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", name)), default=0))
    room = " " if name[0] in "` " or name[-1] in "` " else ""
    return f"{fence}{room}{name}{room}{fence}"


def words(text: str) -> str:
    """Return a sentence that reads as it was written, on one line."""
    escaped = "".join(_ENTITIES.get(char, char) for char in plain(text))
    return _BY_ITSELF.sub(lambda found: found[0][:1] + _BREAK + found[0][1:], _MARKUP.sub(r"\\\1", escaped))


def block(text: str) -> str:
    """Return lines as a fenced block of code."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def size_b(text: str) -> int:
    """Return how many bytes the text has as UTF-8."""
    return len(text.encode())


def as_many_as_fit(rows: Iterable[str], room_b: int) -> tuple[list[str], int]:
    """Return the rows, each a line, that fit into `room_b` bytes, and how many are left out."""
    kept: list[str] = []
    left_out = 0
    for row in rows:
        room_b -= size_b(row) + 1
        if room_b < 0:
            left_out += 1
        else:
            kept.append(row)
    return kept, left_out
