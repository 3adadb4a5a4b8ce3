"""One series on one branch, as a trend: as many points as a screen can show, what is behind each, and the changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.domain.changes import STANDING
from app.domain.errors import NotFoundError
from app.domain.thinning import thinned
from app.services.access import Principal
from app.services.query_changes import is_worse
from app.services.query_runs import name_of_run
from app.services.series_document import visible_series
from app.store.repositories import changes, trends
from app.store.repositories.changes import ChangeContext
from app.store.repositories.trends import Behind, TrendColumns
from app.store.tables import BenchmarkCase, Project, Series

MOST_CHANGES = 500
"""Changes of one trend; older ones are left out."""

COLUMNS = 1_000
"""Columns of pixels that a trend is drawn on; at most six points stay of each."""

NEWEST = 25
"""Points that are told besides, whatever is shown."""


class TrendPoint(NamedTuple):
    """One point: its row in the history, its median, smallest and largest value [unit], and what is behind it."""

    row: int
    value: float
    low: float
    high: float
    n: int
    sha: str
    subject: str
    author: str
    time: datetime
    """The commit's; where nobody said it, when the result was measured or received."""
    run: str
    flags: tuple[str, ...]


@dataclass(frozen=True)
class TrendChange:
    """A change that stands: the row of the first point of the new level, and how far it moved."""

    row: int
    kind: str
    state: str
    is_worse: bool | None
    change: float | None
    low: float | None
    high: float | None
    before: float | None
    after: float | None
    is_machine: bool
    """Whether the machine moved, and not the code."""
    sha: str
    subject: str
    author: str
    previous_sha: str
    id: int


@dataclass(frozen=True)
class Trend:
    """A series on a branch; `n` points are in its history, of which `points` are shown."""

    series: Series
    case: BenchmarkCase
    project: Project
    branch: str
    branches: tuple[str, ...]
    n: int
    rows: range
    """Those that are shown, or would be where some are left out."""
    points: tuple[TrendPoint, ...]
    newest: tuple[TrendPoint, ...]
    """The last points of the whole history, the newest first."""
    changes: tuple[TrendChange, ...]
    reference: float | None = None
    """The value [unit] that others are told relative to."""

    @property
    def is_thinned(self) -> bool:
        """Whether points of these rows are left out."""
        return len(self.points) < len(self.rows)

    @property
    def is_part(self) -> bool:
        """Whether the history has other rows."""
        return len(self.rows) < self.n


def read_trend(
    session: Session,
    principal: Principal | None,
    series_id: int,
    *,
    branch: str | None = None,
    first: int = 0,
    last: int | None = None,
    columns: int = COLUMNS,
    relative: str | None = None,
) -> Trend:
    """Return the trend of a series on a branch, by default the project's own.

    Args:
        session: the session.
        principal: who reads.
        series_id: the series.
        branch: of the history; None for the project's own, or where it has none there, the longest.
        first: the first row to show, 0 is the oldest point.
        last: the last row to show; None for the newest.
        columns: of pixels that it is drawn on.
        relative: the id of a commit whose newest result is the reference, if it has one here.

    Raises NotFoundError for a series that is not there or may not be seen, and for a branch that has no history.
    """
    series, case, project = visible_series(session, principal, series_id)
    found = [name for name, length in trends.branches(session, series_id) if length]
    its_branch = _branch(project, found, branch)
    its = trends.columns(session, series_id, its_branch)
    standing = changes.find(
        session, series_id=series_id, branch=its_branch, states=STANDING, limit=MOST_CHANGES
    )
    its_changes = sorted(map(_change, standing), key=lambda change: change.row)
    n = len(its.values)
    rows = range(min(first, n), n if last is None else max(min(last + 1, n), min(first, n)))
    kept, newest = _kept(its, its_changes, rows, columns), range(n - 1, max(n - NEWEST, 0) - 1, -1)
    behind = trends.behind(session, {its.result_ids[row] for row in (*kept, *newest)})
    return Trend(
        series,
        case,
        project,
        its_branch,
        tuple(found),
        n,
        rows,
        tuple(_point(its, row, behind[its.result_ids[row]]) for row in kept),
        tuple(_point(its, row, behind[its.result_ids[row]]) for row in newest),
        tuple(its_changes),
        trends.newest_value(session, series, its_branch, relative) if relative else None,
    )


def _branch(project: Project, found: Sequence[str], wanted: str | None) -> str:
    if wanted is not None and wanted not in found:
        known = ", ".join(found[:10]) or "none"
        raise NotFoundError(f"the series has no history on the branch {wanted[:80]!r}; it has: {known}")
    if wanted is not None:
        return wanted
    return project.branch if project.branch in found or not found else found[0]


def _kept(its: TrendColumns, its_changes: Sequence[TrendChange], rows: range, columns: int) -> list[int]:
    """Return those of the rows that are shown."""
    start, end = rows.start, rows.stop
    keep = {row - start for change in its_changes for row in (change.row - 1, change.row)}
    curves = its.values[start:end], its.low[start:end], its.high[start:end]
    return [start + row for row in thinned(*curves, columns, keep=keep)]


def _point(its: TrendColumns, row: int, behind: Behind) -> TrendPoint:
    return TrendPoint(
        row,
        its.values[row],
        its.low[row],
        its.high[row],
        its.n[row],
        behind.sha,
        behind.subject,
        behind.author,
        datetime.fromisoformat(behind.time),
        name_of_run(behind.run_id, behind.upload_id),
        tuple(behind.flags),
    )


def _change(context: ChangeContext) -> TrendChange:
    change = context.change
    return TrendChange(
        row=change.index,
        kind=change.kind,
        state=change.state,
        is_worse=is_worse(change, context.series.better),
        change=change.change,
        low=change.ci_low,
        high=change.ci_high,
        before=change.before,
        after=change.after,
        is_machine=change.label is not None,
        sha=context.commit.sha,
        subject=context.commit.subject,
        author=context.commit.author,
        previous_sha=context.previous.sha,
        id=change.id,
    )
