"""One benchmark over all its series: how each moved and how well it is measured, what it costs, what it raised."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.results import Written
from app.services.access import Principal
from app.services.alerts.detector_quality import Quality, quality_of
from app.services.explore_series import PAGE, SeriesLine, series_lines
from app.services.raised_changes import RaisedChanges, raised_changes
from app.services.visibility import visible_project
from app.services.weigh_noise import Noise, known_noise
from app.store.repositories import benchmarks, explorer
from app.store.repositories.benchmarks import Cost
from app.store.repositories.explorer import Sought

LATELY = timedelta(days=30)
"""How far back its device time is counted."""


@dataclass(frozen=True)
class BenchmarkDetail:
    """One benchmark with a page of its series, each with its noise; `cost` is that of the last 30 days."""

    project: str
    name: str
    lines: tuple[tuple[SeriesLine, Noise], ...]
    total: int
    n_pages: int
    cost: Cost
    written: Written | None
    raised: RaisedChanges
    quality: Quality


def read_benchmark(
    session: Session, principal: Principal | None, project: str, name: str, *, now: datetime, page: int = 1
) -> BenchmarkDetail:
    """Return the benchmark with page `page` (from 1) of its series, in a fixed number of statements.

    Raises NotFoundError for an unknown project, and for a benchmark that it has no series of.
    """
    its_project = visible_project(session, principal, project)
    sought = Sought((), {"project": its_project.name, "benchmark": name}, {its_project.id})
    total = explorer.total(session, sought)
    if not total:
        raise NotFoundError(f"{its_project.name!r} has no series of a benchmark {name[:80]!r}")
    rows = explorer.find(session, sought, limit=PAGE, offset=(page - 1) * PAGE)
    lines = series_lines(session, rows)
    known = known_noise(session, [line.id for line in lines], {line.device_class for line in lines})
    cost = benchmarks.cost(session, its_project.id, name, now - LATELY)
    return BenchmarkDetail(
        project=its_project.name,
        name=name,
        lines=tuple((line, known.of(line.id, line.device_class, line.metric, line.values)) for line in lines),
        total=total,
        n_pages=-(-total // PAGE),
        cost=cost,
        written=Written(**cost.written) if cost.written else None,
        raised=raised_changes(session, its_project.id, name),
        quality=quality_of(session, {its_project.id}, name),
    )
