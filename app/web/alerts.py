"""Pages of alerts: the list with its filters and answers to several at once, and one with its history."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response

from app.api.deps import ServiceDep, SessionDep
from app.api.errors import status_of
from app.api.routing import Router
from app.domain.errors import ConflictError, DataError, NotFoundError
from app.services.access import Principal, Scope
from app.services.alerts.alert_states import StateWord, states_of
from app.services.alerts.answer_alerts import answer_alerts
from app.services.alerts.detector_quality import read_quality
from app.services.alerts.known_people import known_people
from app.services.alerts.read_alerts import list_alerts, read_alert
from app.services.alerts.report_missed import report_missed
from app.services.saved_searches import kept_searches
from app.store.repositories import projects
from app.web.addresses import address
from app.web.alerts_form import ALERT, answer_in, chosen_in
from app.web.alerts_wanted import LIST, AlertsWanted, Name, wanted_at
from app.web.deps import Answerer, Before, Id, Projects, Text, Viewer
from app.web.following import lead_to
from app.web.forms import text_in
from app.web.render import page
from app.web.series import series_page
from app.web.sign_in import Form
from app.wiring import Service

router = Router()


@router.get("/alerts")
def show_alerts(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    project: Text = "",
    state: StateWord = "open",
    owner: Name | None = None,
    before: Before = None,
) -> Response:
    """Show alerts, the newest first: those that are open, if nothing else is wanted. An empty owner is nobody."""
    return _list(request, service, session, viewer, project_ids, AlertsWanted(project, state, owner, before))


def _list(
    request: Request,
    service: Service,
    session: SessionDep,
    viewer: Principal | None,
    project_ids: frozenset[int] | None,
    wanted: AlertsWanted,
    *,
    status: int = 200,
    form: Mapping[str, str] | None = None,
    problem: str = "",
) -> Response:
    found = list_alerts(
        session,
        viewer,
        settings=service.settings,
        project=wanted.project or None,
        states=states_of((wanted.state,)),
        owner=wanted.owner,
        before=wanted.before,
    )
    return page(
        request,
        "alerts.html",
        status=status,
        found=found,
        wanted=wanted,
        state=str(wanted.state),
        filled=form or {},
        problem=problem,
        projects=projects.names(session, project_ids=project_ids),
        quality=read_quality(session, viewer, wanted.project or None),
        may_answer=_may_answer(viewer),
        may_notify=viewer is not None and viewer.may(Scope.NOTIFIERS_WRITE),
        may_answer_of=lambda its: _may_answer(viewer, its.project_id),
        kept=kept_searches(session, viewer, LIST),
        ALERT=ALERT,
        here_with=wanted.address,
        address_of_project=lambda name: wanted.address(project=name),
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
    wanted = wanted_at(form.get("next"))
    try:
        answer_alerts(session, answerer, chosen_in(form), answer_in(form, answerer))
    except (DataError, NotFoundError) as error:
        return _list(
            request,
            service,
            session,
            answerer,
            project_ids,
            wanted,
            status=status_of(error),
            form=form,
            problem=str(error),
        )
    return lead_to(request, wanted.here, service, session)


@router.get("/alerts/{alert_id}")
def show_alert(
    request: Request, service: ServiceDep, session: SessionDep, viewer: Viewer, alert_id: Id, back: str = ""
) -> Response:
    """Show one alert; `back` is the list that it was found in, else the page before tells."""
    return _one(request, service, session, viewer, alert_id, back or request.headers.get("referer"))


def _one(
    request: Request,
    service: Service,
    session: SessionDep,
    viewer: Principal | None,
    alert_id: int,
    back: str | None,
    *,
    form: Mapping[str, str] | None = None,
    problem: str = "",
) -> Response:
    alert = read_alert(session, viewer, alert_id, settings=service.settings)
    may_answer = _may_answer(viewer, alert.line.project_id)
    owner = alert.line.owner or ""
    return page(
        request,
        "alert.html",
        status=422 if problem else 200,
        alert=alert,
        back=wanted_at(back).here,
        filled={"owner": owner, "had": owner} if form is None else form,
        problem=problem,
        may_answer=may_answer,
        people=known_people(session, viewer, alert.line.project_id) if viewer and may_answer else (),
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
    back = wanted_at(form.get("back")).here
    try:
        answer_alerts(session, answerer, [alert_id], answer_in(form, answerer))
    except DataError as error:
        return _one(request, service, session, answerer, alert_id, back, form=form, problem=str(error))
    here = address(f"/alerts/{alert_id}", {"back": back if back != LIST else ""})
    return lead_to(request, here, service, session)


@router.post("/series/{series_id}/missed")
def take_missed(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    answerer: Answerer,
    series_id: Id,
    form: Form,
) -> Response:
    """Store that a change was missed, and lead back to where the series' page lists it."""
    try:
        branch = text_in(form, "branch") or None
        _tell_missed(session, answerer, series_id, branch, form)
    except (DataError, NotFoundError, ConflictError) as error:
        return series_page(
            request,
            service,
            session,
            answerer,
            series_id,
            status=status_of(error),
            branch=form.get("branch", "").replace("\x00", ""),
            filled=form,
            problem=str(error),
        )
    back = address(f"/series/{series_id}", {"branch": branch})
    return lead_to(request, f"{back}#missed", service, session)


def _tell_missed(
    session: SessionDep, answerer: Principal, series_id: int, branch: str | None, form: Mapping[str, str]
) -> None:
    """Store it. Raises ConflictError where somebody has told of that commit before."""
    commit, note = text_in(form, "commit").strip(), text_in(form, "note")
    if not report_missed(session, answerer, series_id, commit, branch=branch, note=note):
        raise ConflictError(f"somebody has told of {commit[:10]} already: it is listed here")


def _may_answer(viewer: Principal | None, project_id: int | None = None) -> bool:
    """Say whether the viewer may answer alerts of a project, or of any."""
    return viewer is not None and viewer.may(Scope.ALERTS_WRITE, project_id)
