"""Lists of runs for a terminal and for a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from app.reports import quantities
from app.reports.grid import LEAST_WIDTH, Paint, column, fitted, joined
from app.reports.text import fit, plain

CSV_HEADER = (
    "run", "kind", "project", "base", "head", "subject", "author", "device_class", "suite", "by", "outcome", "reason",
    "results", "created_at", "ended_at",
)  # fmt: skip

Run = dict[str, Any]

_SHA, _SUBJECT = 10, 40
"""Characters of a commit's id and of its subject."""


def run_row(run: Run) -> list[object]:
    """Return a run as a row under CSV_HEADER."""
    return [run[name] for name in CSV_HEADER]


def render_runs(runs: Sequence[Run], *, width: int | None, color: bool) -> str:
    """Return the table of some runs, at least one, as text that ends in a newline.

    Args:
        runs: as `GET /api/v1/runs` has them.
        width: columns of the terminal, below 40 counts as 40; None where no terminal limits a line.
        color: whether to use ANSI colours.
    """
    room = None if width is None else max(width, LEAST_WIDTH)
    paint = Paint(color)
    table = fitted(
        [
            column("run", (run["run"] for run in runs)),
            column("begun", (_when(run) for run in runs), expendable=4),
            column("project", (plain(run["project"]) for run in runs), expendable=1),
            column("commit", (run["head"][:_SHA] for run in runs)),
            column("subject", (fit(plain(run["subject"]), _SUBJECT) for run in runs), expendable=3),
            column("device", (plain(run["device_class"] or "") for run in runs)),
            column("from", (plain(run["suite"] or run["by"]) for run in runs), expendable=2),
            column("results", (str(run["results"]) for run in runs), right=True, expendable=5),
            column("", (_outcome(run) for run in runs)),
        ],
        room,
        named=5,
    )
    lines = [paint(joined(table, None), "faint")]
    lines += [paint(joined(table, row), *_style(run)) for row, run in enumerate(runs)]
    return "\n".join(lines) + "\n"


def _when(run: Run) -> str:
    return quantities.moment(datetime.fromisoformat(run["created_at"])).removesuffix(" UTC")


def _outcome(run: Run) -> str:
    return plain((run["outcome"] or "going on").replace("_", " "))


def _style(run: Run) -> tuple[str, ...]:
    if run["outcome"] is None:
        return ("yellow",)
    return () if run["outcome"] == "ok" else ("red",)
