"""The series that somebody looks for, with what they have in common, and how each has moved lately."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from app.domain.changes import ChangeState
from app.services.query_changes import is_worse
from app.store.repositories import explorer
from app.store.repositories.explorer import FACETS, Newest, Sought
from app.store.tables import BenchmarkCase, ChangePoint, Project, Series

PAGE = 50
"""Series on one page."""

LATELY = 60
"""Points of each that are looked at."""

MOST_MARKS = 10
"""Changes of each among its newest points that are marked."""

MOST_OF_A_FACET = 12
"""Values of a facet that are offered, unless somebody wants to see all."""

ALL_OF_A_FACET = 1_000
"""Values of a facet that are offered to whoever wants all; the rarer ones are found by their words."""


@dataclass(frozen=True)
class LastChange:
    """The newest change of a series that stands, and how many points of the new level there are."""

    change: float | None
    is_worse: bool | None
    is_machine: bool
    """Whether the machine moved, and not the code."""
    is_confirmed: bool
    n_since: int


@dataclass(frozen=True)
class SeriesLine:
    """One series of the list: who it is, its newest points, and where among them its level changed."""

    id: int
    project: str
    benchmark: str
    params: Mapping[str, Any]
    metric: str
    unit: str
    device_class: str
    version: str
    values: tuple[float, ...]
    """The newest points [unit], oldest first; none where nothing is of a history yet."""
    measured_at: datetime | None
    marks: tuple[int, ...]
    """Where among `values` a new level begins."""
    last_change: LastChange | None


@dataclass(frozen=True)
class FacetValue:
    """One value of a facet, and how many series have it of what is looked for."""

    name: str
    n: int
    is_chosen: bool


@dataclass(frozen=True)
class Facet:
    """Values of what series have in common, the most common first, and how many more there are.

    Where it `is_whole`, those are too many to be offered.
    """

    values: tuple[FacetValue, ...]
    n_more: int
    is_whole: bool


@dataclass(frozen=True)
class Explored:
    """A page of series; `facets` by their names in the address. Nothing is in the service where `is_empty`."""

    lines: tuple[SeriesLine, ...]
    total: int
    facets: Mapping[str, Facet]
    is_empty: bool


def explore_series(
    session: Session,
    query: str,
    chosen: Mapping[str, str],
    *,
    project_ids: Collection[int] | None,
    page: int = 1,
    whole: str = "",
) -> Explored:
    """Return a page of the series that have all of the words and all of the values that are chosen.

    Args:
        session: the session.
        query: words that a series' project, benchmark, parameters, metric or device class has, in any order.
        chosen: values of facets, by the facets' names.
        project_ids: the projects that the reader may see; None for all.
        page: from 1.
        whole: the facet that all values are wanted of.
    """
    sought = Sought(tuple(query.split()), dict(chosen), project_ids)
    rows = explorer.find(session, sought, limit=PAGE, offset=(page - 1) * PAGE)
    total = explorer.total(session, sought)
    facets = {name: _facet(session, sought, name, total, is_whole=name == whole) for name in FACETS}
    is_empty = not total and not explorer.total(session, Sought(project_ids=project_ids))
    return Explored(tuple(series_lines(session, rows)), total, facets, is_empty)


def _facet(session: Session, sought: Sought, name: str, total: int, *, is_whole: bool) -> Facet:
    """Return a facet. A value that is chosen beyond those that are offered has all `total` series that are found."""
    chosen = sought.chosen.get(name)
    limit = ALL_OF_A_FACET if is_whole else MOST_OF_A_FACET
    values, n = explorer.facet(session, sought, name, limit=limit)
    found = [FacetValue(value, n_series, value == chosen) for value, n_series in values]
    if chosen is not None and not any(value.is_chosen for value in found):
        found.insert(0, FacetValue(chosen, total, is_chosen=True))
    return Facet(tuple(found), n - sum(value.n > 0 for value in found), is_whole)


def series_lines(session: Session, rows: Sequence[tuple[Series, BenchmarkCase, Project]]) -> list[SeriesLine]:
    """Return the series with their newest points and changes, in two statements."""
    ids = [series.id for series, _, _ in rows]
    newest = explorer.newest(session, ids, limit=LATELY) if ids else {}
    branches = {series_id: its.branch for series_id, its in newest.items()}
    changes = explorer.newest_changes(session, branches, limit=MOST_MARKS) if branches else {}
    return [
        _line(series, case, project, newest.get(series.id), changes.get(series.id, []))
        for series, case, project in rows
    ]


def _line(
    series: Series, case: BenchmarkCase, project: Project, its: Newest | None, changes: Sequence[ChangePoint]
) -> SeriesLine:
    if its is None:
        its = Newest(project.branch, 0, [], None)
    return SeriesLine(
        id=series.id,
        project=project.name,
        benchmark=case.benchmark,
        params=case.params,
        metric=series.metric,
        unit=series.unit,
        device_class=series.device_class,
        version=series.version,
        values=tuple(its.values),
        measured_at=its.measured_at,
        marks=tuple(change.index - its.first_row for change in changes if change.index > its.first_row),
        last_change=_last_change(changes[-1], series, its) if changes else None,
    )


def _last_change(change: ChangePoint, series: Series, its: Newest) -> LastChange:
    return LastChange(
        change.change,
        is_worse(change, series.better),
        change.label is not None,
        change.state == ChangeState.CONFIRMED,
        its.first_row + len(its.values) - change.index,
    )
