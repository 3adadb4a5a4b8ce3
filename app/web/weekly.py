"""Pages of the weekly efficiency report: which weeks there are, and one of them as the document that it is."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response
from starlette.responses import HTMLResponse

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.week import parse_week
from app.reports.weekly.page import render_weekly
from app.services.weekly.kept_weekly import kept_html, list_weeks
from app.services.weekly.scope import scope_of
from app.store.repositories import projects
from app.web.deps import Projects, Text, Viewer
from app.web.guard import report_policy, secure
from app.web.render import page

router = Router()


@router.get("/weekly")
def show_weeks(
    request: Request, session: SessionDep, viewer: Viewer, project_ids: Projects, project: Text = ""
) -> Response:
    """Show the weeks that can be read, the newest first, each with its headline where one was kept."""
    names = projects.names(session, project_ids=project_ids)
    weeks = list_weeks(session, scope_of(session, viewer, project or None)) if names else []
    return page(request, "weekly.html", weeks=weeks, projects=names, project=project)


@router.get("/weekly/{week}")
def show_week(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    week: Annotated[str, Path(max_length=20)],
    project: Text = "",
    download: bool = False,
) -> Response:
    """Show the report of a week: as it was kept, or as things stand."""
    its = parse_week(week)
    scope = scope_of(session, viewer, project or None)
    html = kept_html(session, scope, its)
    if html is None:
        session.commit()  # nobody waits for others with a transaction open
        html = render_weekly(service.weekly.read(scope, its), service.settings.address)
    response = HTMLResponse(html)
    if download:
        response.headers["Content-Disposition"] = f'attachment; filename="ratchet-{its}.html"'
    return secure(response, request, policy=report_policy())
