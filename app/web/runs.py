"""Pages of runs: the list, one run with its results, invocations and raw timings, and one that was posted."""

from __future__ import annotations

from fastapi import Request, Response

from app.api.deps import SessionDep
from app.api.routing import Router
from app.services.list_runs import list_runs
from app.services.read_run import read_run
from app.services.read_upload import read_upload
from app.web.deps import Before, Id, Live, PageNumber, Projects
from app.web.render import page

router = Router(prefix="/runs")

REFRESH_S = 5


@router.get("")
def show_runs(
    request: Request, session: SessionDep, project_ids: Projects, before: Before = None, live: Live = True
) -> Response:
    """Show the newest runs."""
    found = list_runs(session, project_ids=project_ids, before=before)
    every = REFRESH_S if found.is_moving and live and before is None else None
    return page(request, "runs.html", found=found, before=before, refresh_s=every)


@router.get("/upload-{upload_id}")
def show_upload(
    request: Request, session: SessionDep, project_ids: Projects, upload_id: Id, results: PageNumber = 1
) -> Response:
    """Show what somebody posted; `results` is the page of its results."""
    upload = read_upload(session, upload_id, project_ids=project_ids, page=results)
    return page(request, "upload.html", upload=upload)


@router.get("/{run_id}")
def show_run(
    request: Request,
    session: SessionDep,
    project_ids: Projects,
    run_id: Id,
    cases: PageNumber = 1,
    results: PageNumber = 1,
    live: Live = True,
) -> Response:
    """Show one run; `cases` is the page of its raw timings, `results` that of its results."""
    run = read_run(session, run_id, project_ids=project_ids, page=cases, results_page=results)
    every = REFRESH_S if run.line.outcome is None and live and cases == results == 1 else None
    return page(request, "run.html", run=run, refresh_s=every)
