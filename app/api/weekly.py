"""The weekly efficiency report: as values, as a page, as a letter."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query, Response
from sqlalchemy.orm import Session
from starlette.responses import HTMLResponse

from app.api.answers.weekly import WeeklyAnswer
from app.api.conditional import StoredRoute
from app.api.deps import Reader, ServiceDep, SessionDep
from app.api.describing import ALWAYS, answers, page
from app.api.parameters import NO_NUL
from app.api.routing import Router
from app.domain.week import parse_week, week_of
from app.domain.weekly_report import WeeklyReport
from app.reports.weekly.page import render_letter, render_weekly
from app.services.access import Principal
from app.services.weekly.scope import scope_of
from app.services.weekly.weekly_document import weekly_document
from app.store.repositories import clock
from app.wiring import Service

router = Router(prefix="/api/v1", tags=["weekly"], route_class=StoredRoute)

OfProject = Annotated[
    str | None,
    Query(max_length=1_000, pattern=NO_NUL, description="The project; left out: all that you may see."),
]
OfWeek = Annotated[
    str | None,
    Query(
        max_length=20, description="The week; left out: the last one that has ended.", examples=["2026-W47"]
    ),
]


@router.get("/weekly", responses=answers(WeeklyAnswer, 400, 404))
def get_weekly(
    service: ServiceDep, session: SessionDep, reader: Reader, project: OfProject = None, week: OfWeek = None
) -> dict[str, Any]:
    """Return the efficiency report of a week, as things stand just now."""
    return weekly_document(_report(service, session, reader, project, week))


@router.get(
    "/weekly/report",
    response_class=HTMLResponse,
    responses=page("The report as HTML.", *ALWAYS, 400, 404),
)
def get_weekly_report(
    service: ServiceDep,
    session: SessionDep,
    reader: Reader,
    project: OfProject = None,
    week: OfWeek = None,
    form: Annotated[
        Literal["page", "letter"],
        Query(description="`page`: the whole; `letter`: what mail programs can show."),
    ] = "page",
) -> Response:
    """Return the same as a page that is complete in itself, or as a letter."""
    report = _report(service, session, reader, project, week)
    render = render_weekly if form == "page" else render_letter
    return Response(render(report, service.settings.address), media_type="text/html; charset=utf-8")


def _report(
    service: Service, session: Session, reader: Principal | None, project: str | None, week: str | None
) -> WeeklyReport:
    scope = scope_of(session, reader, project)
    its = parse_week(week) if week else week_of(clock.now(session)).before()
    session.commit()  # nobody waits for others with a transaction open
    return service.weekly.read(scope, its)
