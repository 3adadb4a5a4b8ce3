"""The door for the forge's messages: their signature is checked over the raw bytes, then they are kept."""

from __future__ import annotations

import json
import time
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import ServiceDep, read_packed
from app.api.routing import Router
from app.domain.errors import AccessError, DataError, TooLargeError, UnavailableError
from app.integrations.github.signature import is_signed, secrets_of
from app.services.forge.receive_delivery import receive_delivery
from app.wiring import Service

router = Router(prefix="/webhooks", tags=["webhooks"], include_in_schema=False)

LONGEST_ID = 100
LONGEST_EVENT = 60


@router.post("/github", status_code=202)
async def post_github(request: Request, response: Response, service: ServiceDep) -> dict[str, str]:
    """Keep a message of GitHub's; what follows from it happens later. The same once more changes nothing."""
    begun, result = time.perf_counter(), "refused"
    try:
        is_new = await _take(request, service)
        result = "received" if is_new else "duplicate"
    finally:
        service.recorder.took_webhook(result, time.perf_counter() - begun)
    if not is_new:
        response.status_code = 200
    return {"status": "kept" if is_new else "known"}


async def _take(request: Request, service: Service) -> bool:
    limit = service.settings.max_webhook_b
    too_large = TooLargeError(f"the message is larger than {limit} bytes (RATCHET_MAX_WEBHOOK_B)")
    body = await read_packed(request, limit, too_large)
    return await run_in_threadpool(_keep, service, body, dict(request.headers))


def _keep(service: Service, body: bytes, headers: dict[str, str]) -> bool:
    secrets = secrets_of(service.settings.github_webhook_secret_file)
    if not secrets:
        raise UnavailableError("no webhook is expected: set RATCHET_GITHUB_WEBHOOK_SECRET_FILE")
    if not is_signed(body, headers.get("x-hub-signature-256", ""), secrets):
        raise AccessError(
            "X-Hub-Signature-256 is not of this body with our secret: is the secret on GitHub the same?",
            code="bad_signature",
        )
    guid, event = headers.get("x-github-delivery", ""), headers.get("x-github-event", "")
    if not 0 < len(guid) <= LONGEST_ID or not 0 < len(event) <= LONGEST_EVENT:
        raise DataError("X-GitHub-Delivery and X-GitHub-Event are missing or too long", code="bad_headers")
    with service.database.session() as session:
        is_new = receive_delivery(session, guid, event, _payload(body))
    service.relay_soon()
    return is_new


def _payload(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body, parse_constant=_no_number)
        if isinstance(payload, dict):
            return _storable(payload) if b"\\u" in body else payload
    except (ValueError, RecursionError):
        pass
    raise DataError("the body is no JSON object: set the webhook's content type to application/json")


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON's")


def _storable(told: Any) -> Any:
    """Return a document without what PostgreSQL keeps in no text: NUL, and halves of characters."""
    if isinstance(told, str):
        return told.replace("\0", "").encode("utf-8", "replace").decode()
    if isinstance(told, dict):
        return {_storable(key): _storable(value) for key, value in told.items()}
    return [_storable(one) for one in told] if isinstance(told, list) else told
