"""Change points: where series changed, and which measurements would settle what is only suspected."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from app.api.deps import Moment, Reader, SessionDep
from app.api.series import Limit, Name, SeriesId
from app.domain.changes import ChangeState
from app.services.query_changes import project_changes, series_changes, wanted_measurements

router = APIRouter(prefix="/api/v1", tags=["changes"])

State = ChangeState | Literal["all"]
Before = Annotated[int | None, Query(ge=1, lt=2**63)]
States = Annotated[tuple[State, ...], Query(max_length=10)]


@router.get("/series/{series_id}/changes")
def get_series_changes(
    session: SessionDep, reader: Reader, series_id: SeriesId, state: States = (), limit: Limit = 1000
) -> dict[str, Any]:
    """Return the series' change points in the order of its history: those that stand, or those in the states named."""
    return series_changes(session, reader, series_id, states=_states(state), limit=limit)


@router.get("/changes")
def get_project_changes(
    session: SessionDep,
    reader: Reader,
    project: Name,
    since: Moment | None = None,
    state: States = (),
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return the project's change points, the newest first; a time without an offset is UTC."""
    return project_changes(session, reader, project, states=_states(state), since=since, limit=limit)


@router.get("/wanted")
def get_wanted(
    session: SessionDep, reader: Reader, project: Name, before: Before = None, limit: Limit = 1000
) -> dict[str, Any]:
    """Return what to measure and post, so that suspected changes are confirmed or withdrawn."""
    return wanted_measurements(session, reader, project, before=before, limit=limit)


def _states(wanted: tuple[State, ...]) -> list[ChangeState]:
    if "all" in wanted:
        return list(ChangeState)
    return [ChangeState(state) for state in wanted]
