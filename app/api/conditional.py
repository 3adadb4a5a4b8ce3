"""Answers read from what is stored: a client that has one already is told so in a line, and nobody else keeps it.

The tag is of the answer as it is told, so that it is right whatever the answer is made of: asking again saves the way,
not the reading. It is a weak one, as the same answer may come compressed.
"""

from __future__ import annotations

import hashlib

from fastapi import Request, Response

from app.api.routing import Route
from app.api.straight import Handler

PRIVATE = "private, no-cache"
"""Kept by the one who asked alone, and asked for again each time: tokens and rights end."""


class StoredRoute(Route):
    """A route whose answers to GET have an `ETag`, and are 304 where `If-None-Match` names it."""

    def around(self, handle: Handler) -> Handler:
        """Return the handler, whose whole answers have a tag."""
        handle = super().around(handle)

        async def conditional(request: Request) -> Response:
            response = await handle(request)
            is_whole = request.method == "GET" and response.status_code == 200 and hasattr(response, "body")
            return _tagged(request, response) if is_whole else response

        return conditional


class ReadingRoute(StoredRoute):
    """Such a route, whose endpoints only read."""

    READS = True


def _tagged(request: Request, response: Response) -> Response:
    tag = f'W/"{hashlib.sha256(response.body).hexdigest()[:32]}"'
    told = {"ETag": tag, "Cache-Control": PRIVATE, "Vary": "Authorization, Cookie"}
    if _names(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=told)
    response.headers.update(told)
    return response


def _names(wanted: str, tag: str) -> bool:
    """Say whether `If-None-Match` names a tag; weak and strong ones are alike to it."""
    opaque = tag.removeprefix("W/")
    return any(one.strip().removeprefix("W/") in ("*", opaque) for one in wanted.split(","))
