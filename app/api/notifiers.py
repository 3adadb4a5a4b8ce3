"""Who is told of a project's alerts and machines: added, changed, tried, paused, removed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from app.api.answers.notifiers import (
    AddedNotifierAnswer,
    NotifierAnswer,
    NotifierListAnswer,
    RemovedNotifierAnswer,
    SentTestAnswer,
)
from app.api.conditional import StoredRoute
from app.api.deps import (
    Body,
    NotifierReader,
    NotifierWriter,
    Relayed,
    ServiceDep,
    SessionDep,
    parse,
)
from app.api.describing import answers, takes
from app.api.parameters import NO_NUL
from app.api.routing import Router
from app.domain.notifications import NAME, About, NotifierKind, Pace, Wishes, wishes_of
from app.services.notify.manage_notifiers import (
    add_notifier,
    change_notifier,
    pause_notifier,
    remove_notifier,
    resume_notifier,
    send_test,
)
from app.services.notify.notifier_document import notifier_document
from app.services.notify.read_notifiers import read_notifier, read_notifiers

router = Router(prefix="/api/v1/projects", tags=["notifiers"], route_class=StoredRoute)

ProjectName = Annotated[
    str, Path(max_length=255, pattern=NO_NUL, description="The project's name.", examples=["acme/vision"])
]
NotifierName = Annotated[
    str, Path(pattern=NAME, description="What the notifier is called.", examples=["ops"])
]
Part = Annotated[str, Field(max_length=4_000)]
WISHES = {"min_change": 0.05, "zone": "Europe/Berlin", "quiet_from": "22:00", "quiet_until": "07:00"}
AT = "/{project:path}/notifiers"


class WishesBody(BaseModel):
    """What is told, and when; what is left out stays. A new one is told of `changes` and `checks`, at once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    about: list[About] | None = None
    min_change: float | None = None
    owners: list[Annotated[str, Field(max_length=100)]] | None = None
    pace: Pace | None = None
    hour: int | None = None
    weekday: int | None = None
    zone: Annotated[str, Field(max_length=60)] | None = None
    quiet_from: Annotated[str, Field(max_length=5)] | None = None
    quiet_until: Annotated[str, Field(max_length=5)] | None = None
    breaks_through: float | None = None
    empty_digests: bool | None = None
    reports: list[Literal["weekly_report"]] | None = None

    def on(self, known: Wishes) -> Wishes:
        """Return the wishes with what is said here in its place; null of `breaks_through` means: nothing does."""
        said = {name: value for name, value in self.model_dump(exclude_unset=True).items()}
        kept = {name: value for name, value in said.items() if value is not None or name == "breaks_through"}
        return wishes_of(asdict(known) | kept)


class PostedNotifier(BaseModel):
    """A new notifier. `address` has `url` (and perhaps `key`) of a webhook, `url` of Slack's, `to` of e-mail."""

    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(pattern=NAME)]
    kind: NotifierKind
    address: dict[str, Part] = Field(default_factory=dict, max_length=10)
    wishes: WishesBody = Field(default_factory=WishesBody)


class ChangedNotifier(BaseModel):
    """What is to be another: parts of the address, or of the wishes."""

    model_config = ConfigDict(extra="forbid")

    address: dict[str, Part] = Field(default_factory=dict, max_length=10)
    wishes: WishesBody | None = None


@router.get(AT, responses=answers(NotifierListAnswer, 404))
def get_notifiers(project: ProjectName, session: SessionDep, principal: NotifierReader) -> dict[str, Any]:
    """Return who is told of a project's alerts and machines, each with its newest messages."""
    found = read_notifiers(session, principal, project)
    return {"notifiers": [notifier_document(its) for its in found.notifiers]}


@router.get(AT + "/{name}", responses=answers(NotifierAnswer, 404))
def get_notifier(
    project: ProjectName, name: NotifierName, session: SessionDep, principal: NotifierReader
) -> dict[str, Any]:
    """Return one notifier with its newest messages."""
    return notifier_document(read_notifier(session, principal, project, name))


@router.post(
    AT,
    status_code=201,
    responses=answers(AddedNotifierAnswer, 404, 409, 413, status=201),
    openapi_extra=takes(
        PostedNotifier,
        {
            "name": "ops",
            "kind": "slack",
            "address": {"url": "https://hooks.slack.com/services/T024BE7LD/B0W4CLYDU/secret"},
            "wishes": WISHES,
        },
    ),
)
def post_notifier(
    project: ProjectName, body: Body, service: ServiceDep, session: SessionDep, principal: NotifierWriter
) -> dict[str, Any]:
    """Add a notifier; what was made for its address is answered this once."""
    posted = parse(PostedNotifier, body)
    added = add_notifier(
        session,
        service.settings,
        principal,
        project,
        name=posted.name,
        kind=posted.kind,
        address=posted.address,
        wishes=posted.wishes.on(Wishes()),
    )
    return notifier_document(read_notifier(session, principal, project, added.name)) | {"made": added.made}


@router.post(
    AT + "/{name}",
    responses=answers(NotifierAnswer, 404, 409, 413),
    openapi_extra=takes(ChangedNotifier, {"wishes": WISHES}),
)
def post_change(
    project: ProjectName,
    name: NotifierName,
    body: Body,
    service: ServiceDep,
    session: SessionDep,
    principal: NotifierWriter,
    _then: Relayed,
) -> dict[str, Any]:
    """Change a notifier's address or wishes; what is left out stays as it is."""
    posted = parse(ChangedNotifier, body)
    known = read_notifier(session, principal, project, name)
    change_notifier(
        session,
        service.settings,
        principal,
        project,
        name,
        address=posted.address,
        wishes=posted.wishes.on(known.wishes) if posted.wishes is not None else None,
    )
    return notifier_document(read_notifier(session, principal, project, name))


@router.post(AT + "/{name}/test", status_code=202, responses=answers(SentTestAnswer, 404, 409, status=202))
def post_test(
    project: ProjectName,
    name: NotifierName,
    service: ServiceDep,
    session: SessionDep,
    principal: NotifierWriter,
    _then: Relayed,
) -> dict[str, str]:
    """Have a test message sent; what became of it is among the notifier's deliveries."""
    key = send_test(session, service.settings, principal, project, name)
    return {"key": key}


@router.post(AT + "/{name}/pause", responses=answers(NotifierAnswer, 404))
def post_pause(
    project: ProjectName, name: NotifierName, session: SessionDep, principal: NotifierWriter
) -> dict[str, Any]:
    """Tell a notifier nothing until it is resumed; what happens meanwhile is kept for then."""
    pause_notifier(session, principal, project, name)
    session.flush()
    return notifier_document(read_notifier(session, principal, project, name))


@router.post(AT + "/{name}/resume", responses=answers(NotifierAnswer, 404))
def post_resume(
    project: ProjectName,
    name: NotifierName,
    session: SessionDep,
    principal: NotifierWriter,
    _then: Relayed,
) -> dict[str, Any]:
    """Go on telling a notifier, also of what happened while it was paused."""
    resume_notifier(session, principal, project, name)
    session.flush()
    return notifier_document(read_notifier(session, principal, project, name))


@router.post(AT + "/{name}/remove", responses=answers(RemovedNotifierAnswer, 404))
def post_removal(
    project: ProjectName, name: NotifierName, session: SessionDep, principal: NotifierWriter
) -> dict[str, str]:
    """Remove a notifier with its address and its messages."""
    remove_notifier(session, principal, project, name)
    return {"removed": name}
