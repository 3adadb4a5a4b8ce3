"""Results from elsewhere: any program may post what it measured."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from app.api.answers.results import BatchAnswer, PostedDocument, StoredAnswer
from app.api.deps import Body, ComingWriter, Presented, ResultWriter, SessionDep, relayed
from app.api.describing import answers, takes
from app.api.rendering import PlainJSON
from app.api.routing import Asked, Found, Router
from app.services.announce_results import TOGETHER_S
from app.services.ingest_batch import ingest_batch
from app.services.ingest_results import ingest_results

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


def get_key(asked: Asked) -> str | None:
    """Return what makes a document one, where the request says."""
    return asked.request.headers.get("idempotency-key")


AnnouncementRelayed = Annotated[None, Found(relayed(TOGETHER_S))]
IdempotencyKey = Annotated[str | None, Found(get_key)]

router = Router(prefix="/api/v1/results", tags=["results"])

DOCUMENT = PostedDocument.example()
WRITING = (409, 413, 507)


@router.post(
    "",
    status_code=201,
    responses=answers(StoredAnswer, *WRITING, status=201) | answers(StoredAnswer),
    openapi_extra=takes(PostedDocument, DOCUMENT) | IDEMPOTENT,
)
def post_results(
    body: Body,
    session: SessionDep,
    writer: ComingWriter,
    presented: Presented,
    key: IdempotencyKey,
    _then: AnnouncementRelayed,
) -> PlainJSON:
    """Store results; the same document again is answered 200 with the same body."""
    status, answer = ingest_results(
        session, writer, key, body, now=datetime.now(UTC), presented=presented, ends=True
    )
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
