"""Change points: where series changed, and which measurements would settle what is only suspected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query

from app.api.answers.changes import (
    ChangeAnswer,
    ProjectChangeAnswer,
    ProjectChangesAnswer,
    SeriesChangesAnswer,
    WantedListAnswer,
)
from app.api.conditional import StoredRoute
from app.api.cursors import position, with_next
from app.api.deps import Moment, Reader, SessionDep
from app.api.describing import answers
from app.api.fields import Selection
from app.api.parameters import Cursor, Fields, Limit, Project, SeriesId
from app.api.routing import Router
from app.domain.changes import ChangeState
from app.services.query_changes import project_changes, series_changes, wanted_measurements

router = Router(prefix="/api/v1", tags=["changes"], route_class=StoredRoute)

State = ChangeState | Literal["all"]
Before = Annotated[
    int | None,
    Query(ge=1, lt=2**63, description="Only suspicions with smaller numbers; `cursor` says the same."),
]
States = Annotated[
    tuple[State, ...],
    Query(max_length=10, description="The states to tell; left out: `suspected` and `confirmed`."),
]
Since = Annotated[
    Moment | None,
    Query(
        description="Leaves out what was neither first seen nor moved to another state then or later [UTC]."
    ),
]
ChangeFields = Annotated[Fields, Query(examples=["id,change"])]


@router.get("/series/{series_id}/changes", responses=answers(SeriesChangesAnswer, 404))
def get_series_changes(
    session: SessionDep,
    reader: Reader,
    series_id: SeriesId,
    state: States = (),
    limit: Limit = 1000,
    cursor: Cursor = None,
    fields: ChangeFields = None,
) -> dict[str, Any]:
    """Return the series' newest change points in the order of its history; the next page has those before."""
    selection = Selection(ChangeAnswer, fields)
    found = series_changes(
        session,
        reader,
        series_id,
        states=_states(state),
        before=position("series_changes", cursor),
        limit=limit,
    )
    return _page("series_changes", found, selection)


@router.get("/changes", responses=answers(ProjectChangesAnswer, 404))
def get_project_changes(
    session: SessionDep,
    reader: Reader,
    project: Project,
    since: Since = None,
    state: States = (),
    limit: Limit = 1000,
    cursor: Cursor = None,
    fields: ChangeFields = None,
) -> dict[str, Any]:
    """Return the project's change points, the newest first; a time without an offset is UTC."""
    selection = Selection(ProjectChangeAnswer, fields)
    found = project_changes(
        session,
        reader,
        project,
        states=_states(state),
        since=since,
        before=position("changes", cursor),
        limit=limit,
    )
    return _page("changes", found, selection)


@router.get("/wanted", responses=answers(WantedListAnswer, 404))
def get_wanted(
    session: SessionDep,
    reader: Reader,
    project: Project,
    before: Before = None,
    limit: Limit = 1000,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Return what to measure and post, so that suspected changes are confirmed or withdrawn."""
    wanted_before = position("wanted", cursor) or before
    return with_next(
        "wanted", wanted_measurements(session, reader, project, before=wanted_before, limit=limit)
    )


def _page(kind: str, found: dict[str, Any], selection: Selection) -> dict[str, Any]:
    return with_next(kind, found | {"changes": [selection.of(change) for change in found["changes"]]})


def _states(wanted: tuple[State, ...]) -> list[ChangeState]:
    if "all" in wanted:
        return list(ChangeState)
    return [ChangeState(state) for state in wanted]
