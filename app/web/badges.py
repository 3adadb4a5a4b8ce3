"""Badges for a README, as pictures: for whoever may read, and each for whoever has its signed address."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from app.api.deps import AskedDep, SessionDep, get_reader
from app.api.routing import Asked, Router
from app.domain.errors import AccessError, NotFoundError
from app.reports.badge import Badge, badge_svg
from app.services.access import Principal
from app.services.badge_links import is_signed
from app.services.read_badge import UNKNOWN, project_badge, series_badge
from app.services.series_document import visible_series
from app.services.visibility import visible_project
from app.web.deps import Id

router = Router(prefix="/badge")

Key = Annotated[str, Query(max_length=100)]

FOR_ALL, FOR_ONE = "public, max-age=300", "private, no-cache"
"""Who may keep a picture: everyone where everyone may see it, as GitHub's own proxy does; else who asked."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/series/{series_id}.svg")
def show_series_badge(asked: AskedDep, session: SessionDep, series_id: Id, key: Key = "") -> Response:
    """Show the newest value of a series, and how it changed last."""
    try:
        reader, kept = _reader(asked, key)
        series, case, _ = visible_series(session, reader, series_id)
    except (AccessError, NotFoundError):
        return _picture(UNKNOWN, FOR_ONE, status=404)
    return _picture(series_badge(session, series, case), kept)


@router.get("/project/{project:path}.svg")
def show_project_badge(
    asked: AskedDep,
    session: SessionDep,
    project: Annotated[str, Path(max_length=255, pattern=r"^[^\x00]*$")],
    key: Key = "",
) -> Response:
    """Show whether any series of a project is worse."""
    try:
        reader, kept = _reader(asked, key)
        its_project = visible_project(session, reader, project)
    except (AccessError, NotFoundError):
        return _picture(UNKNOWN, FOR_ONE, status=404)
    return _picture(project_badge(session, its_project), kept)


def _reader(asked: Asked, key: str) -> tuple[Principal | None, str]:
    """Return who reads, None being everyone, and who may keep the answer. Raises AccessError."""
    settings, path = asked.service.settings, asked.request.scope["path"]
    if settings.anonymous_read or is_signed(asked.session, settings, path, key):
        return None, FOR_ALL
    return asked.of(get_reader), FOR_ONE


def _picture(badge: Badge, kept: str, *, status: int = 200) -> Response:
    headers = HEADERS | {"Cache-Control": kept}
    return Response(badge_svg(badge), status, media_type="image/svg+xml", headers=headers)
