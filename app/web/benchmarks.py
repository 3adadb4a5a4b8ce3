"""The page of one benchmark."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import Request, Response

from app.api.deps import SessionDep
from app.api.routing import Router
from app.services.read_benchmark import read_benchmark
from app.web.addresses import address
from app.web.deps import PageNumber, Text, Viewer
from app.web.render import page

router = Router(prefix="/benchmarks")


@router.get("")
def show_benchmark(
    request: Request,
    session: SessionDep,
    viewer: Viewer,
    project: Text,
    name: Text,
    at: PageNumber = 1,
) -> Response:
    """Show one benchmark of a project; `at` is the page of its series."""
    found = read_benchmark(session, viewer, project, name, now=datetime.now(UTC), page=at)
    here = {"project": project, "name": name}
    return page(
        request,
        "benchmark.html",
        found=found,
        at=at,
        here_with=lambda **changed: address("/benchmarks", here | changed),
    )
