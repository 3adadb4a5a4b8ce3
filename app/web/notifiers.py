"""The pages of who is told of a project's alerts: the list, and each with what it wants and what it was told."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Request, Response
from sqlalchemy.orm import Session

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import ConflictError, DataError, UnavailableError
from app.domain.notifications import NAME, WEEKLY_REPORT, About, NotifierKind, Pace, Wishes
from app.integrations.notifiers import CHANNELS
from app.services.access import Principal
from app.services.notify.manage_notifiers import (
    add_notifier,
    change_notifier,
    managed_project,
    pause_notifier,
    remove_notifier,
    resume_notifier,
    send_test,
)
from app.services.notify.read_notifiers import read_notifier, read_notifiers
from app.web.deps import SignedIn
from app.web.following import lead_to
from app.web.forms import shown_once
from app.web.notifier_form import ABOUT, DAYS, address_in, filled, kind_in, wishes_in
from app.web.render import page
from app.web.sign_in import Form
from app.wiring import Service

router = Router(prefix="/projects/{project:path}/notifiers")

ProjectName = Annotated[str, Path(max_length=255, pattern=r"^[^\x00]*$")]
NotifierName = Annotated[str, Path(pattern=NAME)]

WRONG = (DataError, ConflictError, UnavailableError)
"""What a form is shown again for, with the words of it."""


@router.get("")
def show_notifiers(
    request: Request, service: ServiceDep, session: SessionDep, person: SignedIn, project: ProjectName
) -> Response:
    """Show who is told."""
    return _list(request, service, session, person, project)


def _list(
    request: Request,
    service: Service,
    session: Session,
    person: Principal,
    project: str,
    *,
    form: dict[str, str] | None = None,
    problem: str = "",
    made: str = "",
) -> Response:
    return page(
        request,
        "notifiers.html",
        status=422 if problem else 200,
        its=read_notifiers(session, person, project),
        home=_path(project),
        channels={kind: CHANNELS[kind] for kind in NotifierKind},
        sends_mail=bool(service.settings.smtp_url),
        filled=form if form is not None else filled(Wishes()),
        problem=problem,
        made=made,
        **_words(),
    )


def _words() -> dict[str, object]:
    return {"ABOUT": ABOUT, "abouts": list(About), "paces": list(Pace), "days": DAYS, "REPORT": WEEKLY_REPORT}


def _path(project: str, name: str = "") -> str:
    return f"/projects/{quote(project)}/notifiers" + (f"/{name}" if name else "")


@router.post("")
def take_notifier(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    form: Form,
) -> Response:
    """Add a notifier; a key that was made is shown this once."""
    managed_project(session, person, project)
    try:
        kind = kind_in(form)
        added = add_notifier(
            session,
            service.settings,
            person,
            project,
            name=form.get("name", "").strip(),
            kind=kind,
            address=address_in(form, kind),
            wishes=wishes_in(form),
        )
    except WRONG as error:
        shown = {name: value for name, value in form.items() if name not in ("where", "key")}
        return _list(request, service, session, person, project, form=shown, problem=str(error))
    if added.made:
        return shown_once(_list(request, service, session, person, project, made=added.made["key"]))
    return lead_to(request, _path(project, added.name), service, session)


@router.get("/{name}")
def show_notifier(
    request: Request, session: SessionDep, person: SignedIn, project: ProjectName, name: NotifierName
) -> Response:
    """Show one notifier."""
    return _one(request, session, person, project, name)


def _one(
    request: Request,
    session: Session,
    person: Principal,
    project: str,
    name: str,
    *,
    form: dict[str, str] | None = None,
    problem: str = "",
) -> Response:
    its = read_notifier(session, person, project, name)
    return page(
        request,
        "notifier.html",
        status=422 if problem else 200,
        its=its,
        project=project,
        home=_path(project),
        here_path=_path(project, name),
        channel=CHANNELS[its.kind],
        filled=form if form is not None else filled(its.wishes),
        problem=problem,
        **_words(),
    )


@router.post("/{name}")
def take_change(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    name: NotifierName,
    form: Form,
) -> Response:
    """Change a notifier; an address that is left empty stays."""
    its = read_notifier(session, person, project, name)
    try:
        change_notifier(
            session,
            service.settings,
            person,
            project,
            name,
            address=address_in(form, its.kind),
            wishes=wishes_in(form),
        )
    except WRONG as error:
        shown = {field: value for field, value in form.items() if field not in ("where", "key")}
        return _one(request, session, person, project, name, form=shown, problem=str(error))
    return lead_to(request, _path(project, name), service, session)


@router.post("/{name}/test")
def take_test(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    name: NotifierName,
    form: Form,
) -> Response:
    """Have a test message sent, and show what becomes of it."""
    try:
        send_test(session, service.settings, person, project, name)
    except WRONG as error:
        return _one(request, session, person, project, name, problem=str(error))
    return lead_to(request, _path(project, name), service, session)


@router.post("/{name}/pause")
def take_pause(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    name: NotifierName,
    form: Form,
) -> Response:
    """Tell it nothing for now."""
    pause_notifier(session, person, project, name)
    return lead_to(request, _path(project, name), service, session)


@router.post("/{name}/resume")
def take_resumption(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    name: NotifierName,
    form: Form,
) -> Response:
    """Go on telling it."""
    resume_notifier(session, person, project, name)
    return lead_to(request, _path(project, name), service, session)


@router.post("/{name}/remove")
def take_removal(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    name: NotifierName,
    form: Form,
) -> Response:
    """Remove it."""
    remove_notifier(session, person, project, name)
    return lead_to(request, _path(project), service, session)
