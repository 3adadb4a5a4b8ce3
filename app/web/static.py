"""Style sheets, icon and script, under an address that changes with their content.

The files lie in `dashboards/static`; the report's own style sheet and filter lie beside its templates, as the
report carries them inside itself; the chart's come with a package. All are small and read once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePath

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

CHART_FILES = ("uPlot.iife.js", "uPlot.min.css")
"""Of the wheel `uplot-python`."""

FOR_EVER = "public, max-age=31536000, immutable"


def mount_static(app: FastAPI) -> None:
    """Serve the static files under `/static/DIGEST/NAME`."""
    app.add_route("/static/{digest}/{name}", _serve, include_in_schema=False)


def static_url(name: str) -> str:
    """Return the address of a static file, good for ever. Raises KeyError for a file that does not exist."""
    return f"/static/{_digest(_assets()[name])}/{name}"


def static_text(name: str) -> str:
    """Return the text of a static file. Raises KeyError for a file that does not exist."""
    return _assets()[name].decode()


async def _serve(request: Request) -> Response:
    name = request.path_params["name"]
    content = _assets().get(name)
    if content is None:
        return PlainTextResponse(f"there is no static file {name!r}", 404)
    # A page from before an upgrade names an older digest: it gets today's file, but must not keep it.
    is_current = request.path_params["digest"] == _digest(content)
    headers = {
        "Cache-Control": FOR_EVER if is_current else "no-cache",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    }
    return Response(content, media_type=MEDIA_TYPES[PurePath(name).suffix], headers=headers)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _assets() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in _sources()}


def _sources() -> Iterable[Traversable]:
    for folder in (files("dashboards") / "static", files("app.reports") / "templates"):
        yield from (file for file in folder.iterdir() if PurePath(file.name).suffix in MEDIA_TYPES)
    yield from (_chart_files() / name for name in CHART_FILES)


def _chart_files() -> Path:
    """Return where the chart's files are; the package is not imported, its Python side is another's."""
    found = find_spec("uplot")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / "static"
