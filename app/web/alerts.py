"""Pages of alerts: the list with its filters and answers to several at once, and one with its history."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request, Response

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.alerts import AlertState
from app.domain.errors import DataError
from app.services.access import Principal, Scope
from app.services.alerts.alert_states import StateWord, states_of
from app.services.alerts.answer_alerts import Answer, answer_alerts
from app.services.alerts.detector_quality import read_quality
from app.services.alerts.read_alerts import list_alerts, read_alert
from app.services.alerts.report_missed import report_missed
from app.services.saved_searches import kept_searches
from app.store.repositories import projects
from app.web.addresses import address
from app.web.deps import Answerer, Before, Id, Projects, Text, Viewer
from app.web.following import lead_to
from app.web.guard import local_path
from app.web.render import page
from app.web.sign_in import Form
from app.wiring import Service

router = Router()

ALERT = "alert "
"""How the fields of the list's form are called that choose alerts."""


@router.get("/alerts")
def show_alerts(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    project: Text = "",
    state: StateWord = "open",
    owner: Annotated[str | None, Query(max_length=200, pattern=r"^[^\x00]*$")] = None,
    before: Before = None,
) -> Response:
    """Show alerts, the newest first: those that are open, if nothing else is wanted."""
    return _list(request, service, session, viewer, project_ids, project, state, owner, before)


def _list(
    request: Request,
    service: Service,
    session: SessionDep,
    viewer: Principal | None,
    project_ids: frozenset[int] | None,
    project: str = "",
    state: StateWord = "open",
    owner: str | None = None,
    before: int | None = None,
    problem: str = "",
) -> Response:
    found = list_alerts(
        session,
        viewer,
        settings=service.settings,
        project=project or None,
        states=states_of((state,)),
        owner=owner,
        before=before,
    )
    given = {"project": project, "state": "" if state == "open" else state, "owner": owner, "before": before}
    return page(
        request,
        "alerts.html",
        status=422 if problem else 200,
        found=found,
        given=given,
        state=str(state),
        problem=problem,
        projects=projects.names(session, project_ids=project_ids),
        quality=read_quality(session, viewer, project or None),
        may_answer=_may_answer(viewer),
        may_notify=viewer is not None and viewer.may(Scope.NOTIFIERS_WRITE),
        may_answer_of=lambda its: _may_answer(viewer, its.project_id),
        kept=kept_searches(session, viewer, "/alerts"),
        ALERT=ALERT,
        here_with=lambda **changed: address("/alerts", given | {"before": None} | changed),
    )


@router.post("/alerts")
def take_answers(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    answerer: Answerer,
    project_ids: Projects,
    form: Form,
) -> Response:
    """Answer the chosen alerts, and lead back to the list."""
    chosen = [name.removeprefix(ALERT) for name in form if name.startswith(ALERT)]
    try:
        answer_alerts(
            session, answerer, [int(id_) for id_ in chosen if id_.isdigit()], _answer(form, answerer)
        )
    except DataError as error:
        return _list(request, service, session, answerer, project_ids, problem=str(error))
    return lead_to(request, local_path(form.get("next") or "/alerts"), service, session)


@router.get("/alerts/{alert_id}")
def show_alert(
    request: Request, service: ServiceDep, session: SessionDep, viewer: Viewer, alert_id: Id
) -> Response:
    """Show one alert."""
    return _one(request, service, session, viewer, alert_id)


def _one(
    request: Request,
    service: Service,
    session: SessionDep,
    viewer: Principal | None,
    alert_id: int,
    problem: str = "",
) -> Response:
    alert = read_alert(session, viewer, alert_id, settings=service.settings)
    return page(
        request,
        "alert.html",
        status=422 if problem else 200,
        alert=alert,
        problem=problem,
        may_answer=_may_answer(viewer, alert.line.project_id),
    )


@router.post("/alerts/{alert_id}")
def take_answer(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    answerer: Answerer,
    alert_id: Id,
    form: Form,
) -> Response:
    """Answer one alert, and lead back to it."""
    try:
        answer_alerts(session, answerer, [alert_id], _answer(form, answerer))
    except DataError as error:
        return _one(request, service, session, answerer, alert_id, str(error))
    return lead_to(request, f"/alerts/{alert_id}", service, session)


@router.post("/series/{series_id}/missed")
def take_missed(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    answerer: Answerer,
    series_id: Id,
    form: Form,
) -> Response:
    """Store that a change was missed, and lead back to the series."""
    branch = form.get("branch") or None
    report_missed(
        session, answerer, series_id, form.get("commit", "").strip(), branch=branch, note=form.get("note", "")
    )
    back = address(f"/series/{series_id}", {"branch": branch})
    return lead_to(request, back, service, session)


def _answer(form: dict[str, str], answerer: Principal) -> Answer:
    """Return what a filled form says. `take` makes them the answerer's own."""
    state = form.get("state", "")
    if state and state not in set(AlertState):
        raise DataError(f"there is no state {state!r}")
    owner = answerer.name if form.get("take") else form.get("owner", "")
    # What is left as it was shown says nothing.
    is_meant = bool(form.get("take")) or owner != form.get("had", "")
    return Answer(AlertState(state) if state else None, owner if is_meant else None, form.get("comment", ""))


def _may_answer(viewer: Principal | None, project_id: int | None = None) -> bool:
    """Say whether the viewer may answer alerts of a project, or of any."""
    return viewer is not None and viewer.may(Scope.ALERTS_WRITE, project_id)
