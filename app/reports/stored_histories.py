"""Stored histories for a terminal and for a spreadsheet.

On a terminal each series is a line with a sparkline, each of its changes one below, and so is what could explain it: a
machine that arrived, a run without a point, the budget. In a spreadsheet each point is a row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from app.reports import mark_words, quantities
from app.reports.grid import LEAST_WIDTH, Column, Paint, column, fitted, joined
from app.reports.series_table import INDENT, series_table
from app.reports.sparkline import MARK
from app.reports.text import plain

CSV_HEADER = (
    "series", "project", "benchmark", "params", "metric", "unit", "better", "device_class", "version", "branch",
    "row", "commit", "time", "value", "low", "high", "n", "run", "n_void", "control", "epoch",
)  # fmt: skip

_SUBJECT = 50

Trend = dict[str, Any]


def trend_rows(trend: Trend) -> Iterator[Sequence[object]]:
    """Yield the points of a trend as rows under CSV_HEADER; values are in the series' unit.

    `control` is time/usual − 1, empty without; `epoch` counts the machines that have arrived, from 0.
    """
    series, points = trend["series"], trend["points"]
    params = ", ".join(f"{name}={value}" for name, value in series["params"].items())
    its = [
        series["id"], series["project"], series["benchmark"], params, series["metric"], series["unit"],
        series["better"], series["device_class"], series["version"], trend["branch"],
    ]  # fmt: skip
    names = ("row", "commit", "time", "value", "low", "high", "n", "run")
    void = {point["row"]: point["n_void"] for point in trend["void"]}
    control = dict(zip(trend["control"]["row"], trend["control"]["deviation"], strict=True))
    begun = [epoch["row"] for epoch in trend["epochs"]]
    for point in zip(*(points[name] for name in names), strict=True):
        row = point[0]
        yield [*its, *point, void.get(row, 0), control.get(row), bisect_right(begun, row)]


def render_trends(trends: Sequence[Trend], *, width: int | None, color: bool) -> str:
    """Return the table of some trends, at least one, as text that ends in a newline.

    Args:
        trends: as `services.trend_document` makes them.
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    room = None if width is None else max(width, LEAST_WIDTH)
    paint = Paint(color)
    table = series_table(trends, room)
    changes = [change | {"trend": trend} for trend in trends for change in trend["changes"]]
    details = fitted(_change_columns(changes), None if room is None else room - len(INDENT), named=4, least=8)
    lines, row = [paint(line, "faint") for line in table.heading(room)], 0
    for index, trend in enumerate(trends):
        lines += [line.replace(MARK, paint(MARK, "magenta")) for line in table.lines(index, room)]
        for change in trend["changes"]:
            lines.append(INDENT + paint(joined(details, row), *_style(change)))
            row += 1
        lines += [paint(_cut(INDENT + line, room), "faint") for line in _marks(trend)]
    return "\n".join(lines) + "\n"


def _change_columns(changes: Sequence[dict[str, Any]]) -> list[Column]:
    subjects = [_subject(change) for change in changes]
    return [
        column("", (_mark(change) for change in changes)),
        column("", (quantities.change(change["change"]) for change in changes), right=True),
        column(
            "", (quantities.interval(change["ci_low"], change["ci_high"]) for change in changes), expendable=1
        ),
        column("", (change["commit"][:10] for change in changes)),
        column("", subjects),
        column("", (_standing(change) for change in changes), expendable=2),
    ]


def _mark(change: dict[str, Any]) -> str:
    return "▲" if (change["after"] or 0.0) > (change["before"] or 0.0) else "▼"


def _standing(change: dict[str, Any]) -> str:
    return f"{change['state']}, the machine" if change["machine"] else str(change["state"])


def _subject(change: dict[str, Any]) -> str:
    """Return the subject of the commit that a change begins with, as its point has it."""
    points = change["trend"]["points"]
    found = (
        subject for row, subject in zip(points["row"], points["subject"], strict=True) if row == change["row"]
    )
    return plain(next(found, ""))[:_SUBJECT]


def _marks(trend: Trend) -> Iterator[str]:
    """Yield a line for each machine that arrived, each run without a point, and each limit, in the history's order."""
    told = [
        (
            epoch["row"],
            f"◆ {epoch['commit'][:10]}  {mark_words.epoch_words(_facts(epoch), is_back=epoch['returned'])}",
        )
        for epoch in trend["epochs"]
        if epoch["row"] > min(trend["points"]["row"], default=0)
    ]
    told += [
        (run["row"], f"× {run['commit'][:10]}  {mark_words.failed_words(run['verdict'], run['reason'])}")
        for run in trend["failed"]
    ]
    yield from (line for _, line in sorted(told, key=lambda one: one[0]))
    limits, unit = trend["budget"] or {}, trend["series"]["unit"]
    for key in ("max", "min"):
        if limits.get(key) is not None:
            yield mark_words.budget_words(limits[key], unit, is_minimum=key == "min")


def _facts(epoch: dict[str, Any]) -> list[mark_words.Fact]:
    return [(fact["name"], fact["before"], fact["after"]) for fact in epoch["changes"]]


def _cut(line: str, room: int | None) -> str:
    return line if room is None or len(line) <= room else f"{line[: room - 1]}…"


def _style(change: dict[str, Any]) -> tuple[str, ...]:
    if change["machine"] or change["worse"] is None:
        return ("yellow",)
    return ("red",) if change["worse"] else ("cyan",)
