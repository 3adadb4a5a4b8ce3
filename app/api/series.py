"""Series read back: which there are, their points, and two commits side by side."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse

from app.api.deps import Reader, SessionDep
from app.services.compare_stored import Wanted, compare_stored
from app.services.comparison_document import comparison_document
from app.services.query_series import list_series, series_points
from app.services.read_trend import COLUMNS, read_trend
from app.services.trend_document import trend_document

router = APIRouter(prefix="/api/v1", tags=["series"])

Name = Annotated[str, Query(min_length=1, max_length=255, pattern=r"^[^\x00]*$")]
SeriesId = Annotated[int, Path(ge=1, lt=2**63)]
Row = Annotated[int, Query(ge=0, lt=2**31)]
Limit = Annotated[int, Query(ge=1, le=10_000)]


@router.get("/series")
def get_series(
    session: SessionDep,
    reader: Reader,
    project: Name | None = None,
    benchmark: Name | None = None,
    metric: Name | None = None,
    device_class: Name | None = None,
    q: Annotated[str, Query(max_length=500, pattern=r"^[^\x00]*$")] = "",
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return the series of the project, benchmark, metric and device class that are named, with all words of `q`."""
    given = {"project": project, "benchmark": benchmark, "metric": metric, "device_class": device_class}
    chosen = {name: value for name, value in given.items() if value is not None}
    return list_series(session, reader, chosen, words=q.split(), limit=limit)


@router.get("/series/{series_id}/points")
def get_points(
    session: SessionDep, reader: Reader, series_id: SeriesId, limit: Limit = 1000, values: bool = False
) -> dict[str, Any]:
    """Return the newest points of the series, oldest first, and its changes; `values=true` adds every kept value."""
    return series_points(session, reader, series_id, limit=limit, with_values=values)


@router.get("/series/{series_id}/trend")
def get_trend(
    session: SessionDep,
    reader: Reader,
    series_id: SeriesId,
    branch: Name | None = None,
    first: Row = 0,
    last: Annotated[int | None, Query(ge=0, lt=2**31)] = None,
    columns: Annotated[int, Query(ge=1, le=10_000)] = COLUMNS,
) -> JSONResponse:
    """Return the history of the series on a branch in the order of its commits, and the changes that stand.

    `first` and `last` are rows of the history. Of more than six points for each of `columns` only those stay that make
    the curve what it is: in every column the first and last, the lowest and highest, the outermost of the ranges, and
    those around changes.
    """
    trend = read_trend(session, reader, series_id, branch=branch, first=first, last=last, columns=columns)
    return JSONResponse(
        trend_document(trend)
    )  # as it is: what is looked through once more takes twice the time


@router.get("/compare")
def get_comparison(
    session: SessionDep,
    reader: Reader,
    project: Name,
    base: str,
    head: str,
    base_device_class: str = "",
    head_device_class: str = "",
) -> dict[str, Any]:
    """Return the stored numbers of two commits, branches or device classes side by side; this is no verdict.

    Of a branch the newest of each series are taken, of a device class those of the project's branch. Where both sides
    have a device class, the numbers of one are held against those of the other.
    """
    sides = Wanted(base, base_device_class), Wanted(head, head_device_class)
    return comparison_document(compare_stored(session, reader, project, *sides))
