"""Pages of checks: the list, one check with its report, and the report as a file."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fastapi import Request, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import NotFoundError
from app.reports.view import report_view
from app.services.forge.measure_again import can_be_measured_again
from app.services.forge.shown_pull import shown_pull
from app.services.list_checks import list_checks
from app.services.read_attention import read_attention
from app.services.read_check import read_check
from app.services.render_report import report_html
from app.services.visibility import visible_project
from app.store.repositories import checks, forge
from app.web.addresses import address
from app.web.check_jobs import job_told
from app.web.deps import Before, Id, Live, Projects, Text, Viewer
from app.web.guard import report_policy, secure
from app.web.render import page

router = Router()

REFRESH_LIST_S = 5
REFRESH_CHECK_S = 2


def require_visible(session: Session, project_ids: frozenset[int] | None, check_id: int) -> None:
    """Raise NotFoundError for an unknown check, and for one that is of none of these projects."""
    check = checks.one(session, check_id)
    if check is None or (project_ids is not None and check.project_id not in project_ids):
        raise NotFoundError(f"there is no check {check_id}")


@router.get("/")
def show_checks(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    project: Text = "",
    before: Before = None,
    live: Live = True,
) -> Response:
    """Show what needs attention, and the newest checks. A project that is not there is not found."""
    if project:
        visible_project(session, viewer, project)
    found = list_checks(session, project=project or None, project_ids=project_ids, before=before)
    every = REFRESH_LIST_S if found.is_moving and live and before is None else None
    return page(
        request,
        "checks.html",
        found=found,
        project=project or None,
        measurable=_measurable(found.projects, project, forge.connected_projects(session)),
        attention=read_attention(session, service.settings, viewer, project=project or None)
        if before is None
        else None,
        before=before,
        address_of_project=lambda name: address("/", {"project": name}),
        refresh_s=every,
    )


def _measurable(shown: Sequence[str], chosen: str, connected: Collection[str]) -> str | None:
    """Return the one project that the list is of, if its repository can be reached."""
    name = chosen or (shown[0] if len(shown) == 1 else None)
    return name if name in connected and name in shown else None


@router.get("/checks/{check_id}")
def show_check(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    check_id: Id,
    live: Live = True,
) -> Response:
    """Show one check: its verdict, its jobs, and what its report says."""
    require_visible(session, project_ids, check_id)
    result = read_check(session, check_id)
    is_done = result.state == "complete"
    every = REFRESH_CHECK_S if not is_done and live else None
    again = is_done and can_be_measured_again(session, viewer, check_id)
    return page(
        request,
        "check.html",
        result=result,
        view=report_view(result),
        pull=shown_pull(session, service.settings, check_id),
        refresh_s=every,
        can_repeat=again,
        job_told=job_told,
    )


@router.get("/checks/{check_id}/report")
def show_report(
    request: Request, session: SessionDep, project_ids: Projects, check_id: Id, download: bool = False
) -> Response:
    """Return the self-contained report, to look at or to keep."""
    require_visible(session, project_ids, check_id)
    response = HTMLResponse(report_html(session, check_id))
    if download:
        response.headers["Content-Disposition"] = f'attachment; filename="ratchet-check-{check_id}.html"'
    return secure(response, request, policy=report_policy())
