"""From our error tree to HTTP, once: `{code, message, errors?}` with the status that fits."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError as DataError_
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from starlette.exceptions import HTTPException

from app.domain.errors import (
    AccessError,
    ConflictError,
    DataError,
    NotFoundError,
    PayloadError,
    Problem,
    RatchetError,
    SettingsError,
    StaleLeaseError,
    TooLargeError,
    UnavailableError,
    UsageError,
)

log = logging.getLogger(__name__)

_DISK_FULL = "53100"
"""PostgreSQL's state for a write that found no space."""

_LIMIT_EXCEEDED = "54000"
"""PostgreSQL's state for a value beyond a limit of its own, such as a key too long for an index."""

STATUS: tuple[tuple[type[RatchetError], int], ...] = (
    (UsageError, 400),
    (DataError, 422),
    (NotFoundError, 404),
    (ConflictError, 409),
    (AccessError, 403),
    (TooLargeError, 413),
    (UnavailableError, 503),
)


def status_of(error: RatchetError) -> int:
    """Return the HTTP status of an error of ours."""
    if error.code == "unauthenticated":
        return 401
    if error.code == "disk_full":
        return 507
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def document_of(error: RatchetError) -> dict[str, Any]:
    """Return the JSON that tells a client what was wrong."""
    document: dict[str, Any] = {"code": error.code, "message": str(error)}
    if isinstance(error, PayloadError | SettingsError):
        document["errors"] = [_problem(problem) for problem in error.problems[:50]]
    return document


def _problem(problem: Problem) -> dict[str, Any]:
    found: dict[str, Any] = {"path": problem.path, "code": problem.code, "message": problem.message}
    return found | ({"line": problem.line} if problem.line else {})


@dataclass(frozen=True)
class Refusal:
    """What somebody is told where the database did not do what it was asked to."""

    status: int
    code: str
    message: str


def refusal_of(error: DBAPIError) -> Refusal:
    """Return what to tell of what the database did not do, and log what it said itself."""
    state = getattr(error.orig, "sqlstate", None)
    if not isinstance(error, OperationalError) or state == _LIMIT_EXCEEDED:
        return _refused_value(error)
    log.warning("the database did not answer: %s", error.orig)
    if state == _DISK_FULL:
        return Refusal(507, "disk_full", "the database's disk is full")
    return Refusal(503, "unavailable", "the database does not answer just now; try again shortly")


def _refused_value(error: DBAPIError) -> Refusal:
    """Tell of a value that got past our own checks and that PostgreSQL does not take: too long, out of range."""
    log.warning("the database refused a value: %s", error.orig)
    said = str(error.orig).splitlines()[0] if error.orig else "a value cannot be stored"
    return Refusal(422, "bad_value", said)


def _told(document: dict[str, Any], status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return an error's answer, which nobody keeps: it may be over the next moment."""
    return JSONResponse(document, status, headers={"Cache-Control": "no-store"} | (headers or {}))


def add_error_handlers(app: FastAPI) -> None:
    """Have every error answered in one form; what we did not foresee is a 500 that says only that."""

    @app.exception_handler(RatchetError)
    async def ours(request: Request, error: RatchetError) -> JSONResponse:
        status = status_of(error)
        if isinstance(error, StaleLeaseError):
            request.app.state.service.recorder.refused_stale()
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        headers |= {"Retry-After": "5"} if status == 503 else {}
        return _told(document_of(error), status, headers=headers)

    @app.exception_handler(RequestValidationError)
    async def parameters(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [Problem(".".join(map(str, e["loc"])), e["type"], e["msg"]) for e in error.errors()]
        return _told(document_of(PayloadError(problems, code="bad_parameters")), 422)

    @app.exception_handler(HTTPException)
    async def framework(_: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        told = {"code": code, "message": str(error.detail)}
        return _told(told, error.status_code, headers=dict(error.headers or {}))

    @app.exception_handler(DataError_)
    @app.exception_handler(IntegrityError)
    @app.exception_handler(OperationalError)
    async def database(_: Request, error: DBAPIError) -> JSONResponse:
        its = refusal_of(error)
        headers = {"Retry-After": "5"} if its.status == 503 else {}
        return _told({"code": its.code, "message": its.message}, its.status, headers=headers)

    @app.exception_handler(Exception)
    async def fault(_: Request, error: Exception) -> JSONResponse:
        log.error("a fault of ours", exc_info=error)
        return _told({"code": "fault", "message": "a fault of Ratchet's; it has been logged"}, 500)
