"""Errors as pages: what a browser asked for outside the API is answered in the pages' own form.

Everybody else keeps the JSON of `app.api.errors`, which also decides the status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from app.api.errors import refusal_of, status_of
from app.domain.errors import RatchetError
from app.web.bad_parameters import parameter_sentence
from app.web.deps import SignInRequiredError
from app.web.guard import secure, sign_in_path
from app.web.page_above import page_above
from app.web.render import page
from app.web.times import exact

Handler = Callable[[Request, Any], Awaitable[Response]]

_FOR_MACHINES = ("/api/", "/webhooks/", "/static/", "/healthz", "/readyz", "/metrics")
_RETRY_S = 5

_HEADLINES = {
    400: "This cannot be asked",
    401: "Not signed in",
    403: "Not allowed",
    404: "There is nothing here",
    405: "Not done this way",
    409: "This does not fit what is there",
    413: "Too large",
    422: "This address has a mistake in it",
    500: "Something went wrong on our side",
    503: "Not available just now",
    507: "No room is left",
}

_REFUSED_FORM = "This cannot be taken so"
"""The headline of 422 where a form was sent, and no address typed."""

_DATABASE = {
    "bad_value": "It has a character or a number in it that cannot be stored or looked for.",
    "disk_full": "The database's disk is full: nothing more can be stored until there is room on it.",
    "unavailable": "The database does not answer. Nothing is lost; this page tries again by itself.",
}
"""What is told of what the database did not do, by the code that a program gets."""

_CLASHES = (
    "It does not fit what is stored: somebody else may have changed that at the same time. "
    "Go back and try again."
)

_KINDS: tuple[type[Exception], ...] = (
    RatchetError,
    RequestValidationError,
    HTTPException,
    DataError,
    IntegrityError,
    OperationalError,
    Exception,
)
"""What the API has a handler of its own for, and a page has words of its own."""


def add_error_pages(app: FastAPI) -> None:
    """Answer browsers with pages; call it after the API's own handlers are there."""
    for kind in _KINDS:
        app.add_exception_handler(kind, _page_or(app.exception_handlers.get(kind)))
    app.add_exception_handler(SignInRequiredError, _to_sign_in)


def _page_or(otherwise: Any) -> Handler:
    async def handle(request: Request, error: Any) -> Response:
        if wants_page(request):
            return _to_page_above(request, error) or error_page(request, error)
        if otherwise is None:
            return PlainTextResponse("Internal Server Error", 500)
        response: Response = await otherwise(request, error)
        return response

    return handle


def _to_page_above(request: Request, error: Exception) -> Response | None:
    """Lead who asks for the address of a form to the page that has the form; None where that is not what is wrong."""
    is_form = isinstance(error, HTTPException) and error.status_code == 405 and request.method == "GET"
    return secure(RedirectResponse(page_above(request), 303), request) if is_form else None


async def _to_sign_in(request: Request, _: Any) -> Response:
    return secure(RedirectResponse(sign_in_path(request), 303), request)


def wants_page(request: Request) -> bool:
    """Tell whether a browser asks for a page: outside the machines' paths, and HTML is welcome."""
    is_machine = request.url.path.startswith(_FOR_MACHINES)
    return not is_machine and "text/html" in request.headers.get("accept", "")


def error_page(request: Request, error: Exception) -> Response:
    """Return the page of an error."""
    status, message = _status_and_message(error)
    response = page(
        request,
        "error.html",
        status=status,
        headline=_headline(request, status),
        message=message,
        code=status,
        refresh_s=_RETRY_S if status == 503 and request.method == "GET" else None,
    )
    if status == 503:
        response.headers["Retry-After"] = str(_RETRY_S)
    return response


def _headline(request: Request, status: int) -> str:
    if status == 422 and request.method == "POST":
        return _REFUSED_FORM
    return _HEADLINES.get(status, "This did not work")


def _status_and_message(error: Exception) -> tuple[int, str]:
    if isinstance(error, RatchetError):
        return status_of(error), str(error)
    if isinstance(error, DataError | IntegrityError | OperationalError):
        return _refused(error)
    if isinstance(error, RequestValidationError):
        return _bad_parameter(error)
    if isinstance(error, HTTPException):
        return error.status_code, "" if error.status_code in _HEADLINES else str(error.detail)
    return 500, f"It has been logged at {exact(datetime.now(UTC))}. Going back and trying again may help."


def _refused(error: DBAPIError) -> tuple[int, str]:
    its = refusal_of(error)
    return its.status, _CLASHES if isinstance(error, IntegrityError) else _DATABASE[its.code]


def _bad_parameter(error: RequestValidationError) -> tuple[int, str]:
    problems = error.errors()
    if problems[0]["loc"][0] == "path":
        return 404, f"“{problems[0]['input']}” is not the number of anything."
    return 422, parameter_sentence(problems)
