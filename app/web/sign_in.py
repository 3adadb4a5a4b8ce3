"""Signing in with a token, and out: a browser session in a cookie that no script can read."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Request, Response
from starlette.responses import RedirectResponse

from app.api.deps import SessionDep, read_body
from app.domain.errors import AccessError
from app.services.access import Scope, principal_of_token, sign_in, sign_out
from app.web.guard import cookie_of, delete_cookie, local_path, require_same_origin, secure, set_cookie
from app.web.render import page

router = APIRouter()

MAX_FORM_B = 16 * 2**10


async def read_form(request: Request) -> dict[str, str]:
    """Return the fields of a small form that one of our own pages sent."""
    require_same_origin(request)
    body = await read_body(request, MAX_FORM_B)
    return {name: values[-1] for name, values in parse_qs(body.decode(errors="replace")).items()}


Form = Annotated[dict[str, str], Depends(read_form)]


@router.get("/sign-in")
def show_sign_in(request: Request, next: str = "/") -> Response:
    """Ask for a token."""
    return page(request, "sign_in.html", next=local_path(next), problem=None)


@router.post("/sign-in")
def take_token(request: Request, session: SessionDep, form: Form) -> Response:
    """Begin a session and lead on to where the browser wanted to go."""
    target, token = local_path(form.get("next")), form.get("token", "").strip()
    problem = _problem(session, token)
    if problem is not None:
        return page(request, "sign_in.html", status=401, next=target, problem=problem)
    response = RedirectResponse(target, 303)
    set_cookie(response, request, sign_in(session, token))
    return secure(response, request)


@router.post("/sign-out")
def end_session(request: Request, session: SessionDep, form: Form) -> Response:
    """End the session, here and in the browser."""
    cookie = cookie_of(request)
    if cookie:
        sign_out(session, cookie)
    response = RedirectResponse("/sign-in", 303)
    delete_cookie(response, request)
    return secure(response, request)


def _problem(session: SessionDep, token: str) -> str | None:
    """Return why this token does not open the pages, or None."""
    if not token:
        return "Paste a token first."
    try:
        principal = principal_of_token(session, token)
    except AccessError:
        return "This token is not valid here. It may be incomplete, expired, revoked, or of another service."
    if not principal.may(Scope.RESULTS_READ):
        return f"The token “{principal.name}” may not read results; use one with the scope results:read."
    return None
