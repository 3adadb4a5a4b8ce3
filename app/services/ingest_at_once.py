"""A short document that names no new series is stored by the statement that looks it up, as its programs wait for it.

All else, and whoever is not known to be allowed to post it, goes the way of `ingest_results`, which decides as ever.
What is wrong is told there alone.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.domain.errors import AccessError, PayloadError
from app.formats.results_payload import read_payload
from app.services.access import NOTE_USE_EVERY, Scope, including, presented_token
from app.services.announce_results import TOGETHER_S, TOPIC
from app.services.ingest_results import (
    QUICK_B,
    answer_of,
    body_digest,
    is_key,
    key_of,
    names_of,
    new_result,
)
from app.services.query_runs import upload_name
from app.store.prompt import Prompt
from app.store.repositories import postings
from app.store.repositories.postings import Ready


async def ingest_at_once(
    prompt: Prompt, token: str, key: str | None, body: bytes, *, now: datetime
) -> tuple[int, dict[str, Any]] | None:
    """Store the posted document and return HTTP's status and the answer, as `ingest_results` would.

    None where it goes the other way. It may have been stored nevertheless, if the database was lost just then; as the
    same document again it is then answered with the status of that.

    Args:
        prompt: where it is stored from.
        token: what the request shows of who posts.
        key: the caller's idempotency key; without one the body's digest is the key.
        body: the document, as app.formats.results_payload reads it.
        now: the time of receipt.
    """
    if len(body) > QUICK_B or not is_key(key):
        return None
    try:
        presented, payload = presented_token(token), read_payload(body, now=now)
    except (AccessError, PayloadError):
        return None
    digest = body_digest(body)
    names = names_of(payload)
    ready = Ready(
        key=key_of(digest) if key is None else key,
        body_digest=digest,
        presented=presented,
        scopes=including(Scope.RESULTS_WRITE),
        noted_for=NOTE_USE_EVERY,
        results=[new_result(payload, its, None, now, branch=payload.branch) for its in payload.results],
        units=[(its.unit, its.better) for its in payload.results],
        topic=TOPIC,
        delay_s=TOGETHER_S,
        completes=key is None,
    )
    rows = await prompt.trip(postings.extending(names, ready))
    stored = rows and postings.extended(names, rows)
    if not stored:
        return None
    found, upload_id = stored
    series = [row for row in found.series if row is not None]
    return 201, {"run": upload_name(upload_id)} | answer_of(payload, found, series)
