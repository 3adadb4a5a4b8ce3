"""Series read back: which there are, their points, and two commits side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query

from app.api.answers.series import (
    ComparisonAnswer,
    ListedSeriesAnswer,
    PointsAnswer,
    SeriesListAnswer,
    TrendAnswer,
    TrendPointsAnswer,
)
from app.api.conditional import ReadingRoute
from app.api.cursors import position, with_next
from app.api.deps import ComingReader, Reader, ServiceDep, SessionDep
from app.api.describing import answers
from app.api.fields import Selection
from app.api.parameters import NO_NUL, Cursor, Fields, Limit, Name, Project, SeriesId
from app.api.rendering import PlainJSON
from app.api.routing import Router
from app.services.compare_stored import Wanted, compare_stored
from app.services.comparison_document import comparison_document
from app.services.costs import installation_costs
from app.services.query_series import list_series, series_points
from app.services.read_trend import COLUMNS, read_trend
from app.services.trend_document import trend_document

router = Router(prefix="/api/v1", tags=["series"], route_class=ReadingRoute)

Side = Annotated[
    str,
    Query(
        max_length=1_000,
        description="A commit, by its first 7 digits or more, a branch, or a device class.",
        examples=["4f1d2c9"],
    ),
]
SideClass = Annotated[
    str, Query(max_length=1_000, description="Only what was measured on this device class.")
]
Words = Annotated[
    str,
    Query(
        max_length=500,
        pattern=NO_NUL,
        description="Words that are all somewhere in project, benchmark, parameters, metric or device class.",
    ),
]


@router.get("/series", responses=answers(SeriesListAnswer, 404))
def get_series(
    session: SessionDep,
    reader: Reader,
    project: Annotated[Name | None, Query(description="Only this project's.")] = None,
    benchmark: Annotated[Name | None, Query(description="Only this benchmark's.")] = None,
    metric: Annotated[Name | None, Query(description="Only this metric's.")] = None,
    device_class: Annotated[Name | None, Query(description="Only what is measured on this.")] = None,
    q: Words = "",
    limit: Limit = 1000,
    cursor: Cursor = None,
    fields: Fields = None,
) -> dict[str, Any]:
    """Return the series of the project, benchmark, metric and device class that are named, with all words of `q`."""
    selection = Selection(ListedSeriesAnswer, fields)
    given = {"project": project, "benchmark": benchmark, "metric": metric, "device_class": device_class}
    chosen = {name: value for name, value in given.items() if value is not None}
    found = list_series(
        session, reader, chosen, words=q.split(), after=position("series", cursor), limit=limit
    )
    return with_next("series", found | {"series": [selection.of(one) for one in found["series"]]})


@router.get("/series/{series_id}/points", responses=answers(PointsAnswer, 404))
def get_points(
    session: SessionDep,
    reader: Reader,
    series_id: SeriesId,
    limit: Limit = 1000,
    cursor: Cursor = None,
    values: Annotated[bool, Query(description="Whether to tell every kept value.")] = False,
) -> dict[str, Any]:
    """Return the newest points of the series, oldest first, and its changes; the next page has those before."""
    before = position("points", cursor)
    found = series_points(session, reader, series_id, before=before, limit=limit, with_values=values)
    return with_next("points", found)


@router.get("/series/{series_id}/trend", responses=answers(TrendAnswer, 404))
def get_trend(
    session: SessionDep,
    reader: ComingReader,
    series_id: SeriesId,
    branch: Annotated[Name | None, Query(description="The branch; left out: the project's.")] = None,
    first: Annotated[int, Query(ge=0, lt=2**31, description="The first row to show.")] = 0,
    last: Annotated[
        int | None, Query(ge=0, lt=2**31, description="The last row; left out: the newest.")
    ] = None,
    columns: Annotated[
        int, Query(ge=1, le=10_000, description="Columns of pixels that it is drawn on.")
    ] = COLUMNS,
    fields: Annotated[
        Fields, Query(description="Columns of `points` to tell; left out: all.", examples=["commit,value"])
    ] = None,
) -> PlainJSON:
    """Return the history of the series on a branch in the order of its commits, and the changes that stand.

    `first` and `last` are rows of the history. Of more than six points for each of `columns` only those stay that make
    the curve what it is: in every column the first and last, the lowest and highest, the outermost of the ranges, and
    those around changes.
    """
    selection = Selection(TrendPointsAnswer, fields)
    trend = read_trend(session, reader, series_id, branch=branch, first=first, last=last, columns=columns)
    document = trend_document(trend)
    return PlainJSON(document | {"points": selection.of(document["points"])})


@router.get("/compare", responses=answers(ComparisonAnswer, 400, 404))
def get_comparison(
    service: ServiceDep,
    session: SessionDep,
    reader: Reader,
    project: Project,
    base: Side,
    head: Side,
    base_device_class: SideClass = "",
    head_device_class: SideClass = "",
) -> dict[str, Any]:
    """Return the stored numbers of two commits, branches or device classes side by side; this is no verdict.

    Of a branch the newest of each series are taken, of a device class those of the project's branch. Where both sides
    have a device class, the numbers of one are held against those of the other.
    """
    sides = Wanted(base, base_device_class), Wanted(head, head_device_class)
    installation = installation_costs(service.settings)
    return comparison_document(compare_stored(session, reader, project, *sides, installation))
