"""What the routes share: the service, a session that commits, who is asking, and bodies of bounded size."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ValidationError
from sqlalchemy.orm import Session

from app.api.routing import Asked, Found
from app.api.unpacking import BeyondLimitError, unpack
from app.domain.errors import AccessError, PayloadError, Problem, TooLargeError
from app.services.access import Principal, Scope, presenting
from app.services.sign_in import principal_of_cookie
from app.wiring import Service

COOKIE = "ratchet_session"

Model = TypeVar("Model", bound=BaseModel)


def _written(time: object) -> object:
    if isinstance(time, str) and _NUMBER.fullmatch(time):
        raise ValueError("a time is written as in ISO 8601, like 2026-11-26T09:30:00Z")
    return time


def _aware(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


_NUMBER = re.compile(r"\s*[+-]?[0-9.]+(e[+-]?[0-9]+)?\s*", re.IGNORECASE)

Moment = Annotated[datetime, BeforeValidator(_written), AfterValidator(_aware)]
"""A time; without an offset it is UTC."""


async def get_service(request: Request) -> Service:
    """Return the process's service.

    What waits for nothing is a coroutine, as this is: a function would be called in a thread of its own.
    """
    service: Service = request.app.state.service
    return service


ServiceDep = Annotated[Service, Depends(get_service)]


def relayed(after_s: float = 0) -> Callable[[Asked], None]:
    """Return what has relayed what the endpoint puts into the outbox, as soon as that is stored and due [s]."""

    def find(asked: Asked) -> None:
        asked.afterwards.append(partial(asked.service.relay_soon, after_s))

    return find


Relayed = Annotated[None, Found(relayed())]
"""Of an endpoint from which something follows: it is not left to the clock to find that."""


def get_session(asked: Asked) -> Session:
    """Return the request's session; it commits when the endpoint returns, and rolls back when it raises."""
    return asked.session


def get_asked(asked: Asked) -> Asked:
    """Return the request itself, for an endpoint that finds only some things, and only then."""
    return asked


SessionDep = Annotated[Session, Found(get_session)]
AskedDep = Annotated[Asked, Found(get_asked)]


def get_principal(asked: Asked) -> Principal:
    """Return who asks, by bearer token. Raises AccessError `unauthenticated`."""
    return asked.of(get_presenting)()


def get_presenting(asked: Asked) -> Callable[[], Principal]:
    """Return what returns who asks, by bearer token, once the session has made a trip. Raises as `get_principal`."""
    token = bearer_token(asked.request)
    if token is None:
        raise AccessError(
            "no token: send `Authorization: Bearer …` (RATCHET_TOKEN for our clients)", code="unauthenticated"
        )
    return presenting(asked.session, token)


def bearer_token(request: Request) -> str | None:
    """Return the bearer token of the request, or None."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def get_reader(asked: Asked) -> Principal | None:
    """Return who reads: by token, by browser session, or nobody where reading is open to all."""
    cookies, service = asked.request.cookies, asked.service
    principal = who_asks(asked, cookies.get(f"__Host-{COOKIE}") or cookies.get(COOKIE))
    if principal is None and not service.settings.anonymous_read:
        raise AccessError("sign in, or send a token", code="unauthenticated")
    return None if principal is None else as_reader(principal, service)


def who_asks(asked: Asked, cookie: str | None) -> Principal | None:
    """Return who asks, by token or else by this cookie's session, or None. Raises AccessError for a wrong token."""
    if asked.request.headers.get("authorization"):
        return asked.of(get_principal)
    idle = asked.service.settings.session_idle
    return principal_of_cookie(asked.session, cookie, idle=idle) if cookie else None


def as_reader(principal: Principal, service: Service) -> Principal:
    """Return the principal as it reads: people see at least what everyone does. Raises AccessError."""
    reader = principal.reading_all() if principal.is_person and service.settings.anonymous_read else principal
    reader.require(Scope.RESULTS_READ)
    return reader


def get_coming_reader(asked: Asked) -> Callable[[], Principal | None]:
    """Return what returns who reads as `get_reader` does, for an endpoint whose first trip tells whose a token is.

    Where reading is not open to all, nothing is looked up for whoever may turn out not to read: only for a token that
    was good when it was last shown.
    """
    token, acquainted = bearer_token(asked.request), asked.acquainted
    if token is None or not (asked.service.settings.anonymous_read or token in acquainted):
        reader = asked.of(get_reader)
        if token is not None:
            acquainted.add(token)
        return lambda: reader
    its = asked.of(get_presenting)

    def coming() -> Principal:
        try:
            return as_reader(its(), asked.service)
        except AccessError:
            acquainted.drop(token)
            raise

    asked.admissions.append(coming)
    return coming


def allowed(scope: Scope) -> Callable[[Asked], Principal]:
    """Return what lets in only principals with this scope."""

    def check(asked: Asked) -> Principal:
        principal = asked.of(get_principal)
        principal.require(scope)
        return principal

    return check


def get_coming_writer(asked: Asked) -> Callable[[], Principal]:
    """Return what lets in who may post results, for an endpoint whose first trip tells who it is.

    Whose token is good for that, and nobody's own, is remembered: short documents are stored under it at once.
    """
    its = asked.of(get_presenting)
    token, posters = bearer_token(asked.request) or "", asked.posters

    def principal() -> Principal:
        try:
            found = its()
            found.require(Scope.RESULTS_WRITE)
        except AccessError:
            posters.drop(token)
            raise
        if found.user_id is None:
            posters.add(token)
        return found

    asked.admissions.append(principal)
    return principal


def get_agent(asked: Asked) -> Principal:
    """Let in agents, whichever pool they are of; what they are given depends on it. Raises AccessError."""
    principal = asked.of(get_principal)
    if not principal.may(Scope.WORKER_UNTRUSTED):
        principal.require(Scope.WORKER)
    return principal


Reader = Annotated[Principal | None, Found(get_reader)]
ComingReader = Annotated[Callable[[], Principal | None], Found(get_coming_reader)]
WorkerPrincipal = Annotated[Principal, Found(get_agent)]
JobCreator = Annotated[Principal, Found(allowed(Scope.JOBS_CREATE))]
AlertWriter = Annotated[Principal, Found(allowed(Scope.ALERTS_WRITE))]
NotifierWriter = Annotated[Principal, Found(allowed(Scope.NOTIFIERS_WRITE))]
ResultWriter = Annotated[Principal, Found(allowed(Scope.RESULTS_WRITE))]
ComingWriter = Annotated[Callable[[], Principal], Found(get_coming_writer)]


def get_notifier_reader(asked: Asked) -> Principal:
    """Return who may see whom a project tells. Raises AccessError, also where reading is open: it is not for all."""
    reader = asked.of(get_reader)
    if reader is None:
        raise AccessError("sign in, or send a token", code="unauthenticated")
    reader.require(Scope.NOTIFIERS_WRITE)
    return reader


NotifierReader = Annotated[Principal, Found(get_notifier_reader)]


async def read_packed(request: Request, limit: int, too_large: TooLargeError) -> bytes:
    """Return the body as it came, no more of it held than `limit` bytes. Raises what is given beyond them."""
    packed = bytearray()
    async for chunk in request.stream():
        packed += chunk
        if len(packed) > limit:
            raise too_large
    return bytes(packed)


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, decompressed if it is gzip. Raises TooLargeError beyond `limit` bytes, however packed."""
    packed = await read_packed(request, limit, _too_large(limit))
    encoding = request.headers.get("content-encoding", "identity").lower()
    if encoding == "identity":
        return packed
    if encoding != "gzip":
        message = f"Content-Encoding {encoding!r} is not read here; send gzip or none"
        raise PayloadError([Problem("header.content-encoding", "bad_encoding", message)])
    try:
        return unpack(packed, limit)
    except BeyondLimitError:
        raise _too_large(limit) from None


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"the body is larger than {limit} bytes; split it, or raise RATCHET_MAX_BODY_B")


async def get_body(request: Request) -> bytes:
    """Return the bounded body."""
    service: Service = request.app.state.service
    return await read_body(request, service.settings.max_body_b)


Body = Annotated[bytes, Depends(get_body)]


def parse(model: type[Model], body: bytes) -> Model:
    """Return the body as `model`. Raises PayloadError with every problem's path.

    U+0000, which PostgreSQL does not store, becomes U+FFFD: it comes from logs and names of measured programs.
    """
    try:
        return model.model_validate_json(body.replace(b"\\u0000", b"\\ufffd"))
    except ValidationError as error:
        raise PayloadError([_problem(e) for e in error.errors(include_url=False)]) from None


def _problem(error: object) -> Problem:
    assert isinstance(error, dict)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error["loc"])
    return Problem(path.removeprefix(".") or "body", str(error["type"]), str(error["msg"]))
