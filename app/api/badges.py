"""Badges for a README: where they are, and the line of Markdown that shows one."""

from __future__ import annotations

from app.api.answers.service import BadgeAnswer
from app.api.conditional import StoredRoute
from app.api.deps import Reader, ServiceDep, SessionDep
from app.api.describing import answers
from app.api.parameters import Project, SeriesId
from app.api.routing import Router
from app.services.badge_links import project_link, series_link
from app.services.series_document import visible_series
from app.services.visibility import visible_project

router = Router(prefix="/api/v1", tags=["badges"], route_class=StoredRoute)


@router.get("/series/{series_id}/badge", responses=answers(BadgeAnswer, 404))
def get_series_badge(
    service: ServiceDep, session: SessionDep, reader: Reader, series_id: SeriesId
) -> dict[str, str]:
    """Return where the badge of a series is, with its newest value and change."""
    series, case, _ = visible_series(session, reader, series_id)
    return series_link(session, service.settings, series, case)


@router.get("/badge", responses=answers(BadgeAnswer, 404))
def get_project_badge(
    service: ServiceDep, session: SessionDep, reader: Reader, project: Project
) -> dict[str, str]:
    """Return where the badge of a project is, which says whether any series is worse."""
    return project_link(session, service.settings, visible_project(session, reader, project))
