"""Routes whose endpoints wait for the database: session, who asks, the answer and the commit are one piece of work.

A framework gives each thing that waits to a thread of its own, one after the other, and every hand-over costs a
request a tenth of a millisecond. Here an endpoint names what it needs as a parameter `Annotated[Session, Found(...)]`,
and all of it is found in the one thread that the endpoint runs in. An endpoint that takes nothing else of a request
but what a coroutine reads from it, and returns a response, is called without the framework, which would cost it another
tenth, and `app.api.straight` leads to it. So it does to one that takes numbers in its address, and queries that may be
left out, where they are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

from fastapi import APIRouter, Request, Response, params
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session

from app.api.acquainted import Acquainted
from app.api.plain import Plain, plain
from app.api.straight import RAISED, Handler
from app.domain.errors import AccessError, PayloadError, TooLargeError
from app.wiring import Service

Value = TypeVar("Value")


class Asked:
    """A request while it is answered: the service that it came to, and its session, which commits at the end."""

    def __init__(self, request: Request, service: Service, session: Session) -> None:
        self.request, self.service, self.session = request, service, session
        self._found: dict[Callable[[Asked], Any], Any] = {}
        self.admissions: list[Callable[[], object]] = []
        """Each raises AccessError unless who asks may ask, where that is told with a trip of the endpoint's own."""
        self.afterwards: list[Callable[[], None]] = []
        """What is done when the session has committed."""

    @property
    def acquainted(self) -> Acquainted:
        """Whose token was good lately, of those who asked this process."""
        known: Acquainted = self.request.app.state.acquainted
        return known

    @property
    def posters(self) -> Acquainted:
        """Whose token was good lately for posting, of those that are nobody's own."""
        known: Acquainted = self.request.app.state.posters
        return known

    def of(self, find: Callable[[Asked], Value]) -> Value:
        """Return what `find` finds, which is looked for once."""
        if find not in self._found:
            self._found[find] = find(self)
        return self._found[find]  # type: ignore[no-any-return]  # each holds what its own function returned

    def admit(self) -> None:
        """Have it known that who asks may ask. Raises AccessError."""
        for admission in self.admissions:
            admission()
        self.request.state.is_admitted = True


class Found:
    """Says of an annotated parameter what finds it; those of an endpoint are found in their order, before it runs."""

    def __init__(self, find: Callable[[Asked], Any]) -> None:
        self.find = find

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Refuse to be read from a request, as the framework would on a route that is none of ours.

        Raises:
            TypeError: always.
        """
        name = getattr(self.find, "__qualname__", self.find)
        raise TypeError(
            f"what {name} finds is no part of a request: its route belongs on app.api.routing.Router"
        )


_OURS = "_finds_in_one_thread"
"""Marks what has been made of an endpoint already."""

REQUEST = "request"
"""How an endpoint is given the request that does not take it itself."""

_SPARED_BY = "_spared_by"
"""Where an endpoint has what may answer in its place."""

Spare = Callable[..., Awaitable[Response | None]]
"""Takes a request, and by their names what was read from it."""

Finders = dict[str, Callable[[Asked], Any]]
"""By its name what finds a parameter."""

Readers = dict[str, Callable[[Request], Awaitable[Any]]]
"""By its name what reads a parameter from a request."""


def finders(endpoint: Callable[..., Any]) -> Finders:
    """Return what finds the parameters of an endpoint that are `Found`."""
    return {name: its.find for name, its in _annotated(endpoint, Found)}


def readers(endpoint: Callable[..., Any]) -> Readers:
    """Return what reads the parameters of an endpoint that depend on a coroutine of the request alone."""
    return {
        name: its.dependency
        for name, its in _annotated(endpoint, params.Depends)
        if inspect.iscoroutinefunction(its.dependency)
        and [its.annotation for its in _signature(its.dependency).parameters.values()] == [Request]
    }


def _annotated(endpoint: Callable[..., Any], kind: type[Value]) -> Iterator[tuple[str, Value]]:
    for name, parameter in _signature(endpoint).parameters.items():
        yield from ((name, one) for one in get_args(parameter.annotation)[1:] if isinstance(one, kind))


def _signature(endpoint: Callable[..., Any]) -> inspect.Signature:
    """Return what the endpoint takes as it was written, whatever has been put around it."""
    return inspect.signature(inspect.unwrap(endpoint), eval_str=True)


@contextmanager
def asking(request: Request, *, reads: bool = False) -> Iterator[Asked]:
    """Yield the request with a session, which commits at the end of the block, or rolls back if the block raises.

    What follows is done then. An endpoint's has committed before the framework makes JSON of what it returned. The
    session of one that only `reads` has nothing to commit.
    """
    service: Service = request.app.state.service
    with service.database.reading() if reads else service.database.session() as session:
        asked = Asked(request, service, session)
        yield asked
    for act in asked.afterwards:
        act()


def in_one_thread(endpoint: Callable[..., Any], *, reads: bool = False) -> Callable[..., Any]:
    """Return the endpoint with its session and all that is found by it: a function of what is left, and the request.

    Args:
        endpoint: the endpoint.
        reads: whether it only reads.

    Raises:
        TypeError: it is a coroutine, in which nothing may wait.
    """
    found = finders(endpoint)
    if not found or getattr(endpoint, _OURS, False):
        return endpoint
    if inspect.iscoroutinefunction(endpoint):
        raise TypeError(
            f"{endpoint.__qualname__} waits for {', '.join(found)}, and is a coroutine; write `def`"
        )

    signature = inspect.signature(endpoint, eval_str=True)
    left = [its for name, its in signature.parameters.items() if name not in found]
    own = next((its.name for its in left if its.annotation is Request), None)

    @functools.wraps(endpoint)
    def answered(**given: Any) -> Any:
        request = given[own] if own else given.pop(REQUEST)
        with asking(request, reads=reads) as asked:
            its = {name: asked.of(find) for name, find in found.items()}
            request.state.is_admitted = not asked.admissions
            answer = endpoint(**its, **given)
            asked.admit()
            return answer

    named = [its.replace(kind=inspect.Parameter.KEYWORD_ONLY) for its in left]
    if own is None:
        named.append(inspect.Parameter(REQUEST, inspect.Parameter.KEYWORD_ONLY, annotation=Request))
    # The framework reads this one, and not what it would see through `functools.wraps`.
    answered.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
    setattr(answered, _OURS, True)
    return answered


def spared_by(spare: Spare) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Have a coroutine answer in place of an endpoint, where it can; where it returns None, the endpoint does.

    It is given the request and what was read of that. It has no thread of its own, so that it waits for nothing but in
    its awaits, and finds by itself who may ask. What is wrong is left to the endpoint to tell.
    """

    def spared(endpoint: Callable[..., Value]) -> Callable[..., Value]:
        setattr(endpoint, _SPARED_BY, spare)
        return endpoint

    return spared


REFUSED = (RequestValidationError, AccessError, PayloadError, TooLargeError)
"""What is wrong with a question: it is told to whoever may ask it."""


class Route(APIRoute):
    """A route whose endpoint may have parameters that are `Found`."""

    READS = False
    """Whether endpoints only read."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        self._found = finders(endpoint)
        super().__init__(path, in_one_thread(endpoint, reads=self.READS), **options)
        writing = (self.methods or set()) - {"GET", "HEAD"}
        if self.READS and writing:
            raise TypeError(f"{path} only reads, and takes {', '.join(sorted(writing))}")

    def get_route_handler(self) -> Handler:
        """Return what answers a request."""
        is_left_nothing = self._plain is not None and not self._plain.left
        return self.around(self._unframed if is_left_nothing else super().get_route_handler())

    @functools.cached_property
    def straight(self) -> Handler | None:
        """What answers a request whose address is all that it says without the framework, where that is possible."""
        return self.around(self._unframed) if self._plain else None

    def numbered(self, written: Sequence[str]) -> Mapping[str, int] | None:
        """Return the numbers of the route's address by their names; None where one cannot be."""
        return None if self._plain is None else self._plain.numbered(written)

    def around(self, handle: Handler) -> Handler:
        """Return the handler so that whoever may not ask is told that first, and then what is wrong with it."""

        async def admitted(request: Request) -> Response:
            if RAISED in request.scope:
                raise request.scope[RAISED]
            try:
                return await handle(request)
            except Exception as error:
                # False where it was not known yet who asks when the endpoint raised: nothing is told before.
                is_admitted = getattr(request.state, "is_admitted", None)
                if is_admitted is False or (is_admitted is None and isinstance(error, REFUSED)):
                    await run_in_threadpool(self._admit, request)
                raise

        return admitted if self._found else handle

    @functools.cached_property
    def _read(self) -> Readers:
        return readers(self.endpoint)

    @functools.cached_property
    def _plain(self) -> Plain | None:
        """Return what is left of a question that is its address alone, for an endpoint that needs no framework then.

        Of dependencies only the route's own are seen, none that a router or the application is given: who may ask is
        said by parameters.
        """
        signature = _signature(self.endpoint)
        answer = signature.return_annotation
        if (
            self.dependencies
            or not self._found
            or not (isinstance(answer, type) and issubclass(answer, Response))
        ):
            return None
        ours = self._found.keys() | self._read.keys()
        left = {name: its for name, its in signature.parameters.items() if name not in ours}
        return plain(self.path, left)

    async def _unframed(self, request: Request) -> Response:
        """Call the endpoint with nothing of the request but its body and the numbers of its address."""
        received = {name: await its(request) for name, its in self._read.items()}
        spare = getattr(self.endpoint, _SPARED_BY, None)
        if spare is not None and (answer := await spare(request, **received)) is not None:
            return answer  # type: ignore[no-any-return]  # as it is declared
        given = request.path_params | received
        response: Response = await run_in_threadpool(self.endpoint, request=request, **given)
        return response

    def _admit(self, request: Request) -> None:
        with asking(request) as asked:
            for find in self._found.values():
                asked.of(find)
            asked.admit()


class Router(APIRouter):
    """A router of such routes."""

    def __init__(self, *, route_class: type[Route] = Route, **options: Any) -> None:
        super().__init__(route_class=route_class, **options)
