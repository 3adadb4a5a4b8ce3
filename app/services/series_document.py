"""A series as the JSON API shows it, and who may see it."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.services.access import Principal
from app.services.visibility import may_see
from app.store.repositories import series as series_rows
from app.store.tables import BenchmarkCase, Project, Series


def visible_series(
    session: Session, principal: Principal | None, series_id: int
) -> tuple[Series, BenchmarkCase, Project]:
    """Return the series with its case and project. Raises NotFoundError, also for one that may not be seen."""
    found = series_rows.one(session, series_id)
    if found is None or not may_see(principal, found[0].project_id):
        raise unseen_series(series_id)
    row, case = found
    return row, case, session.get_one(Project, row.project_id)


def unseen_series(series_id: int) -> NotFoundError:
    """Return what is raised for a series that is not there, and for one that may not be seen."""
    return NotFoundError(f"there is no series {series_id} that you may see")


def series_document(row: Series, case: BenchmarkCase, project: Project) -> dict[str, Any]:
    """Return the series as plain JSON values."""
    return {
        "id": row.id,
        "project": project.name,
        "benchmark": case.benchmark,
        "params": case.params,
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "device_class": row.device_class,
        "version": row.version,
    }
