"""Pages of series: those that somebody looks for, and one of them as a trend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query, Request, Response
from markupsafe import Markup
from pydantic import Field
from sqlalchemy.orm import Session

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.formats.plain_json import plain_json
from app.reports.quantities import quantity
from app.services.access import Principal, Scope
from app.services.alerts.report_missed import missed_changes
from app.services.badge_links import series_link, series_path
from app.services.explore_series import PAGE, explore_series
from app.services.read_trend import read_trend
from app.services.saved_searches import kept_searches
from app.services.siblings import BESIDE, siblings_of
from app.services.trend_document import trend_document
from app.store.repositories.explorer import FACETS
from app.web.addresses import address
from app.web.deps import Id, PageNumber, Projects, Text, Viewer
from app.web.mark_words import script_words
from app.web.picture_scale import ladder
from app.web.render import page
from app.web.series_words import change_text, empty_part, left_out
from app.wiring import Service

router = Router(prefix="/series")

Beside = Annotated[int, Field(ge=1, lt=2**63)]
Row = Annotated[int | None, Query(ge=0, lt=2**31)]


@router.get("")
def show_explorer(
    request: Request,
    session: SessionDep,
    viewer: Viewer,
    project_ids: Projects,
    q: Text = "",
    project: Text = "",
    benchmark: Text = "",
    metric: Text = "",
    device_class: Text = "",
    at: PageNumber = 1,
    whole: Text = "",
) -> Response:
    """Show the series that are looked for; `at` is the page, `whole` what all values are offered of."""
    given = {"project": project, "benchmark": benchmark, "metric": metric, "device_class": device_class}
    chosen = {name: given[name] for name in FACETS if given[name]}
    found = explore_series(session, q, chosen, project_ids=project_ids, page=at, whole=whole)
    return page(
        request,
        "series_list.html",
        found=found,
        query=q,
        chosen=chosen,
        at=at,
        kept=kept_searches(session, viewer, "/series"),
        pages=-(-found.total // PAGE),
        here_with=lambda **changed: address("/series", {"q": q, **given, **changed}),
    )


@router.get("/{series_id}")
def show_series(
    request: Request,
    service: ServiceDep,
    session: SessionDep,
    viewer: Viewer,
    series_id: Id,
    branch: Text = "",
    first: Row = None,
    last: Row = None,
    relative: Annotated[str, Query(max_length=64, pattern=r"^[0-9a-f]*$")] = "",
    beside: Annotated[tuple[Beside, ...], Query(max_length=BESIDE)] = (),
) -> Response:
    """Show one series on a branch.

    `first` and `last` are the rows to show, `relative` is the commit of reference, `beside` others to draw with it.
    """
    return series_page(
        request,
        service,
        session,
        viewer,
        series_id,
        branch=branch,
        first=first,
        last=last,
        relative=relative,
        beside=beside,
    )


def series_page(
    request: Request,
    service: Service,
    session: Session,
    viewer: Principal | None,
    series_id: int,
    *,
    branch: str = "",
    first: int | None = None,
    last: int | None = None,
    relative: str = "",
    beside: Sequence[int] = (),
    status: int = 200,
    filled: Mapping[str, str] | None = None,
    problem: str = "",
) -> Response:
    """Return the page; `problem` is with the form of a missed change, which has in it what is `filled`."""
    trend = read_trend(
        session,
        lambda: viewer,
        series_id,
        branch=branch or None,
        first=first or 0,
        last=last,
        relative=relative or None,
    )
    siblings = siblings_of(session, trend.series, trend.case, beside)
    return page(
        request,
        "series.html",
        status=status,
        trend=trend,
        missed=missed_changes(session, series_id, trend.branch),
        filled=filled or {},
        problem=problem,
        voids={point.row: point for point in trend.marks.void},
        siblings=siblings,
        left_out=left_out(trend, relative, beside, [its.id for its in siblings]),
        why_empty=empty_part(trend, first, last),
        value_text=quantity,
        change_text=change_text,
        most_beside=BESIDE,
        may_answer=viewer is not None and viewer.may(Scope.ALERTS_WRITE, trend.project.id),
        badge=series_link(session, service.settings, trend.series, trend.case),
        badge_path=series_path(trend.series),
        data=_data(
            trend_document(trend)
            | {"ladder": ladder(trend.series.unit), "relative": relative, "reference": trend.reference}
            | {"words": script_words(trend.marks, trend.series.unit)}
        ),
    )


def _data(document: dict[str, Any]) -> Markup:
    """Return the document as it may stand in a page: no text of it ends the element that it is in."""
    told = plain_json(document).decode()
    return Markup(told.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704
