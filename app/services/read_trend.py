"""One series on one branch, as a trend: as many points as a screen can show, what is behind each, and the changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import NamedTuple, TypeVar, overload

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.thinning import PER_COLUMN, thinned
from app.services.access import Principal
from app.services.query_changes import moved_worse
from app.services.query_runs import UPLOAD, name_of_run
from app.services.read_marks import CONTROL_WIDTH, NO_MARKS, TrendMarks, arrivals_of, read_marks, rows_to_tell
from app.services.series_document import unseen_series
from app.services.visibility import may_see
from app.store.repositories import trends
from app.store.repositories.trends import Behind, ChangeRow, Coming, History, TrendColumns
from app.store.tables import BenchmarkCase, Project, Series

Value = TypeVar("Value")

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
    flags: Sequence[str]


@dataclass(frozen=True)
class TrendPoints(Sequence[TrendPoint]):
    """Points as columns of equal length, which is how most of them are told; one by one they are made when asked for.

    `time` is in ISO 8601.
    """

    row: Sequence[int]
    value: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    n: Sequence[int]
    sha: Sequence[str]
    subject: Sequence[str]
    author: Sequence[str]
    time: Sequence[str]
    run: Sequence[str]
    flags: Sequence[Sequence[str]]

    def __len__(self) -> int:
        """Return how many they are."""
        return len(self.row)

    @overload
    def __getitem__(self, at: int) -> TrendPoint: ...

    @overload
    def __getitem__(self, at: slice) -> TrendPoints: ...

    def __getitem__(self, at: int | slice) -> TrendPoint | TrendPoints:
        """Return one point, or some."""
        its = (getattr(self, field.name)[at] for field in fields(self))
        if isinstance(at, slice):
            return TrendPoints(*its)
        point = TrendPoint(*its)
        return point._replace(time=datetime.fromisoformat(self.time[at]))

    def of(self, rows: Collection[int]) -> TrendPoints:
        """Return those of these rows of the history."""
        if len(rows) == len(self):
            return self
        wanted = set(rows)
        kept = [at for at, row in enumerate(self.row) if row in wanted]
        return TrendPoints(*(_those(getattr(self, field.name), kept) for field in fields(self)))


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
    """A series on a branch; `n` points are in its history, of which `points` are shown.

    Those are among the points `told`, as are the last of the whole history.
    """

    series: Series
    case: BenchmarkCase
    project: Project
    branch: str
    branches: tuple[str, ...]
    n: int
    rows: range
    """Those that are shown, or would be where some are left out."""
    points: TrendPoints
    told: TrendPoints
    changes: tuple[TrendChange, ...]
    reference: float | None = None
    """The value [unit] that others are told relative to."""
    marks: TrendMarks = NO_MARKS

    @property
    def newest(self) -> Sequence[TrendPoint]:
        """The last points of the whole history, the newest first."""
        return self.told[max(len(self.told) - NEWEST, 0) :][::-1]

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
    reader: Callable[[], Principal | None],
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
        reader: returns who reads; not asked before the history is.
        series_id: the series.
        branch: of the history; None for the project's own, or where it has none there, the longest.
        first: the first row to show, 0 is the oldest point.
        last: the last row to show; None for the newest.
        columns: of pixels that it is drawn on.
        relative: the id of a commit whose newest result is the reference, if it has one here.

    Raises NotFoundError for a series that is not there or may not be seen, and for a branch that has no history.
    """
    at_once = PER_COLUMN * columns if first == 0 and last is None else 0
    with trends.behind_all(session, series_id, branch, at_once) as coming:
        its = trends.history(session, series_id, branch, most_changes=MOST_CHANGES)
        if its is None or not may_see(reader(), its.project.id):
            raise unseen_series(series_id)
        if branch is not None:
            _refuse_unknown(branch, its)
        n = len(its.columns.values)
        rows = range(min(first, n), n if last is None else max(min(last + 1, n), min(first, n)))
        return _trend(session, its, rows, columns, relative, coming)


def _trend(
    session: Session, its: History, rows: range, columns: int, relative: str | None, coming: Coming | None
) -> Trend:
    """Return the trend of these rows; what needs nobody's answer is done while what is behind them is still coming."""
    its_changes = sorted(
        (_change(row, its.series.better) for row in its.changes), key=lambda change: change.row
    )
    n, found = len(its.columns.values), arrivals_of(its.columns)
    around = [change.row for change in its_changes] + [arrival.row for arrival in found]
    kept, newest = _kept(its.columns, around, rows, columns), range(max(n - NEWEST, 0), n)
    asked, controls = sorted({*kept, *newest}), max(1, columns // CONTROL_WIDTH)
    names = names_of_sources(_those(its.columns.sources, asked))
    behind, marks = trends.behind(session, its, asked, rows_to_tell(found), controls, coming)
    told = _points(its.columns, asked, names, behind)
    return Trend(
        its.series,
        its.case,
        its.project,
        its.branch,
        tuple(name for name, _ in its.branches),
        n,
        rows,
        told.of(kept),
        told,
        tuple(its_changes),
        trends.newest_value(session, its.series, its.branch, relative) if relative else None,
        read_marks(its, found, marks, kept, controls),
    )


def _refuse_unknown(branch: str, its: History) -> None:
    found = [name for name, _ in its.branches]
    if branch not in found:
        known = ", ".join(found[:10]) or "none"
        raise NotFoundError(f"the series has no history on the branch {branch[:80]!r}; it has: {known}")


def _kept(its: TrendColumns, around: Sequence[int], rows: range, columns: int) -> list[int]:
    """Return those of the rows that are shown, among them those `around` which something changed."""
    start, end = rows.start, rows.stop
    keep = {row - start for new in around for row in (new - 1, new)}
    curves = its.values[start:end], its.low[start:end], its.high[start:end]
    return [start + row for row in thinned(*curves, columns, keep=keep)]


def _points(columns: TrendColumns, rows: Sequence[int], names: Sequence[str], behind: Behind) -> TrendPoints:
    return TrendPoints(
        row=rows,
        value=_those(columns.values, rows),
        low=_those(columns.low, rows),
        high=_those(columns.high, rows),
        n=_those(columns.n, rows),
        sha=behind.sha,
        subject=behind.subject,
        author=behind.author,
        time=behind.time,
        run=names,
        flags=behind.flags,
    )


def _those(column: Sequence[Value], rows: Sequence[int]) -> Sequence[Value]:
    """Return what a column has in these different rows, which ascend."""
    return column if len(rows) == len(column) else list(map(column.__getitem__, rows))


def names_of_sources(sources: Sequence[int]) -> list[str]:
    """Return the names of runs, or of the uploads whose ids they are with their sign turned."""
    return [name_of_run(its or None, None) if its >= 0 else f"{UPLOAD}{-its}" for its in sources]


def _change(row: ChangeRow, better: str) -> TrendChange:
    return TrendChange(
        row=row.row,
        kind=row.kind,
        state=row.state,
        is_worse=moved_worse(row.before, row.after, better),
        change=row.change,
        low=row.ci_low,
        high=row.ci_high,
        before=row.before,
        after=row.after,
        is_machine=row.label is not None,
        sha=row.sha,
        subject=row.subject,
        author=row.author,
        previous_sha=row.previous_sha,
        id=row.id,
    )
