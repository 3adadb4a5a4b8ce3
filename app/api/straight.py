"""The shortest way from the door to an endpoint, for requests that programs make after every test.

A framework looks through its routes, keeps books that none of these need, and hands every answer through six functions:
that takes as long as what a posted result is stored by. Whatever is raised on the way is answered by the framework, as
if it had been raised there.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Protocol

from fastapi import Request, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.packing import SMALLEST_B, Packed

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

RAISED = "ratchet.raised"
"""Where a request holds the error that its route is to raise."""


class Reached(Protocol):
    """A route, and what answers it without the framework."""

    path: str
    methods: set[str]
    param_convertors: Mapping[str, Any]
    straight: Handler | None


Reachable = Mapping[tuple[str, str], Reached]
"""Routes by method and path."""


def reachable(routes: Iterable[Any]) -> Reachable:
    """Return those of the routes that the framework has nothing to do for, and whose addresses have no parameters."""
    found = [its for its in routes if not its.param_convertors and getattr(its, "straight", None)]
    return {(method, its.path): its for its in found for method in its.methods}


class Straight:
    """The application, some of whose routes are reached straight."""

    def __init__(self, app: ASGIApp, routes: Reachable) -> None:
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        route = self._routes.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
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
        is_small = hasattr(answer, "body") and len(answer.body) < SMALLEST_B
        await (answer if is_small else Packed(answer, minimum_size=SMALLEST_B))(scope, receive, send)
