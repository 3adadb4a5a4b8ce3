"""The page of who may do what in a project, for those who administer it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from urllib.parse import quote

from fastapi import Path, Request, Response
from sqlalchemy.orm import Session

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import DataError, NotFoundError
from app.services.access import Principal, Role
from app.services.own_tokens import GIVEN, MOST_DAYS
from app.services.project_access import (
    administered_project,
    issue_project_token,
    read_access,
    revoke_project_token,
    set_member,
)
from app.web.deps import SignedIn
from app.web.following import lead_to
from app.web.forms import SCOPE, days_in, scopes_in
from app.web.issued import issued_in, lead_to_token, shown_to
from app.web.render import page
from app.web.sign_in import Form

router = Router(prefix="/projects/{project:path}/access")

ProjectName = Annotated[str, Path(max_length=255, pattern=r"^[^\x00]*$")]


@router.get("")
def show_access(request: Request, session: SessionDep, person: SignedIn, project: ProjectName) -> Response:
    """Show the people who have a role in the project, and its tokens."""
    return _page(request, session, person, project)


def _page(
    request: Request,
    session: Session,
    person: Principal,
    project: str,
    *,
    status: int = 200,
    problem: str = "",
    part: str = "",
    filled: Mapping[str, str] | None = None,
) -> Response:
    its = read_access(session, person, project)
    issued = issued_in(request, (token.id for token in its.tokens))
    shown = page(
        request,
        "project_access.html",
        status=status,
        its=its,
        home=_path(project),
        roles=list(Role),
        scopes=GIVEN,
        most_days=MOST_DAYS,
        SCOPE=SCOPE,
        problem=problem,
        part=part,
        filled=filled or {},
        issued=issued,
    )
    return shown_to(request, shown, issued)


def _path(project: str) -> str:
    return f"/projects/{quote(project)}/access"


@router.post("/members")
def take_member(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    form: Form,
) -> Response:
    """Give somebody a role in the project, or take it."""
    administered_project(session, person, project)
    try:
        set_member(session, person, project, form.get("user", ""), _role(form))
    except (DataError, NotFoundError) as error:
        return _page(
            request, session, person, project, status=422, problem=str(error), part="member", filled=form
        )
    return lead_to(request, _path(project), service, session)


def _role(form: dict[str, str]) -> Role | None:
    """Return the role that a form gives, None for taking it. Raises DataError for what is none."""
    text = form.get("role", "")
    if text == "none":
        return None
    if text not in set(Role):
        raise DataError("Choose a role.")
    return Role(text)


@router.post("/tokens")
def take_token(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    form: Form,
) -> Response:
    """Issue a token of the project's, and lead to where it is shown this once."""
    try:
        text = issue_project_token(
            session, person, project, form.get("name", ""), scopes_in(form), days=days_in(form)
        )
    except DataError as error:
        return _page(
            request, session, person, project, status=422, problem=str(error), part="token", filled=form
        )
    return lead_to_token(request, _path(project), text, service, session)


@router.post("/tokens/{public_id}/revoke")
def take_revocation(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    person: SignedIn,
    project: ProjectName,
    public_id: Annotated[str, Path(pattern=r"^[0-9a-f]{1,64}$")],
    form: Form,
) -> Response:
    """Revoke a token that is bound to the project."""
    revoke_project_token(session, person, project, public_id)
    return lead_to(request, _path(project), service, session)
