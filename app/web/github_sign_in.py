"""Signing in with GitHub, and linking an account there: a browser leaves by a form, and comes back with a code.

A form cannot lead to GitHub by itself: what it is answered may only lead to pages of ours (`form-action`), also where
GitHub has a company's own sign-in before it. So the answer is a page, which the browser leaves on its own.
"""

from __future__ import annotations

import logging
from math import ceil
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from starlette.responses import RedirectResponse

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router, asking
from app.domain.errors import AccessError, ConflictError, NotFoundError, UnavailableError
from app.integrations.forge import ForgeBusyError
from app.integrations.github.identity import CALLBACK, Identity, NotSetUpError, SignInApp, identify
from app.reports.words import count
from app.services.github_sign_in import (
    WITHIN,
    begin_visit,
    end_visit,
    link_own,
    note_refusal,
    sign_in_by_github,
)
from app.services.own_account import may_link, unlink_own
from app.services.sign_in import Browser
from app.store.tables import GitHubVisit
from app.web.account import account_page
from app.web.deps import Somebody, Text, look
from app.web.following import lead_to
from app.web.forms import shown_once
from app.web.guard import cookie_of, delete_cookie, local_path, secure, set_cookie
from app.web.render import page
from app.web.sign_in import (
    Form,
    browser_of,
    counted,
    sign_in_page,
    signed_in,
    too_often,
    too_often_page,
    waiting,
)
from app.wiring import Service

log = logging.getLogger(__name__)

COOKIE = "ratchet_github"
"""What a browser at GitHub is known by when it is back."""

AWAY_S = 60.0

LATE = (
    "This sign-in was begun too long ago, or in another browser, or has been used. Begin again at {address}, and come "
    "back from GitHub within {minutes}."
)
UNKNOWN = (
    "The GitHub account “{login}” does not sign in here. Ask whoever administers this service to link it with yours "
    "(ratchet user link NAME --github {login})."
)
OF_ORGANIZATION = (
    " An organization that lets its members in has to have allowed this application, and you to have accepted its "
    "invitation."
)
BUSY = "GitHub takes no more questions just now. Try again in {minutes}, or sign in another way."
AWAY = "GitHub does not answer as it should just now. Try again in a minute, or sign in another way."
NOT_SET_UP = (
    "GitHub does not know this service as it is set up. Sign in another way; whoever administers the service finds "
    "the reason in the log of ratchet api."
)


async def sign_in_app(service: ServiceDep) -> SignInApp:
    """Return what the service is to GitHub. Raises NotFoundError where nobody signs in with it."""
    if not service.settings.has_github_login:
        raise NotFoundError("nobody signs in with GitHub here: RATCHET_GITHUB_LOGIN_CLIENT_ID is not set")
    return SignInApp.of(service.settings)


WithGitHub = Annotated[SignInApp, Depends(sign_in_app)]

router = Router()
needs_app = [Depends(sign_in_app)]
"""Before all else: whoever asks is told that there is nothing here."""


# --- the way there ---


@router.post("/sign-in/github", dependencies=needs_app)
def take_wish(request: Request, service: ServiceDep, app: WithGitHub, form: Form) -> Response:
    """Have the browser go to GitHub, and lead on from there to where it wanted to go."""
    target = local_path(form.get("next"))
    wait_s = counted(service, None, browser_of(request))
    if wait_s:
        return too_often_page(request, target, wait_s, way="github")
    return _leave(request, service, app, target)


@router.post("/me/github", dependencies=needs_app)
def take_wish_to_link(
    request: Request, service: ServiceDep, session: SessionDep, app: WithGitHub, person: Somebody, form: Form
) -> Response:
    """Have the browser go to GitHub, to link the account there with the one here."""
    wait_s = counted(service, None, browser_of(request))
    if wait_s:
        told = too_often(wait_s)
        return account_page(request, service, session, person, status=429, problem=told, part="github")
    try:
        may_link(session, person)
    except ConflictError as error:
        return account_page(request, service, session, person, status=409, problem=str(error), part="github")
    return _leave(request, service, app, "/me", user_id=person.user_id)


def _leave(
    request: Request, service: Service, app: SignInApp, leads_to: str, *, user_id: int | None = None
) -> Response:
    with service.database.session() as session:
        leaving = begin_visit(session, app, leads_to, user_id=user_id)
    host = urlsplit(app.web).netloc
    response = shown_once(page(request, "onward.html", to=leaving.to, host=host))
    set_cookie(response, request, leaving.verifier, name=COOKIE, max_age_s=WITHIN.total_seconds())
    return response


# --- the way back ---


@router.get(CALLBACK, dependencies=needs_app)
def take_return(
    request: Request,
    service: ServiceDep,
    app: WithGitHub,
    state: Text = "",
    code: Text = "",
    error: Text = "",
) -> Response:
    """Take a browser back from GitHub: begin a session, or link the account there with the one here."""
    verifier, browser = cookie_of(request, COOKIE) or "", browser_of(request)
    with service.database.session() as session:
        visit = end_visit(session, state, verifier, browser)
    if visit is None:
        told = LATE.format(address=service.settings.address, minutes=count(WITHIN.seconds // 60, "minute"))
        return sign_in_page(request, "/", told, status=401, way="github")
    try:
        identity = _identity(app, code, error, verifier)
        finish = _sign_in if visit.user_id is None else _link
        response = finish(request, service, visit, browser, identity)
    except (AccessError, ConflictError, UnavailableError) as problem:
        response = _failed(request, service, visit, browser, problem)
    delete_cookie(response, request, COOKIE)
    return response


def _identity(app: SignInApp, code: str, error: str, verifier: str) -> Identity:
    """Return whom GitHub names. Raises what `identify` raises; AccessError where it was not allowed to."""
    if error == "access_denied":
        raise AccessError("GitHub was not allowed to say who you are")
    if error or not code:
        raise NotSetUpError(f"GitHub sent a browser back with {error!r} in place of a code")
    identity = identify(app, code, verifier)
    for unknown in identity.unknown:
        log.warning("GitHub does not say who is a member of %s", unknown)
    return identity


def _sign_in(
    request: Request, service: Service, visit: GitHubVisit, browser: Browser, identity: Identity
) -> Response:
    with service.database.session() as session:
        cookie = sign_in_by_github(session, service.settings, identity, browser)
    if cookie is not None:
        return signed_in(request, visit.next, cookie)
    told = UNKNOWN.format(login=identity.account.login)
    if service.settings.github_login_organizations:
        told += OF_ORGANIZATION
    return sign_in_page(request, visit.next, told, status=401, way="github")


def _link(
    request: Request, service: Service, visit: GitHubVisit, browser: Browser, identity: Identity
) -> Response:
    with asking(request) as asked:
        link_own(asked.session, look(asked), visit, identity, browser)
    return secure(RedirectResponse(visit.next, 303), request)


# --- what goes wrong on it ---


def _failed(
    request: Request,
    service: Service,
    visit: GitHubVisit,
    browser: Browser,
    problem: AccessError | ConflictError | UnavailableError,
) -> Response:
    """Say on the page that the browser came from what went wrong there, and what to do."""
    status, told, wait_s = _told(problem)
    if isinstance(problem, UnavailableError):
        log.warning("signing in with GitHub: %s", problem)
    with asking(request) as asked:
        session, person = asked.session, look(asked) if visit.user_id is not None else None
        if person is not None and person.is_person:
            response = account_page(
                request, service, session, person, status=status, problem=told, part="github"
            )
        else:
            response = sign_in_page(request, visit.next, told, status=status, way="github")
            note_refusal(session, browser, why=str(problem))
    return waiting(response, wait_s) if wait_s else response


def _told(problem: AccessError | ConflictError | UnavailableError) -> tuple[int, str, float]:
    """Return status, sentence, and after how long to try again [s]; 0 where waiting is not what helps."""
    if isinstance(problem, AccessError):
        return 401, f"{_sentence(problem)} Begin again.", 0
    if isinstance(problem, ConflictError):
        return 409, _sentence(problem), 0
    if isinstance(problem, ForgeBusyError):
        return 503, BUSY.format(minutes=count(ceil(problem.wait_s / 60), "minute")), problem.wait_s
    if isinstance(problem, NotSetUpError):
        return 503, NOT_SET_UP, 0
    return 503, AWAY, AWAY_S


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return f"{text[0].upper()}{text[1:]}."


# --- no more ---


@router.post("/me/github/unlink")
def take_unlinking(
    request: Request, service: ServiceDep, session: SessionDep, person: Somebody, form: Form
) -> Response:
    """Have the account on GitHub open nothing any more."""
    try:
        unlink_own(session, person, cookie_of(request) or "")
    except ConflictError as error:
        return account_page(request, service, session, person, status=409, problem=str(error), part="github")
    return lead_to(request, "/me", service, session)
