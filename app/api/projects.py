"""A project of a connected repository: have something of it measured, and see what its schedules did."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.api.answers.service import MeasureAnswer, ProjectListAnswer, SchedulesAnswer
from app.api.conditional import StoredRoute
from app.api.deps import (
    Body,
    JobCreator,
    Reader,
    Relayed,
    SessionDep,
    get_reader,
    parse,
)
from app.api.describing import answers, takes
from app.api.hub import Hub
from app.api.parameters import NO_NUL, Wait
from app.api.routing import Router, asking
from app.services.forge.ask_measure import Wanted, ask_measure, visible_request
from app.services.forge.read_schedules import read_schedules
from app.services.list_projects import list_projects
from app.services.visibility import visible_project
from app.store.tables import MeasureRequest

router = Router(prefix="/api/v1/projects", tags=["projects"], route_class=StoredRoute)

Name = Annotated[str, Field(min_length=1, max_length=255)]
ProjectName = Annotated[
    str, Path(max_length=255, pattern=NO_NUL, description="The project's name.", examples=["acme/vision"])
]
RequestId = Annotated[int, Path(ge=1, lt=2**63, description="The request's number.", examples=[17])]


class PostedMeasure(BaseModel):
    """What is to be measured: `pull`, or `head` and perhaps `base`. Empty `suites` and `devices` mean all."""

    model_config = ConfigDict(extra="forbid")

    pull: Annotated[int, Field(ge=1, le=2**31)] | None = None
    head: Name | None = None
    base: Name | None = None
    suites: list[Name] = Field(default_factory=list, max_length=100)
    devices: list[Name] = Field(default_factory=list, max_length=100)
    key: Name | None = None

    @model_validator(mode="after")
    def _one_head(self) -> PostedMeasure:
        if (self.pull is None) == (self.head is None):
            raise ValueError("give either `pull` or `head`")
        if self.pull is not None and self.base is not None:
            raise ValueError("`base` goes with `head`: a pull request has its own")
        return self


@router.get("", responses=answers(ProjectListAnswer))
def get_all(session: SessionDep, reader: Reader) -> dict[str, Any]:
    """Return the projects that the reader may see, by name, each with its branch and how many series it has."""
    return list_projects(session, reader)


@router.post(
    "/{project:path}/measure",
    status_code=202,
    responses=answers(MeasureAnswer, 400, 404, 409, 413, status=202),
    openapi_extra=takes(PostedMeasure, {"head": "topic", "base": "main~1", "key": "ci-4711"}),
)
def post_measure(
    project: ProjectName,
    body: Body,
    response: Response,
    session: SessionDep,
    principal: JobCreator,
    _then: Relayed,
) -> dict[str, Any]:
    """Ask for a pull request or a commit to be measured; the forge is asked later, and `Location` is where to look."""
    posted = parse(PostedMeasure, body)
    wanted = Wanted(
        posted.pull, posted.head, posted.base, tuple(posted.suites), tuple(posted.devices), posted.key
    )
    request = ask_measure(session, principal, visible_project(session, principal, project), wanted)
    session.flush()
    response.headers["Location"] = f"/api/v1/projects/{quote(project)}/measure/{request.id}"
    return _document(request)


@router.get("/{project:path}/measure/{request_id}", responses=answers(MeasureAnswer, 404))
async def get_measure(
    project: ProjectName,
    request_id: RequestId,
    request: Request,
    wait: Wait = 0,
) -> dict[str, Any]:
    """Return what came of a request, as soon as something did, or after `wait` seconds."""
    hub: Hub = request.app.state.hub
    deadline = asyncio.get_running_loop().time() + wait
    with hub.listen(f"measure:{request_id}.") as news:
        while True:
            document = await run_in_threadpool(_read, request, project, request_id)
            left = deadline - asyncio.get_running_loop().time()
            if document["state"] != "waiting" or left <= 0:
                return document
            await news.wait(left)


def _read(request: Request, project: str, request_id: int) -> dict[str, Any]:
    with asking(request) as asked:
        return _document(visible_request(asked.session, asked.of(get_reader), request_id, project)[0])


def _document(request: MeasureRequest) -> dict[str, Any]:
    return {
        "request": request.id,
        "state": request.outcome or "waiting",
        "check": request.check_id,
        "message": request.message,
    }


@router.get("/{project:path}/schedules", responses=answers(SchedulesAnswer, 404))
def get_schedules(project: ProjectName, session: SessionDep, reader: Reader) -> dict[str, Any]:
    """Return the project's schedules: when each is due, and what followed the last time."""
    lines = read_schedules(session, visible_project(session, reader, project).id)
    return {
        "schedules": [
            {
                "name": line.name,
                "cron": line.cron,
                "due_at": line.due_at,
                "last_at": line.last_at,
                "outcome": line.outcome,
                "check": line.check_id,
            }
            for line in lines
        ]
    }
