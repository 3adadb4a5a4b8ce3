"""Results from elsewhere: any program may post what it measured."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import Request, Response

from app.api.answers.results import BatchAnswer, PostedDocument, StoredAnswer
from app.api.deps import Body, ComingWriter, ResultWriter, SessionDep, bearer_token, relayed
from app.api.describing import answers, takes
from app.api.rendering import PlainJSON
from app.api.routing import Found, Router, spared_by
from app.services.announce_results import TOGETHER_S
from app.services.ingest_at_once import ingest_at_once
from app.services.ingest_batch import ingest_batch
from app.services.ingest_results import ingest_results
from app.wiring import Service

IDEMPOTENT = {
    "parameters": [
        {
            "name": "idempotency-key",
            "in": "header",
            "required": False,
            "schema": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Idempotency-Key"},
            "description": "1 to 255 printable characters; left out: the document itself is the key.",
        }
    ]
}


def callers_key(request: Request) -> str | None:
    """Return what makes a document one, where the request says."""
    return request.headers.get("idempotency-key")


async def post_at_once(request: Request, body: bytes) -> Response | None:
    """Store a document that needs no thread of its own for that; None where it does."""
    token, state = bearer_token(request), request.app.state
    if token is None or token not in state.posters:
        return None
    service: Service = state.service
    key = callers_key(request)
    stored = await ingest_at_once(service.database.prompt, token, key, body, now=datetime.now(UTC))
    if stored is None:
        return None
    service.relay_soon(TOGETHER_S)
    status, answer = stored
    return PlainJSON(answer, status)


AnnouncementRelayed = Annotated[None, Found(relayed(TOGETHER_S))]
IdempotencyKey = Annotated[str | None, Found(lambda asked: callers_key(asked.request))]

router = Router(prefix="/api/v1/results", tags=["results"])

DOCUMENT = PostedDocument.example()
WRITING = (409, 413, 507)


@router.post(
    "",
    status_code=201,
    responses=answers(StoredAnswer, *WRITING, status=201) | answers(StoredAnswer),
    openapi_extra=takes(PostedDocument, DOCUMENT) | IDEMPOTENT,
)
@spared_by(post_at_once)
def post_results(
    body: Body, session: SessionDep, writer: ComingWriter, key: IdempotencyKey, _then: AnnouncementRelayed
) -> PlainJSON:
    """Store results; the same document again is answered 200 with the same body."""
    status, answer = ingest_results(session, writer, key, body, now=datetime.now(UTC), ends=True)
    return PlainJSON(answer, status)


@router.post(
    "/batch",
    responses=answers(BatchAnswer, *WRITING),
    openapi_extra=takes(PostedDocument, DOCUMENT, "application/x-ndjson"),
)
def post_batch(
    body: Body,
    session: SessionDep,
    principal: ResultWriter,
    _then: AnnouncementRelayed,
) -> PlainJSON:
    """Store many documents, one a line; each is stored or refused by itself, and none twice."""
    answer = ingest_batch(session, principal, body, now=datetime.now(UTC))
    return PlainJSON(answer)
