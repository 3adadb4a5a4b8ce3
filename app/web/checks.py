"""Pages of checks: the list, one check with its report, and the report as a file."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from starlette.responses import HTMLResponse

from app.api.deps import SessionDep
from app.domain.errors import NotFoundError
from app.reports.view import report_view
from app.services.list_checks import list_checks
from app.services.read_check import read_check
from app.services.render_report import report_html
from app.store.repositories import checks
from app.web.deps import Before, BoundProject, Id, Live
from app.web.guard import report_policy, secure
from app.web.render import page

router = APIRouter()

REFRESH_LIST_S = 5
REFRESH_CHECK_S = 2


def require_visible(check_id: Id, session: SessionDep, project_id: BoundProject) -> int:
    """Return the check's id. Raises NotFoundError for an unknown one, and for one that is not to be seen."""
    check = checks.one(session, check_id)
    if check is None or project_id not in (None, check.project_id):
        raise NotFoundError(f"there is no check {check_id}")
    return check_id


VisibleCheck = Annotated[int, Depends(require_visible)]


@router.get("/")
def show_checks(
    request: Request,
    session: SessionDep,
    project_id: BoundProject,
    project: Annotated[str | None, Query(max_length=1_000)] = None,
    before: Before = None,
    live: Live = True,
) -> Response:
    """Show the newest checks."""
    found = list_checks(session, project=project or None, project_id=project_id, before=before)
    every = REFRESH_LIST_S if found.is_moving and live and before is None else None
    return page(request, "checks.html", found=found, project=project or None, before=before, refresh_s=every)


@router.get("/checks/{check_id}")
def show_check(request: Request, session: SessionDep, check_id: VisibleCheck, live: Live = True) -> Response:
    """Show one check: its verdict, its jobs, and what its report says."""
    result = read_check(session, check_id)
    every = REFRESH_CHECK_S if result.state != "complete" and live else None
    return page(request, "check.html", result=result, view=report_view(result), refresh_s=every)


@router.get("/checks/{check_id}/report")
def show_report(
    request: Request, session: SessionDep, check_id: VisibleCheck, download: bool = False
) -> Response:
    """Return the self-contained report, to look at or to keep."""
    response = HTMLResponse(report_html(session, check_id))
    if download:
        response.headers["Content-Disposition"] = f'attachment; filename="ratchet-check-{check_id}.html"'
    return secure(response, request, policy=report_policy())
