"""Somebody wants a pull request or a commit of a connected repository measured: it is kept, and looked at later."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Unpack

from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, NotFoundError
from app.domain.revisions import read_revision
from app.services.access import Principal, Scope
from app.services.visibility import may_see
from app.store.repositories import access, forge, measure_requests, notify, outbox
from app.store.tables import MeasureRequest, Project, Repository

TOPIC = "measure.follow"


@dataclass(frozen=True)
class Wanted:
    """What is to be measured: a pull request, or head against base; `base` None is where head left its branch.

    `suites` and `devices` narrow it; empty means all. `key` makes asking twice one request.
    """

    pull: int | None = None
    head: str | None = None
    base: str | None = None
    suites: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    key: str | None = None


def connected_repository(session: Session, project: Project) -> Repository | None:
    """Return the repository of a project, None where none can be reached."""
    repository = forge.owner_of(session, project.id)
    return repository if repository is not None and repository.is_connected else None


def ask_measure(session: Session, principal: Principal, project: Project, wanted: Wanted) -> MeasureRequest:
    """Keep what is wanted, and have the forge asked for it; return the request.

    Raises AccessError, ConflictError where no repository is connected or the key was used for something else, DataError
    for what names no commit.
    """
    principal.require(Scope.JOBS_CREATE, project.id)
    for revision in filter(None, (wanted.head, wanted.base)):
        read_revision(revision)
    repository = connected_repository(session, project)
    if repository is None:
        raise ConflictError(
            f"no repository is connected for {project.name}: connect one (docs/github.md), or ask with "
            "`ratchet check --repo`",
            code="not_connected",
        )
    told: dict[str, Any] = {
        "repository_id": repository.id,
        "project_id": project.id,
        "pull": wanted.pull,
        "head": wanted.head,
        "base": wanted.base,
        "suites": list(wanted.suites),
        "devices": list(wanted.devices),
    }
    key = f"{project.id}/{wanted.key or uuid.uuid4()}"
    request, is_new = measure_requests.keep(session, key, told, principal.name)
    if any(getattr(request, name) != value for name, value in told.items()):
        raise ConflictError(
            f"the key {wanted.key!r} was used for another request, {request.id}", code="idempotency_conflict"
        )
    if is_new:
        want_measuring(session, request.id)
        access.audit(session, principal.name, "measure.requested", f"measure/{request.id}", **_said(wanted))
    return request


def _said(wanted: Wanted) -> dict[str, Any]:
    return {"pull": wanted.pull, "head": wanted.head, "base": wanted.base}


def visible_request(
    session: Session, principal: Principal | None, request_id: int, project: str | None = None
) -> tuple[MeasureRequest, Project]:
    """Return a request and its project. Raises NotFoundError, the same for an unknown one and one not to be seen."""
    request = measure_requests.one(session, request_id)
    its = None if request is None else session.get_one(Project, request.project_id)
    if request is None or its is None or not may_see(principal, its.id) or project not in (None, its.name):
        raise NotFoundError(f"there is no request {request_id} that you may see")
    return request, its


def want_measuring(session: Session, request_id: int, **when: Unpack[outbox.When]) -> None:
    """Have a request looked at; several wishes for the same are one."""
    outbox.put_again(session, TOPIC, f"{TOPIC}/{request_id}", {"request_id": request_id}, **when)


def find_lost_requests(session: Session, *, older_than: timedelta) -> int:
    """Have looked at again what nobody looked at for so long; return how many requests."""
    lost = measure_requests.all_waiting(session, older_than=older_than)
    for request_id in lost:
        want_measuring(session, request_id, sent_before=older_than)
    return len(lost)


def end_request(
    session: Session,
    request_id: int,
    outcome: str,
    *,
    check_id: int | None = None,
    message: str | None = None,
) -> None:
    """Store what came of a request, once, and wake who waits for it."""
    request = measure_requests.waiting(session, request_id)
    if request is not None:
        request.outcome, request.check_id, request.message = outcome, check_id, message
        notify.request_ended(session, request_id)
