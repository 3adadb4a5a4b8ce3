"""Alerts: what is worse and waits for somebody, what people make of it, and how right the detector was."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field

from app.api.answers.alerts import (
    AlertAnswer,
    AlertListAnswer,
    AnsweredAnswer,
    MissedAnswer,
    QualityAnswer,
)
from app.api.answers.one_series import SHA
from app.api.conditional import StoredRoute
from app.api.deps import AlertWriter, Body, Reader, Relayed, ServiceDep, SessionDep, parse
from app.api.describing import answers, takes
from app.api.parameters import NO_NUL, SeriesId
from app.api.routing import Router
from app.domain.alerts import AlertState
from app.services.alerts.alert_document import alert_document, list_document, quality_document
from app.services.alerts.alert_states import StateWord, states_of
from app.services.alerts.answer_alerts import LONGEST, MOST_AT_ONCE, Answer, answer_alerts
from app.services.alerts.detector_quality import read_quality
from app.services.alerts.read_alerts import list_alerts, read_alert
from app.services.alerts.report_missed import report_missed

router = Router(prefix="/api/v1", tags=["alerts"], route_class=StoredRoute)

AlertId = Annotated[int, Path(ge=1, lt=2**63, description="The alert's number.", examples=[3])]
OfProject = Annotated[str | None, Query(max_length=1_000, pattern=NO_NUL, description="Only this project's.")]
OlderThan = Annotated[
    int | None, Query(ge=1, lt=2**63, description="Where to go on: `next` of the page before.", examples=[3])
]
States = Annotated[
    tuple[StateWord, ...], Query(max_length=10, description="The states to tell; left out: `open`.")
]
SAID = {"state": "investigating", "owner": "ada", "comment": "looks like the new filter"}


class AnswerBody(BaseModel):
    """What somebody says of an alert: each part may be left out."""

    model_config = ConfigDict(extra="forbid")

    state: AlertState | None = None
    owner: Annotated[str | None, Field(max_length=LONGEST // 10)] = None
    comment: Annotated[str, Field(max_length=LONGEST)] = ""

    def answer(self) -> Answer:
        """Return it as the service takes it."""
        return Answer(self.state, self.owner, self.comment)


class BulkAnswerBody(AnswerBody):
    """The same of several alerts at once."""

    ids: Annotated[list[int], Field(min_length=1, max_length=MOST_AT_ONCE)]


class MissedBody(BaseModel):
    """A change that the detector did not find: the first commit of the new level."""

    model_config = ConfigDict(extra="forbid")

    commit: Annotated[str, Field(pattern=r"^[0-9a-fA-F]{4,64}$")]
    branch: str | None = None
    note: Annotated[str, Field(max_length=LONGEST)] = ""


@router.get("/alerts", responses=answers(AlertListAnswer, 404))
def get_alerts(
    service: ServiceDep,
    session: SessionDep,
    reader: Reader,
    project: OfProject = None,
    state: States = (),
    owner: Annotated[
        str | None, Query(max_length=200, pattern=NO_NUL, description="Only this one's; empty: nobody's.")
    ] = None,
    before: OlderThan = None,
    limit: Annotated[int, Query(ge=1, le=200, description="The most alerts of one page.")] = 50,
    cursor: OlderThan = None,
) -> dict[str, Any]:
    """Return alerts, the newest first; by default those that are open. An empty owner means nobody's."""
    found = list_alerts(
        session,
        reader,
        settings=service.settings,
        project=project,
        states=states_of(state or ("open",)),
        owner=owner,
        before=cursor or before,
        limit=limit,
    )
    return list_document(found)


@router.get("/alerts/quality", responses=answers(QualityAnswer, 404))
def get_quality(
    session: SessionDep,
    reader: Reader,
    project: OfProject = None,
    benchmark: Annotated[
        str | None, Query(max_length=1_000, pattern=NO_NUL, description="Only alerts of this benchmark.")
    ] = None,
) -> dict[str, Any]:
    """Return the detector's precision and recall, by what people made of its alerts, with 95 % intervals."""
    return quality_document(read_quality(session, reader, project, benchmark))


@router.get("/alerts/{alert_id:int}", responses=answers(AlertAnswer, 404))
def get_alert(service: ServiceDep, session: SessionDep, reader: Reader, alert_id: AlertId) -> dict[str, Any]:
    """Return one alert with all that it tells, and who did what with it."""
    found = read_alert(session, reader, alert_id, settings=service.settings)
    return alert_document(found)


@router.post(
    "/alerts/{alert_id:int}",
    responses=answers(AlertAnswer, 404, 409, 413),
    openapi_extra=takes(AnswerBody, SAID),
)
def post_answer(
    body: Body,
    service: ServiceDep,
    session: SessionDep,
    principal: AlertWriter,
    _then: Relayed,
    alert_id: AlertId,
) -> dict[str, Any]:
    """Move an alert to a state, give it an owner, comment on it; return it as it is then."""
    answer_alerts(session, principal, [alert_id], parse(AnswerBody, body).answer())
    session.flush()
    return get_alert(service, session, principal, alert_id)


@router.post(
    "/alerts",
    responses=answers(AnsweredAnswer, 404, 409, 413),
    openapi_extra=takes(BulkAnswerBody, SAID | {"ids": [3, 4]}),
)
def post_answers(
    body: Body, session: SessionDep, principal: AlertWriter, _then: Relayed
) -> dict[Literal["answered"], list[int]]:
    """Say the same of several alerts at once: of all of them, or of none."""
    wanted = parse(BulkAnswerBody, body)
    return {"answered": answer_alerts(session, principal, wanted.ids, wanted.answer())}


@router.post(
    "/series/{series_id}/missed",
    status_code=201,
    responses=answers(MissedAnswer, 404, 409, 413, status=201),
    openapi_extra=takes(MissedBody, {"commit": SHA, "note": "slower since the new filter"}),
)
def post_missed(
    body: Body, session: SessionDep, principal: AlertWriter, series_id: SeriesId
) -> dict[str, bool]:
    """Tell of a change that was not found; the detector's recall is computed from these."""
    its = parse(MissedBody, body)
    return {"new": report_missed(session, principal, series_id, its.commit, branch=its.branch, note=its.note)}
