"""Tables on a terminal: columns that leave when there is no room for them, rows that do, colours that can be off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from textwrap import wrap
from typing import TypeVar

from app.domain.verdicts import Verdict
from app.reports.text import columns, fit, pad
from app.reports.words import word_of

GAP = "  "
LEAST_WIDTH = 40
"""Columns of a terminal that narrower ones count as."""

MANY_ROWS, QUIET_ROWS = 30, 10
"""From more rows than the first, only so many of those without regression are shown as the second says."""

Row = TypeVar("Row")

_TONES = {"regressed": "red", "fails": "red", "improved": "cyan", "open": "yellow", "unmeasured": "yellow"}
_CODES = {"bold": "1", "faint": "2", "red": "31", "yellow": "33", "magenta": "35", "cyan": "36"}


@dataclass(frozen=True)
class Paint:
    """Wraps text in ANSI colours, or does not."""

    is_on: bool

    def __call__(self, text: str, *styles: str) -> str:
        """Return the text in these styles: `bold`, `faint`, `red`, `yellow`, `magenta`, `cyan`."""
        if not self.is_on or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"


@dataclass(frozen=True)
class Column:
    """A column: title, cells, alignment, which leaves first for want of room (1 the first, 0 never)."""

    title: str
    cells: tuple[str, ...]
    right: bool = False
    expendable: int = 0

    @cached_property
    def width(self) -> int:
        """Columns of the terminal that it takes; asked for in every row, so counted once."""
        return max(map(_columns, (self.title, *self.cells)))


def styles_of(tone: str) -> tuple[str, ...]:
    """Return the styles in which a verdict's or a conclusion's line is painted, by its tone in `words`."""
    return (_TONES[tone],) if tone in _TONES else ()


def without_quietest(
    rows: Sequence[Row], verdict_of: Callable[[Row], Verdict | None], effect_of: Callable[[Row], float | None]
) -> list[Row]:
    """Return all rows, or where there are many all but those without regression whose effects are smallest."""
    if len(rows) <= MANY_ROWS:
        return list(rows)
    quiet = [i for i, row in enumerate(rows) if verdict_of(row) is Verdict.NO_REGRESSION]
    left_out = set(sorted(quiet, key=lambda i: -abs(effect_of(rows[i]) or 0.0))[QUIET_ROWS:])
    return [row for i, row in enumerate(rows) if i not in left_out]


def verdict_table(
    table: Sequence[Column], verdicts: Sequence[Verdict | None], n_hidden: int, room: int | None, paint: Paint
) -> list[str]:
    """Return the lines of a table whose second column names what has the verdict, with how many rows are hidden."""
    kept = fitted(table, room, named=1)
    lines = [paint(joined(kept, None), "faint")]
    lines += [paint(joined(kept, i), *styles_of(word_of(v).tone)) for i, v in enumerate(verdicts)]
    if n_hidden:
        verb = "shows" if n_hidden == 1 else "show"
        lines += wrapped(f"and {n_hidden} more {verb} no regression, with smaller changes", room)
    return lines


def column(title: str, cells: Iterable[str], *, right: bool = False, expendable: int = 0) -> Column:
    """Return a column of these cells."""
    return Column(title, tuple(cells), right, expendable)


def fitted(table: Sequence[Column], room: int | None, *, named: int = 0, least: int = 16) -> list[Column]:
    """Return the columns that fit into `room`; None is room for everything.

    Those that may leave do so until the column number `named` has room for its cells or for `least` columns of the
    terminal; then its cells are cut to what there is.
    """
    kept, name = list(table), table[named]
    if room is None:
        return kept
    while _room_beside(kept, name, room) < min(least, name.width):
        leaving = [one for one in kept if one.expendable]
        if not leaving:
            break
        kept.remove(min(leaving, key=lambda one: one.expendable))
    width = max(_room_beside(kept, name, room), 4)
    cut = replace(name, cells=tuple(fit(cell, width) for cell in name.cells))
    return [cut if one is name else one for one in kept]


def joined(table: Sequence[Column], row: int | None) -> str:
    """Return one line of the table: its titles for None."""
    cells = (one.title if row is None else one.cells[row] for one in table)
    return GAP.join(_padded(cell, one) for cell, one in zip(cells, table, strict=True)).rstrip()


def _room_beside(table: Sequence[Column], name: Column, room: int) -> int:
    return room - sum(one.width for one in table if one is not name) - len(GAP) * (len(table) - 1)


def _padded(cell: str, one: Column) -> str:
    if not cell.isascii():
        return pad(cell, one.width, right=one.right)
    return cell.rjust(one.width) if one.right else cell.ljust(one.width)


def _columns(cell: str) -> int:
    """Return `columns` of a cell, at once where every character takes one."""
    return len(cell) if cell.isascii() else columns(cell)


def wrapped(text: str, room: int | None) -> list[str]:
    """Return the text in lines of at most `room` columns, later ones indented; one line without a limit."""
    if room is None:
        return [text]
    return [fit(line, room) for line in wrap(text, room, subsequent_indent="  ")]
