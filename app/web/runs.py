"""Pages of runs: the list, one run with its results, invocations and raw timings, and one that was posted."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from app.api.deps import SessionDep
from app.api.routing import Router
from app.domain.errors import UsageError
from app.services.find_runs import find_runs
from app.services.list_runs import PAGE, RunLine
from app.services.read_run import read_run
from app.services.read_upload import read_upload
from app.services.run_choices import run_choices
from app.web import run_outcomes
from app.web.deps import Id, Live, PageNumber, Projects, Text, Viewer
from app.web.render import page
from app.web.run_lines import run_lines
from app.web.run_words import run_words
from app.web.runs_wanted import RunsWanted

router = Router(prefix="/runs")

REFRESH_S = 5


@router.get("")
def show_runs(
    request: Request,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    project: Text = "",
    commit: Text = "",
    device_class: Text = "",
    before: Text = "",
    live: Live = True,
) -> Response:
    """Show the newest runs, measured and posted, of what is chosen."""
    wanted = RunsWanted(project.strip(), commit.strip(), device_class.strip(), before.strip())
    found: dict[str, Any] = {"runs": [], "next": None}
    trouble: UsageError | None = None
    try:
        found = find_runs(session, viewer, limit=PAGE, **_sought(wanted))
    except UsageError as error:
        trouble = error
    lines = run_lines(session, found["runs"])
    choices = run_choices(session, wanted.project, project_ids=project_ids)
    measured = [line for line in lines if isinstance(line, RunLine)]
    is_moving = any(line.outcome is None for line in measured)
    return page(
        request,
        "runs.html",
        status=400 if trouble else 200,
        lines=lines,
        outcomes=run_outcomes.outcome_words(measured),
        older=found["next"],
        posted=run_outcomes.POSTED,
        wanted=wanted,
        trouble=trouble,
        projects=choices.projects,
        device_classes=wanted.devices_beside(choices.device_classes),
        is_moving=is_moving,
        refresh_s=REFRESH_S if is_moving and live and not wanted.before else None,
    )


def _sought(wanted: RunsWanted) -> dict[str, Any]:
    return {
        "project": wanted.project or None,
        "commit": wanted.commit or None,
        "device_class": wanted.device_class or None,
        "before": wanted.before or None,
        "benchmark": None,
        "since": None,
    }


@router.get("/upload-{upload_id}")
def show_upload(
    request: Request,
    session: SessionDep,
    project_ids: Projects,
    upload_id: Id,
    results: PageNumber = 1,
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
    return page(
        request,
        "run.html",
        run=run,
        outcome=run_outcomes.outcome_word(run.line),
        told=run_words(run),
        refresh_s=every,
    )
