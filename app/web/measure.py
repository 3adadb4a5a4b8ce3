"""Pages of what is measured besides pull requests and pushes: the form to ask for it, schedules, one request."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Query, Request, Response
from starlette.responses import RedirectResponse

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import ConflictError, DataError
from app.services.access import Principal, Scope
from app.services.forge.ask_measure import Wanted, ask_measure, visible_request
from app.services.forge.measure_again import measure_again
from app.services.forge.read_measurable import read_measurable
from app.services.visibility import visible_project
from app.web.checks import require_visible
from app.web.deps import Asker, Id, Projects, Viewer
from app.web.following import lead_to
from app.web.guard import secure
from app.web.render import page
from app.web.sign_in import Form

router = Router()

REFRESH_S = 2
SUITE = "suite "
"""How the fields of the form are called that choose suites."""

_PULL = re.compile(r"#?(\d{1,9})")
"""A pull request's number. Who means a commit whose id begins with digits alone gives ten of them, or more."""

Project = Annotated[str, Query(min_length=1, max_length=1_000)]


@router.get("/measure")
def show_measurable(request: Request, session: SessionDep, viewer: Viewer, project: Project) -> Response:
    """Show what can be asked of a project, and what its schedules do."""
    return _form(request, session, viewer, project, {})


def _form(
    request: Request,
    session: SessionDep,
    viewer: Principal | None,
    project: str,
    filled: dict[str, str],
    problem: str | None = None,
) -> Response:
    its = read_measurable(session, viewer, project)
    may_ask = viewer is not None and viewer.may(Scope.JOBS_CREATE, its.project_id)
    return page(
        request,
        "measure.html",
        status=422 if problem else 200,
        its=its,
        may_ask=may_ask,
        filled=filled,
        problem=problem,
        SUITE=SUITE,
    )


@router.post("/measure")
def take_wish(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    asker: Asker,
    form: Form,
) -> Response:
    """Have a pull request or a commit measured, and lead to what comes of it."""
    project = visible_project(session, asker, form.get("project", ""))
    try:
        asked = ask_measure(session, asker, project, _wanted(form))
    except (ConflictError, DataError) as error:
        return _form(request, session, asker, project.name, form, str(error))
    return lead_to(request, f"/measure/{asked.id}", service, session)


def _wanted(form: dict[str, str]) -> Wanted:
    """Return what a filled form asks for. Raises DataError where it names nothing, or a base for a pull request."""
    what, base = form.get("what", "").strip(), form.get("base", "").strip() or None
    suites = tuple(name.removeprefix(SUITE) for name in form if name.startswith(SUITE))
    if not what:
        raise DataError("Name a pull request, a branch or a commit.")
    number = _PULL.fullmatch(what)
    if number is None:
        return Wanted(head=what, base=base, suites=suites)
    if base is not None:
        raise DataError("A pull request has its own base: leave that field empty.")
    return Wanted(pull=int(number[1]), suites=suites)


@router.post("/checks/{check_id}/again")
def take_wish_again(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    asker: Asker,
    project_ids: Projects,
    check_id: Id,
    form: Form,
) -> Response:
    """Have a check made again, and lead to what comes of it."""
    require_visible(session, project_ids, check_id)
    again = measure_again(session, asker, check_id)
    return lead_to(request, f"/measure/{again.id}", service, session)


@router.get("/measure/{request_id}")
def show_request(request: Request, session: SessionDep, viewer: Viewer, request_id: Id) -> Response:
    """Lead on to the check of a request, or say what it waits for, or why there is none."""
    asked, project = visible_request(session, viewer, request_id)
    if asked.check_id is not None:
        return secure(RedirectResponse(f"/checks/{asked.check_id}", 303), request)
    every = REFRESH_S if asked.outcome is None else None
    return page(request, "measure_request.html", asked=asked, project=project.name, refresh_s=every)
