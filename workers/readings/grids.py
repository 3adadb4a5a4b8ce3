"""Tables that tools draw for people to look at, as cells: boxes of lines, of `+--+`, and markdown.

What a table means is its reader's business. Cells are split where the table's own rules have their joints, so a bar
inside a cell does no harm; tables whose inner bars got lost on the way through a web page are split at wide gaps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

BARS = "|│┃║"
RULE = re.compile(r"[\s+|│┃║:=\-─━═┌┬┐├┼┤└┴┘┏┳┓┡╇┩╕╔╦╗╠╬╣╚╩╝╞╪╡┢╈┪┣╋┫┗┻┛╟╫╢]+")
LINE = re.compile(r"[-=─━═]{2,}")
JOINTS = "+|┬┼┴┳╇╕╋┻╈╦╬╩╪╫┃│"
PANEL = re.compile(r"\s*[╭+┌┏][-─━]")
GAP = re.compile(r"\s{2,}")


@dataclass
class Grid:
    """One table; `rows` are lines as drawn, so that a row whose text was wrapped is several.

    `closed` says that the table's end was seen: a text that was cut may end in the middle of one. `line` is the number
    of its first line.
    """

    title: str
    columns: list[str]
    line: int
    rows: list[list[str]] = field(default_factory=list)
    closed: bool = False

    def column(self, pattern: re.Pattern[str]) -> int | None:
        """Return the place of the first column whose whole name matches, or None."""
        return next((place for place, name in enumerate(self.columns) if pattern.fullmatch(name)), None)


def grids(text: str) -> list[Grid]:
    """Return the tables of a text in their order; panels, which are text in a frame, are left out."""
    lines = text.splitlines()
    found = [_grid(lines, title, start, end) for title, start, end in _blocks(lines)]
    return [grid for grid in found if grid is not None]


def _blocks(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the title, the first line and the end of every run of lines that are rules or rows."""
    title, start, in_panel = "", None, False
    for number, line in enumerate(lines):
        if in_panel:
            in_panel = line.lstrip()[:1] in tuple(BARS)
        elif _is_rule(line) or line.lstrip()[:1] in tuple(BARS):
            start = number if start is None else start
        else:
            if start is not None:
                yield title, start, number
                title, start = "", None
            in_panel = PANEL.match(line) is not None
            title = title if in_panel else line.strip() or title
    if start is not None:
        yield title, start, len(lines)


def _is_rule(line: str) -> bool:
    return RULE.fullmatch(line) is not None and LINE.search(line) is not None


def _grid(lines: Sequence[str], title: str, start: int, end: int) -> Grid | None:
    block = lines[start:end]
    joints = max((_joints(line) for line in block if _is_rule(line)), key=len, default=[])
    parts: list[list[list[str]]] = [[]]
    for line in block:
        if _is_rule(line):
            parts.append([])
        elif (cells := _cells(line, joints)) is not None:
            parts[-1].append(cells)
    filled = [part for part in parts if part]
    if not filled or len(parts) < 2:
        return None
    columns = [" ".join(word for word in words if word) for words in zip(*filled[0], strict=True)]
    rows = [row for part in filled[1:] for row in part]
    closed = end < len(lines) or (_is_rule(block[-1]) and len(filled) > 1)
    return Grid(title, columns, start + 1, rows, closed)


def _joints(rule: str) -> list[int]:
    """Return where a rule crosses the lines between columns."""
    inner = range(len(rule) - len(rule.lstrip()) + 1, len(rule.rstrip()) - 1)
    return [place for place in inner if rule[place] in JOINTS]


def _cells(line: str, joints: Sequence[int]) -> list[str] | None:
    """Return a row's cells, or None where it has not as many as the rules say, as a row that was cut."""
    inner = line.strip()
    if len(inner) < 2 or inner[-1] not in BARS:
        return None
    inner = inner[1:-1]
    at_bars = re.split(f"[{BARS}]", inner)
    if len(at_bars) == len(joints) + 1:
        return [cell.strip() for cell in at_bars]
    if len(at_bars) == 1:
        at_gaps = GAP.split(inner.strip())
        return at_gaps if len(at_gaps) == len(joints) + 1 else None
    return _at_joints(line.rstrip(), joints)


def _at_joints(line: str, joints: Sequence[int]) -> list[str] | None:
    if any(place >= len(line) or line[place] not in BARS for place in joints):
        return None
    edges = [len(line) - len(line.lstrip()), *joints, len(line) - 1]
    return [line[left + 1 : right].strip() for left, right in pairwise(edges)]
