"""Checks: ask for one, watch it, read its verdicts and its report."""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import HTMLResponse

from app.api.answers.checks import CheckAnswer, CheckListAnswer, ProgressAnswer, WatchedAnswer
from app.api.answers.one_series import PREVIOUS, SHA
from app.api.conditional import StoredRoute
from app.api.cursors import position, with_next
from app.api.deps import (
    Body,
    JobCreator,
    Reader,
    Relayed,
    ServiceDep,
    SessionDep,
    get_reader,
    parse,
)
from app.api.describing import ALWAYS, answers, page, takes
from app.api.hub import Hub
from app.api.parameters import CheckId, Cursor, Name, Wait
from app.api.routing import Router, asking
from app.domain.results import CommitRef
from app.reports.check_json import check_document
from app.services.cancel_check import cancel_check
from app.services.check_request import CheckRequest
from app.services.paging import page_end
from app.services.read_check import read_check
from app.services.render_report import report_html
from app.services.request_check import request_check
from app.services.store_bundle import bundle_path
from app.services.visibility import visible_check, visible_projects
from app.services.watch_check import watch_check
from app.settings import read_settings
from app.store.repositories import checks as check_rows

router = Router(prefix="/api/v1/checks", tags=["checks"], route_class=StoredRoute)

Sha = Annotated[str, Field(pattern=r"^([0-9a-fA-F]{40}|[0-9a-fA-F]{64})$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PostedCommit(_Strict):
    """What the client knows of a commit."""

    sha: Sha
    subject: str = Field("", max_length=10_000)
    author: str = Field("", max_length=1_000)
    authored_at: Annotated[datetime | None, Field(strict=True)] = None


class PostedSource(_Strict):
    """Where workers get the commits from: a git address, or the digest of an uploaded bundle."""

    kind: Literal["git", "bundle"]
    location: str = Field(min_length=1, max_length=4_096)


class PostedCheck(_Strict):
    """A check to be made. `settings` is the text of `ratchet.toml`; empty `suites` and `devices` mean all."""

    settings: str = Field(max_length=2**20)
    source: PostedSource
    base: PostedCommit
    head: PostedCommit
    suites: list[str] = Field(default_factory=list, max_length=100)
    devices: list[str] = Field(default_factory=list, max_length=100)
    key: str | None = Field(None, max_length=255)


EXAMPLE = {
    "settings": '[project]\nname = "acme/vision"\n\n[[suite]]\nname = "inference"\nbenchmarks = "benchmarks/*.py"\n',
    "source": {"kind": "git", "location": "https://git.example.org/acme/vision.git"},
    "base": {"sha": PREVIOUS, "subject": "Pad less"},
    "head": {"sha": SHA, "subject": "Use cubic filter"},
    "suites": [],
    "devices": ["cpu-*"],
    "key": "ci-4711",
}


@router.post(
    "",
    status_code=201,
    responses=answers(ProgressAnswer, 400, 404, 409, 413, 507, status=201),
    openapi_extra=takes(PostedCheck, EXAMPLE),
)
def post_check(
    body: Body, service: ServiceDep, session: SessionDep, principal: JobCreator, _then: Relayed
) -> dict[str, Any]:
    """Ask for a check; the answer is its progress document."""
    posted = parse(PostedCheck, body)
    if posted.source.kind == "bundle":
        bundle_path(service.settings.data_dir / "bundles", posted.source.location)
    wanted = CheckRequest(
        settings=read_settings(posted.settings),
        source=posted.source.model_dump(),
        base=_commit(posted.base),
        head=_commit(posted.head),
        suites=tuple(posted.suites),
        devices=tuple(posted.devices),
        key=posted.key,
    )
    check = request_check(session, service.settings, principal, wanted)
    session.flush()
    return watch_check(session, check.id)


def _commit(posted: PostedCommit) -> CommitRef:
    return CommitRef(posted.sha.lower(), posted.subject, posted.author, posted.authored_at)


@router.get("", responses=answers(CheckListAnswer))
def list_checks(
    session: SessionDep,
    reader: Reader,
    project: Annotated[Name | None, Query(description="Only this project's.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="The most checks of one page.")] = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """Return the newest checks."""
    found = check_rows.recent(
        session,
        limit=limit + 1,
        project=project,
        project_ids=visible_projects(reader),
        before=position("checks", cursor),
    )
    rows = found[:limit]
    page = {
        "checks": [
            {
                "check": check.id,
                "project": its_project.name,
                "base": base.sha,
                "head": head.sha,
                "state": check.state,
                "conclusion": check.conclusion,
                "title": check.title,
                "created_at": check.created_at,
            }
            for check, its_project, base, head in rows
        ]
    }
    return with_next("checks", page | page_end(len(found) > limit, [row[0].id for row in rows]))


@router.get("/{check_id}", responses=answers(CheckAnswer, 404))
def get_check(check_id: CheckId, service: ServiceDep, session: SessionDep, reader: Reader) -> dict[str, Any]:
    """Return the check with every verdict so far: the object that `ratchet check --json` prints."""
    visible_check(session, reader, check_id)
    page = f"{service.settings.address}/checks/{check_id}"
    return check_document(read_check(session, check_id), f"{page}/report", page)


@router.get("/{check_id}/progress", responses=answers(WatchedAnswer, 404))
async def get_progress(
    check_id: CheckId,
    request: Request,
    wait: Wait = 0,
    seen: Annotated[str, Query(max_length=100, description="The `version` that is known already.")] = "",
) -> dict[str, Any]:
    """Return how far the check has come, as soon as that differs from what was `seen` (an earlier `version`)."""
    hub: Hub = request.app.state.hub
    deadline = asyncio.get_running_loop().time() + wait
    with hub.listen(f"check:{check_id}") as news:
        while True:
            document = await run_in_threadpool(_progress, request, check_id)
            left = deadline - asyncio.get_running_loop().time()
            if document["version"] != seen or document["state"] == "complete" or left <= 0:
                return document
            await news.wait(left)


def _progress(request: Request, check_id: int) -> dict[str, Any]:
    with asking(request) as asked:
        visible_check(asked.session, asked.of(get_reader), check_id)
        document = watch_check(asked.session, check_id)
    version = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:16]
    return document | {"version": version}


@router.post("/{check_id}/cancel", responses=answers(ProgressAnswer, 404))
def post_cancel(
    check_id: CheckId, session: SessionDep, principal: JobCreator, _then: Relayed
) -> dict[str, Any]:
    """Cancel the check: nothing more of it is measured."""
    visible_check(session, principal, check_id)
    cancel_check(session, principal, check_id)
    session.flush()
    return watch_check(session, check_id)


@router.get(
    "/{check_id}/report",
    response_class=HTMLResponse,
    responses=page("The report, a page of its own.", *ALWAYS, 404),
)
def get_report(check_id: CheckId, session: SessionDep, reader: Reader) -> Response:
    """Return the check's self-contained HTML report, final or as things stand."""
    visible_check(session, reader, check_id)
    return Response(report_html(session, check_id), media_type="text/html; charset=utf-8")
