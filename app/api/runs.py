"""Runs: where stored numbers come from."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query

from app.api.answers.runs import RunAnswer, RunLineAnswer, RunListAnswer, RunResultsAnswer
from app.api.conditional import StoredRoute
from app.api.deps import Moment, Reader, SessionDep
from app.api.describing import answers
from app.api.fields import Selection
from app.api.parameters import Fields, Limit, Name
from app.api.routing import Router
from app.services.find_runs import find_runs
from app.services.query_runs import get_run, run_results

router = Router(prefix="/api/v1/runs", tags=["runs"], route_class=StoredRoute)

Run = Annotated[
    str,
    Path(max_length=100, description="A run's number, or the name of a post.", examples=["upload-12"]),
]
FewAtATime = Annotated[int, Query(ge=1, le=1_000, description="The most entries of one page.")]
After = Annotated[
    int | None,
    Query(ge=1, lt=2**63, description="Where to go on: `next` of the page before.", examples=[812]),
]
OlderThan = Annotated[
    Name | None, Query(description="Where to go on: `next` of the page before.", examples=["12.7"])
]
OfBenchmark = Annotated[Name | None, Query(description="Only this benchmark's.")]
RunFields = Annotated[Fields, Query(examples=["run,head"])]


@router.get("", responses=answers(RunListAnswer, 400, 404))
def get_all(
    session: SessionDep,
    reader: Reader,
    project: Annotated[Name | None, Query(description="Only this project's.")] = None,
    benchmark: OfBenchmark = None,
    commit: Annotated[
        Name | None,
        Query(description="Only of this commit: its first 7 digits or more.", examples=["4f1d2c9"]),
    ] = None,
    device_class: Annotated[Name | None, Query(description="Only what was measured on this.")] = None,
    since: Annotated[Moment | None, Query(description="Only what was measured then or later [UTC].")] = None,
    before: OlderThan = None,
    limit: FewAtATime = 50,
    cursor: OlderThan = None,
    fields: RunFields = None,
) -> dict[str, Any]:
    """Return the newest runs, measured and posted; `before` and `cursor` say the same."""
    selection = Selection(RunLineAnswer, fields)
    sought = {"benchmark": benchmark, "commit": commit, "device_class": device_class, "since": since}
    found = find_runs(session, reader, project=project, before=cursor or before, limit=limit, **sought)
    return found | {"runs": [selection.of(run) for run in found["runs"]]}


@router.get("/{run}", responses=answers(RunAnswer, 404))
def get_one(session: SessionDep, reader: Reader, run: Run, fields: RunFields = None) -> dict[str, Any]:
    """Return a run with its job, worker, environment and invocations, or an upload with its environment."""
    selection = Selection(RunAnswer, fields)
    return selection.of(get_run(session, reader, run))


@router.get("/{run}/results", responses=answers(RunResultsAnswer, 404))
def get_results(
    session: SessionDep,
    reader: Reader,
    run: Run,
    benchmark: OfBenchmark = None,
    after: After = None,
    limit: Limit = 1000,
    cursor: After = None,
) -> dict[str, Any]:
    """Return what a run has brought, each result with every value; `after` and `cursor` say the same."""
    return run_results(session, reader, run, benchmark=benchmark, after=cursor or after, limit=limit)
