"""Sections of a text: each a table under its title, or folded; the first ones have the room that there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.reports.pull_request.markdown import as_many_as_fit, size_b
from app.reports.words import count

FRAME_B = 300
"""What a section needs beside its rows."""


@dataclass(frozen=True)
class Section:
    """A table: its title, its two head lines and its rows."""

    title: str
    head: str
    rows: Sequence[str]
    is_folded: bool = False
    said: str = ""
    """A sentence above the table."""


def fitted(
    opening: Sequence[str], sections: Iterable[Section], end: Sequence[str], page: str, limit_b: int
) -> str:
    """Return a text of at most `limit_b` bytes: its opening and its end whole, and of the sections what fits."""
    room_b = limit_b - sum(size_b(part) + 2 for part in (*opening, *end))
    parts = (*opening, *_sections_text(sections, page, room_b), *end)
    return "\n\n".join(part for part in parts if part) + "\n"


def _sections_text(sections: Iterable[Section], page: str, room_b: int) -> list[str]:
    """Return the sections that have rows as Markdown, in at most `room_b` bytes; what is left out is counted."""
    parts = []
    for section in sections:
        if not section.rows:
            continue
        kept, left_out = as_many_as_fit(section.rows, room_b - FRAME_B)
        parts.append(_section(section, kept, left_out, page))
        room_b -= size_b(parts[-1]) + 2
    return parts


def _section(section: Section, kept: Sequence[str], left_out: int, page: str) -> str:
    title = f"{section.title} ({len(section.rows)})"
    more = f"[{count(left_out, 'result')} more]({page})" if left_out else ""
    table = "\n".join([section.head, *kept]) if kept else ""
    body = "\n\n".join(filter(None, (section.said, table, more)))
    if section.is_folded:
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"
    return f"#### {title}\n\n{body}"
