"""Two device classes held against each other, for a terminal: which is best, the means, a line a case and quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.domain.hardware import Kind, Price, Source
from app.domain.results import case_label
from app.domain.units import format_quantity
from app.reports import quantities
from app.reports.grid import Column, Paint, column, fitted, joined, wrapped
from app.reports.hardware_words import SOURCES, TITLES, price_words
from app.reports.text import plain
from app.reports.words import count

_LEAST_NAME = 24
"""Columns of a terminal that the name of a case has before others make room for it."""

MOST_CASES = 30
"""Cases with lines of their own; the JSON document has all."""

Told = Mapping[str, Any]


def hardware_lines(told: Told, room: int | None, paint: Paint) -> list[str]:
    """Return the lines of a hardware comparison.

    Args:
        told: `hardware` of `GET /api/v1/compare`.
        room: columns of the terminal; None where no terminal limits a line.
        paint: the colours.
    """
    lines = wrapped(plain(told["sentence"]), room)
    for side in ("base", "head"):
        lines += wrapped(f"{side}: {plain(_side(told[side]))}", room)
    if not told["cases"]:
        return lines
    if told["two_commits"]:
        lines += wrapped(
            f"{told['two_commits']} of {len(told['cases'])} cases have numbers of two commits", room
        )
    rows = [*_means(told), *_rows(told["cases"][:MOST_CASES])]
    table = fitted(_columns(rows), room, named=0, least=_LEAST_NAME)
    lines += ["", paint(joined(table, None), "faint")]
    lines += [paint(joined(table, i), *_style(row)) for i, row in enumerate(rows)]
    if hidden := max(0, len(told["cases"]) - MOST_CASES):
        lines += wrapped(f"and {count(hidden, 'more case')}, which GET /api/v1/compare has", room)
    return lines


class _Row:
    """A line of the table: what it is of, and its numbers."""

    def __init__(self, name: str, kind: Kind, told: Told) -> None:
        self.name, self.kind, self.told = name, kind, told

    def level(self, side: str) -> str:
        """Return a side's value, or nothing for a mean."""
        its = self.told.get(side)
        if its is None:
            return "" if "n" in self.told else quantities.ABSENT
        per = f" per {its['per']}" if its["per"] else ""
        return plain(f"{format_quantity(its['value'], its['unit'])}{per}")

    @property
    def sources(self) -> str:
        """Return where the sides' values are from."""
        found = [_source(its) for its in (self.told.get("base"), self.told.get("head")) if its]
        return " / ".join(dict.fromkeys(found)) or self._why

    @property
    def _why(self) -> str:
        why = self.told["why"]
        return plain("; ".join(why) if isinstance(why, list) else why or "")


def _source(level: Told) -> str:
    word, devices = SOURCES[Source(level["source"])], level["devices"] or 1
    return f"{word}, {devices} devices" if devices > 1 else word


def _means(told: Told) -> Iterator[_Row]:
    for kind in Kind:
        mean = told["means"][kind]
        yield _Row(f"mean of {mean['n']}", kind, mean)


def _rows(cases: Sequence[Told]) -> Iterator[_Row]:
    for case in cases:
        for kind in (kind for kind in Kind if case[kind]["base"] or case[kind]["head"]):
            yield _Row(plain(case_label(case["benchmark"], case["params"])), kind, case[kind])


def _columns(rows: Sequence[_Row]) -> list[Column]:
    return [
        column("case", (row.name for row in rows)),
        column("quantity", (TITLES[row.kind].lower() for row in rows)),
        column("base", (row.level("base") for row in rows), right=True, expendable=3),
        column("head", (row.level("head") for row in rows), right=True, expendable=4),
        column("head/base", (quantities.factor(row.told["ratio"]) for row in rows), right=True),
        column("range", (_range(row.told) for row in rows), right=True, expendable=2),
        column("better", (row.told["best"] or quantities.ABSENT for row in rows), expendable=5),
        column("from", (row.sources for row in rows), expendable=1),
    ]


def _range(told: Told) -> str:
    return quantities.factors(told["ratio_low"], told["ratio_high"])


def _style(row: _Row) -> tuple[str, ...]:
    return ("bold",) if "n" in row.told else ()


def _side(told: Told) -> str:
    its = told["price"]
    if its is None:
        return f"{told['device_class']}, price not known: {told['why']}"
    return f"{told['device_class']}, {price_words(Price(its['hour'], its['currency'], its['day'], its['devices']))}"
