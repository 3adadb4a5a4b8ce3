"""Runs: where stored numbers come from."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from app.api.deps import Moment, Reader, SessionDep
from app.api.series import Limit, Name
from app.services.find_runs import find_runs
from app.services.query_runs import get_run, run_results

router = APIRouter(prefix="/api/v1/runs", tags=["runs"])

FewAtATime = Annotated[int, Query(ge=1, le=1_000)]
After = Annotated[int | None, Query(ge=1, lt=2**63)]


@router.get("")
def get_all(
    session: SessionDep,
    reader: Reader,
    project: Name | None = None,
    benchmark: Name | None = None,
    commit: Name | None = None,
    device_class: Name | None = None,
    since: Moment | None = None,
    before: Name | None = None,
    limit: FewAtATime = 50,
) -> dict[str, Any]:
    """Return the newest runs, measured and posted; `before` is `next` of the page before, for older ones."""
    sought = {"benchmark": benchmark, "commit": commit, "device_class": device_class, "since": since}
    return find_runs(session, reader, project=project, before=before, limit=limit, **sought)


@router.get("/{run}")
def get_one(session: SessionDep, reader: Reader, run: str) -> dict[str, Any]:
    """Return a run with its job, worker, environment and invocations, or an upload with its environment."""
    return get_run(session, reader, run)


@router.get("/{run}/results")
def get_results(
    session: SessionDep,
    reader: Reader,
    run: str,
    benchmark: Name | None = None,
    after: After = None,
    limit: Limit = 1000,
) -> dict[str, Any]:
    """Return what a run has brought, each result with every value; `after` is `next` of the page before."""
    return run_results(session, reader, run, benchmark=benchmark, after=after, limit=limit)
