"""The page that a form's address belongs to: `/me` of `/me/tokens`, which nothing but a form is sent to."""

from __future__ import annotations

from fastapi import Request
from starlette.routing import Match


def page_above(request: Request) -> str:
    """Return the path of the nearest page above the request's."""
    above = request.url.path.rpartition("/")[0]
    while above and not _is_page(request, above):
        above = above.rpartition("/")[0]
    return above or "/"


def _is_page(request: Request, path: str) -> bool:
    asked = {"type": "http", "method": "GET", "path": path, "root_path": ""}
    return any(route.matches(asked)[0] is Match.FULL for route in request.app.router.routes)
