"""Signing in, by name and password or with a token, and out: a session in a cookie that no script can read.

What the page's third way does, with GitHub, is in `github_sign_in`.
"""

from __future__ import annotations

from math import ceil
from typing import Annotated, Literal
from urllib.parse import parse_qs

from fastapi import Depends, Request, Response
from sqlalchemy.orm import Session
from starlette.responses import RedirectResponse

from app.api.deps import COOKIE, ServiceDep, SessionDep, read_body
from app.api.routing import Router
from app.config import ServiceSettings
from app.domain.errors import AccessError
from app.reports.words import count
from app.services.sign_in import Browser, sign_in_by_password, sign_in_by_token, sign_out
from app.services.throttle import count_attempt
from app.services.user_names import user_name
from app.web.guard import cookie_of, delete_cookie, local_path, require_same_origin, secure, set_cookie
from app.web.issued import COOKIE as ISSUED
from app.web.render import page
from app.wiring import Service

router = Router()

Way = Literal["name", "token", "github"]
"""A way to sign in; what is wrong is said with the one that was tried."""

MAX_FORM_B = 16 * 2**10

UNKNOWN_TOKEN = "This token is not valid here. It may be incomplete, expired, revoked, or of another service."  # noqa: S105


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a small form that one of our own pages sent."""
    require_same_origin(request)
    body = await read_body(request, MAX_FORM_B)
    return {name: values[-1] for name, values in parse_qs(body.decode(errors="replace")).items()}


Form = Annotated[dict[str, str], Depends(read_form)]


@router.get("/sign-in")
def show_sign_in(request: Request, next: str = "/") -> Response:
    """Ask for name and password, or a token."""
    return sign_in_page(request, local_path(next))


@router.post("/sign-in")
def take_secret(request: Request, service: ServiceDep, session: SessionDep, form: Form) -> Response:
    """Begin a session and lead on to where the browser wanted to go."""
    take = _by_token if "token" in form or "by_token" in form else _by_name
    return take(request, service, session, form)


def _by_name(request: Request, service: Service, session: Session, form: dict[str, str]) -> Response:
    name, password = form.get("name", ""), form.get("password", "")
    target, browser = local_path(form.get("next")), browser_of(request)
    if not name.strip() or not password:
        told = "Give your name and your password."
        return sign_in_page(request, target, told, status=401, name=name)
    wait_s = counted(service, user_name(name), browser)
    if wait_s:
        return too_often_page(request, target, wait_s, name=name)
    cookie = sign_in_by_password(session, service.settings, name, password, browser)
    if cookie is None:
        return sign_in_page(request, target, "Name or password is wrong.", status=401, name=name)
    return signed_in(request, target, cookie)


def _by_token(request: Request, service: Service, session: Session, form: dict[str, str]) -> Response:
    target, token, browser = local_path(form.get("next")), form.get("token", "").strip(), browser_of(request)
    if not token:
        return sign_in_page(request, target, "Paste a token first.", status=401, way="token")
    wait_s = counted(service, None, browser)
    if wait_s:
        return too_often_page(request, target, wait_s, way="token")
    try:
        cookie = sign_in_by_token(session, service.settings, token, browser)
    except AccessError as error:
        return sign_in_page(request, target, str(error), status=401, way="token")
    if cookie is None:
        return sign_in_page(request, target, UNKNOWN_TOKEN, status=401, way="token")
    return signed_in(request, target, cookie)


def counted(service: Service, name: str | None, browser: Browser) -> float:
    """Count an attempt, in a transaction of its own; return how long none is looked at [s]."""
    with service.database.session() as counting:
        return count_attempt(counting, name, browser.address)


def signed_in(request: Request, target: str, cookie: str) -> Response:
    """Give the browser its session, and lead it on."""
    response = RedirectResponse(target, 303)
    set_cookie(response, request, cookie)
    return secure(response, request)


def too_often_page(
    request: Request, target: str, wait_s: float, *, way: Way = "name", name: str = ""
) -> Response:
    """Answer whoever has tried too often."""
    shown = sign_in_page(request, target, too_often(wait_s), status=429, way=way, name=name)
    return waiting(shown, wait_s)


def waiting(response: Response, wait_s: float) -> Response:
    """Have an answer say after how long the next try is worth it [s]."""
    response.headers["Retry-After"] = str(ceil(wait_s))
    return response


def too_often(wait_s: float) -> str:
    """Return the sentence for whoever has tried so often that nothing is looked at for so long [s]."""
    return f"Too many attempts to sign in. The next one is looked at in {count(ceil(wait_s / 60), 'minute')}."


def sign_in_page(
    request: Request,
    target: str,
    problem: str | None = None,
    *,
    status: int = 200,
    way: Way = "name",
    name: str = "",
) -> Response:
    """Show the ways to sign in; `problem` is with the one that was tried, and `name` what was typed as one."""
    settings: ServiceSettings = request.app.state.service.settings
    return page(
        request,
        "sign_in.html",
        status=status,
        next=target,
        problem=problem,
        way=way,
        name=name,
        with_github=settings.has_github_login,
    )


def browser_of(request: Request) -> Browser:
    """Return what is known of the browser that asks."""
    address = request.client.host if request.client else ""
    return Browser(address, _printed(request.headers.get("user-agent", "")), cookie_of(request))


def _printed(text: str) -> str:
    return "".join(character for character in text if character.isprintable())


@router.post("/sign-out")
def end_session(request: Request, session: SessionDep, form: Form) -> Response:
    """End the session, here and in the browser, which also forgets a token that it has not shown yet."""
    cookie = cookie_of(request)
    if cookie:
        sign_out(session, cookie)
    response = RedirectResponse("/sign-in", 303)
    for name in (COOKIE, ISSUED):
        delete_cookie(response, request, name)
    return secure(response, request)
