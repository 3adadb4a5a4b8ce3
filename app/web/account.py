"""Pages of whoever is signed in: their roles, sessions, tokens, password and searches."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Request, Response
from sqlalchemy.orm import Session

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.domain.errors import AccessError, ConflictError, DataError
from app.services.access import Principal
from app.services.own_account import (
    administered_projects,
    change_password,
    end_other_sessions,
    end_own_session,
    read_account,
)
from app.services.own_tokens import MOST_DAYS, issue_own_token, revoke_own_token
from app.services.saved_searches import PAGES, forget_search, keep_search, kept_searches
from app.services.throttle import count_attempt
from app.web.deps import Id, SignedIn, Somebody
from app.web.following import lead_to
from app.web.forms import SCOPE, days_in, scopes_in
from app.web.guard import cookie_of, local_path
from app.web.issued import issued_in, lead_to_token, shown_to
from app.web.render import page
from app.web.sign_in import Form, browser_of, signed_in, too_often
from app.wiring import Service

router = Router(prefix="/me")


@router.get("")
def show_me(request: Request, service: ServiceDep, session: SessionDep, person: SignedIn) -> Response:
    """Show who is signed in, and what they may do."""
    return account_page(request, service, session, person)


def account_page(
    request: Request,
    service: Service,
    session: Session,
    person: Principal,
    *,
    status: int = 200,
    problem: str = "",
    part: str = "",
    filled: Mapping[str, str] | None = None,
) -> Response:
    """Return the page; `problem` is with the form that `part` names, `filled` what the token's form has in it."""
    is_person = person.is_person
    account = read_account(session, person, service.settings, cookie_of(request)) if is_person else None
    issued = issued_in(request, (its.public_id for its in account.tokens)) if account else ""
    shown = page(
        request,
        "me.html",
        status=status,
        person=person,
        account=account,
        administered=sorted(administered_projects(session, person)),
        searches=kept_searches(session, person),
        pages=PAGES,
        most_days=MOST_DAYS,
        SCOPE=SCOPE,
        with_github=service.settings.has_github_login,
        problem=problem,
        part=part,
        filled=filled or {},
        issued=issued,
    )
    return shown_to(request, shown, issued)


@router.post("/password")
def take_password(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, form: Form
) -> Response:
    """Change the password: all sessions end, and this browser begins a new one."""
    old, new, browser = form.get("old", ""), form.get("new", ""), browser_of(request)
    wait_s = count_attempt(session, person.name, browser.address)
    if wait_s:
        return account_page(
            request, service, session, person, status=429, problem=too_often(wait_s), part="password"
        )
    try:
        if new != form.get("again", ""):
            raise DataError("The new password was not typed the same twice; nothing was changed.")
        cookie = change_password(session, service.settings, person, old, new, browser)
    except (AccessError, DataError) as error:
        return account_page(
            request, service, session, person, status=422, problem=str(error), part="password"
        )
    return signed_in(request, "/me", cookie)


@router.post("/sessions/{number}/end")
def take_end(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, number: Id, form: Form
) -> Response:
    """End a session."""
    end_own_session(session, person, number)
    return lead_to(request, "/me", service, session)


@router.post("/sessions/end")
def take_end_of_others(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, form: Form
) -> Response:
    """End all sessions but this one."""
    end_other_sessions(session, person, cookie_of(request) or "")
    return lead_to(request, "/me", service, session)


@router.post("/tokens")
def take_token(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, form: Form
) -> Response:
    """Issue a token, and lead to where it is shown this once."""
    project, name = form.get("project", ""), form.get("name", "")
    try:
        text = issue_own_token(session, person, name, project, scopes_in(form), days=days_in(form))
    except (AccessError, DataError) as error:
        return account_page(
            request, service, session, person, status=422, problem=str(error), part="token", filled=form
        )
    return lead_to_token(request, "/me", text, service, session)


@router.post("/tokens/{token_id}/revoke")
def take_revocation(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, token_id: Id, form: Form
) -> Response:
    """Revoke a token."""
    revoke_own_token(session, person, token_id)
    return lead_to(request, "/me", service, session)


@router.post("/searches")
def take_search(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, form: Form
) -> Response:
    """Keep a search, and lead back to it."""
    try:
        address = keep_search(
            session, person, form.get("page", ""), form.get("query", ""), form.get("name", "")
        )
    except (ConflictError, DataError) as error:
        return account_page(request, service, session, person, status=422, problem=str(error), part="search")
    return lead_to(request, address, service, session)


@router.post("/searches/{search_id}/forget")
def take_forgetting(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, search_id: Id, form: Form
) -> Response:
    """Forget a search."""
    forget_search(session, person, search_id)
    return lead_to(request, local_path(form.get("next") or "/me"), service, session)
