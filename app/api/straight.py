"""The shortest way from the door to an endpoint, for requests that programs make one after the other.

A framework looks through its routes, keeps books that none of these need, and hands every answer through six functions:
that takes as long as what a posted result is stored by. Whatever is raised on the way is answered by the framework, as
if it had been raised there; so is a question that says more than its address does, or whose address is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.packing import packed

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

RAISED = "ratchet.raised"
"""Where a request holds the error that its route is to raise."""


_NUMBER = re.compile(r"(?<=/)[0-9]{1,20}(?=/|$)")
_PARAMETER = re.compile(r"(?<=/)\{[^/}]*\}(?=/|$)")
_ANY = "0"
"""Stands for every number of an address."""


class Reached(Protocol):
    """A route, and what answers it without the framework."""

    path: str
    methods: set[str]
    straight: Handler | None

    def numbered(self, written: Sequence[str]) -> Mapping[str, int] | None:
        """Return the numbers of the address by their names; None where one cannot be."""


Reachable = Mapping[tuple[str, str], Reached]
"""Routes by method and path, all of whose parameters are 0."""


def reachable(routes: Iterable[Any]) -> Reachable:
    """Return those of the routes that the framework has nothing to do for."""
    return {way: its for its in routes for way in _ways(its)}


def _ways(route: Any) -> Iterator[tuple[str, str]]:
    if getattr(route, "straight", None):
        yield from ((method, _PARAMETER.sub(_ANY, route.path)) for method in route.methods)


class Straight:
    """The application, some of whose routes are reached straight."""

    def __init__(self, app: ASGIApp, routes: Reachable) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        route = self._reached(scope) if scope["type"] == "http" and not scope["query_string"] else None
        if route is None or route.straight is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            answer = await route.straight(Request(scope, receive, send))
        except Exception as error:  # it is raised again there
            scope[RAISED] = error
            await self._app(scope, receive, send)
            return
        await packed(answer, scope)(scope, receive, send)

    def _reached(self, scope: Scope) -> Reached | None:
        """Return the route of an address, whose numbers are noted as its parameters."""
        path = scope["path"]
        route = self._routes.get((scope["method"], _NUMBER.sub(_ANY, path)))
        numbers = None if route is None else route.numbered(_NUMBER.findall(path))
        if numbers is None:
            return None
        scope["path_params"] = numbers
        return route
