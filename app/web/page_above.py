"""The page that a form's address belongs to: `/me` of `/me/tokens`, which nothing but a form is sent to."""

from __future__ import annotations

from fastapi import Request

from app.api.methods import is_taken


def page_above(request: Request) -> str:
    """Return the path of the nearest page above the request's."""
    above = request.url.path.rpartition("/")[0]
    while above and not is_taken({**request.scope, "method": "GET", "path": above}):
        above = above.rpartition("/")[0]
    return above or "/"
