"""A project's histories as documents to post elsewhere, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Query
from fastapi.responses import StreamingResponse

from app.api import cursors
from app.api.deps import Moment, Reader, ServiceDep, SessionDep
from app.api.describing import ALWAYS, page
from app.api.parameters import Name, Project
from app.api.routing import Router
from app.services.export_results import export_results
from app.services.resume_export import Numbers, resume_export
from app.services.visibility import visible_project
from app.store.repositories.exports import ExportWish
from app.wiring import Service

router = Router(prefix="/api/v1/export", tags=["export"])

_KIND = "export"


@router.get(
    "",
    response_class=StreamingResponse,
    responses=page("A document a line, and the end.", *ALWAYS, 404, media_type="application/x-ndjson"),
)
def get_export(
    service: ServiceDep,
    session: SessionDep,
    reader: Reader,
    project: Project,
    benchmark: Annotated[Name | None, Query(description="Only this benchmark's.")] = None,
    since: Annotated[Moment | None, Query(description="Only what was measured then or later [UTC].")] = None,
    until: Annotated[Moment | None, Query(description="Only what was measured before that [UTC].")] = None,
    marks: Annotated[
        bool, Query(description='Tell now and then where it could go on: lines `{"mark": CURSOR}`.')
    ] = False,
    after: Annotated[
        str | None, Query(max_length=200, description="Go on behind this `mark` of an answer that broke off.")
    ] = None,
) -> StreamingResponse:
    """Stream the results of the project's histories as JSON Lines that `POST /api/v1/results/batch` takes.

    The last line is `{"end": {"documents", "results", "sha256"}}`, of this answer's documents; without it the answer
    has broken off. `since` and `until` are times of measurement, the second excluded; one without an offset is UTC.
    What goes on `after` a mark is what the same question would have told behind it: what came in since is not in it.
    """
    its_project = visible_project(session, reader, project)
    wish = ExportWish(its_project.id, benchmark, since, until)
    if after is not None:
        wish = resume_export(session, wish, cursors.numbers(_KIND, after))
    lines = _stream(service, its_project.name, wish, marks)
    return StreamingResponse(lines, media_type="application/x-ndjson")


def _stream(service: Service, project: str, wish: ExportWish, marks: bool) -> Iterator[bytes]:
    with service.database.session() as session:
        yield from export_results(session, project, wish, _cursor_of if marks else None)


def _cursor_of(place: Numbers) -> str:
    return cursors.cursor_of(_KIND, *place)
