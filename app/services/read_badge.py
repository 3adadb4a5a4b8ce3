"""What badges say: of a series its newest value and its newest change, of a project whether anything is worse."""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.changes import ChangeState
from app.domain.results import case_label
from app.domain.units import format_quantity
from app.reports.badge import Badge, Tone
from app.reports.quantities import change as signed
from app.services.query_changes import is_worse
from app.store.repositories import changes, explorer
from app.store.tables import BenchmarkCase, ChangePoint, Project, Series

UNKNOWN = Badge("ratchet", "unknown", "doubtful", "There is no such thing here, or not for everyone")


def series_badge(session: Session, series: Series, case: BenchmarkCase) -> Badge:
    """Return the newest value of a series, on its project's branch or its longest, and the newest change."""
    about = f"{case_label(case.benchmark, case.params)} {series.metric}"
    newest = explorer.newest(session, [series.id], limit=1).get(series.id)
    if newest is None:
        return Badge(about, "no results", "quiet", f"{about} on {series.device_class}: no results yet")
    value = format_quantity(newest.values[-1], series.unit)
    found = explorer.newest_changes(session, {series.id: newest.branch}, limit=1).get(series.id)
    if not found:
        return Badge(about, value, "quiet", f"{about} on {series.device_class}: {value}")
    moved, what = signed(found[0].change), "changed last" if _is_sure(found[0]) else "may have changed"
    explained = f"{about} on {series.device_class}: {value}; it {what} by {moved}"
    return Badge(about, f"{value} ({moved})", _tone(found[0], series), explained)


def _is_sure(change: ChangePoint) -> bool:
    return change.state == ChangeState.CONFIRMED


def _tone(change: ChangePoint, series: Series) -> Tone:
    if change.label is not None:
        return "quiet"
    if not _is_sure(change):
        return "doubtful"
    return "bad" if is_worse(change, series.better) else "good"


def project_badge(session: Session, project: Project) -> Badge:
    """Return how many series of the project's branch are worse than before their newest change, and nobody wants it so.

    A later improvement of a series, and a machine that moved, leave nothing open.
    """
    n = changes.open_regressions(session, project.id, project.branch)
    where = f"on {project.branch} of {project.name}"
    if not n:
        return Badge("performance", "no open regressions", "good", f"No series is worse {where}")
    are = "series is" if n == 1 else "series are"
    return Badge(
        "performance", f"{n} regressed", "bad", f"{n} {are} worse {where} than before the newest change"
    )
