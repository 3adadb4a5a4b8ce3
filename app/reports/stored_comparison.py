"""Two sides of stored numbers for a terminal and for a spreadsheet: a line a series, the worst change first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from app.domain.results import case_label
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.grid import LEAST_WIDTH, Column, Paint, column, fitted, joined, wrapped
from app.reports.stored_hardware import hardware_lines
from app.reports.text import plain
from app.reports.words import count, word_of

CSV_HEADER = (
    "id", "project", "benchmark", "params", "metric", "unit", "better", "device_class", "version",
    "base_median", "base_low", "base_high", "base_n", "base_run", "base_commit",
    "head_median", "head_low", "head_high", "head_n", "head_run", "head_commit", "change",
)  # fmt: skip

_LEAST_NAME = 28
"""Columns of a terminal that a series' name has before the others make room for it."""

Pair = dict[str, Any]
Document = dict[str, Any]


def pairs_of(document: Document) -> Iterator[Pair]:
    """Yield the series of a comparison: those of both sides, of base alone, of head alone."""
    for name in ("series", "only_base", "only_head"):
        yield from document[name]


def pair_row(pair: Pair) -> list[object]:
    """Return a series as a row under CSV_HEADER; values are in its unit."""
    params = ", ".join(f"{name}={value}" for name, value in pair["params"].items())
    return [(pair | {"params": params})[name] for name in CSV_HEADER]


def render_stored(document: Document, *, width: int | None, color: bool) -> str:
    """Return the comparison as text that ends in a newline.

    Args:
        document: as `GET /api/v1/compare` has it.
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    room = None if width is None else max(width, LEAST_WIDTH)
    paint = Paint(color)
    pairs = sorted(document["series"], key=lambda pair: -_loss(pair))
    hardware = document.get("hardware")
    lines = [*hardware_lines(hardware, room, paint), ""] if hardware else []
    if pairs:
        table = fitted(_columns(pairs), room, named=1, least=_LEAST_NAME)
        lines.append(paint(joined(table, None), "faint"))
        lines += [paint(joined(table, row), *_style(pair)) for row, pair in enumerate(pairs)]
        lines.append("")
    for line in _summary(document, pairs):
        lines += wrapped(line, room)
    return "\n".join(lines) + "\n"


def _columns(pairs: Sequence[Pair]) -> list[Column]:
    levels = [quantities.in_columns(p["base_median"], p["head_median"], p["unit"]) for p in pairs]
    return [
        column("", map(_mark, pairs)),
        column("series", map(_name, pairs)),
        column("device", (plain(pair["device_class"]) for pair in pairs), expendable=4),
        column("change", (quantities.change(pair["change"]) for pair in pairs), right=True),
        column("base", (before for before, _ in levels), right=True, expendable=2),
        column("head", (after for _, after in levels), right=True, expendable=3),
        column("n", map(_counts, pairs), right=True, expendable=1),
    ]


def _name(pair: Pair) -> str:
    return plain(f"{case_label(pair['benchmark'], pair['params'])} {pair['metric']}")


def _counts(pair: Pair) -> str:
    return f"{pair['base_n']}" if pair["base_n"] == pair["head_n"] else f"{pair['base_n']}/{pair['head_n']}"


def _loss(pair: Pair) -> float:
    """Return how much worse head is, in logarithms; below zero where it is better."""
    change = pair["change"]
    size = math.log1p(change) if change is not None and change > -1 else 0.0
    return size if pair["better"] == "lower" else -size


def _is_worse(pair: Pair) -> bool:
    return bool((pair["head_median"] > pair["base_median"]) == (pair["better"] == "lower"))


def _is_apart(pair: Pair) -> bool:
    """Tell whether no value of one side is among those of the other."""
    return bool(pair["head_low"] > pair["base_high"] or pair["head_high"] < pair["base_low"])


def _mark(pair: Pair) -> str:
    if not _is_apart(pair):
        return " "
    return word_of(Verdict.REGRESSED if _is_worse(pair) else Verdict.IMPROVED).mark


def _style(pair: Pair) -> tuple[str, ...]:
    if not _is_apart(pair):
        return ()
    return ("red",) if _is_worse(pair) else ("cyan",)


def _summary(document: Document, pairs: Sequence[Pair]) -> Iterator[str]:
    apart = [pair for pair in pairs if _is_apart(pair)]
    worse = sum(map(_is_worse, apart))
    told = f"{worse} worse and {len(apart) - worse} better than any value of base"
    yield f"{count(len(pairs), 'stored series', 'stored series')} compared: {told}"
    for side in ("base", "head"):
        if alone := len(document[f"only_{side}"]):
            yield f"{alone} only in {side}"
    yield "(no verdict: the numbers may be of different days and machines, and noise is not taken into account)"
