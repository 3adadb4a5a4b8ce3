"""For machines: is the process alive, can it serve, and what do its numbers say."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from app.api.answers.service import StatusAnswer
from app.api.deps import ServiceDep
from app.api.describing import Responses, answers, failure, page
from app.api.routing import Router
from app.config import ServiceSettings
from app.domain.errors import AccessError, UnavailableError
from app.integrations.queue import TOPICS
from app.services.metrics.measure_service import Scrape
from app.services.readiness import require_ready

router = Router(tags=["health"])


def _answers(*errors: int) -> Responses:
    return {200: answers(StatusAnswer)[200], **{status: failure(status) for status in errors}}


@router.get("/healthz", responses=_answers())
async def healthz() -> dict[str, str]:
    """Answer as long as the process does."""
    return {"status": "ok"}


@router.get("/readyz", responses=_answers(503))
async def readyz(service: ServiceDep) -> dict[str, Any]:
    """Answer when the database is there with this release's schema and somebody sweeps; else 503 says which not."""
    await run_in_threadpool(require_ready, service.probed, service.settings, up_s=service.up_s)
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=page("Prometheus' text format.", 401, 503),
)
def metrics(request: Request, service: ServiceDep) -> Response:
    """Return the service's own numbers in Prometheus' text format.

    Where the service has a secret for scrapes, it is to be sent as bearer token.
    """
    _let_in(request, service.settings)
    its = Scrape(
        service.database, service.probed, service.settings, service.recorder, request.app.version, TOPICS
    )
    return Response(its.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _let_in(request: Request, settings: ServiceSettings) -> None:
    """Raise AccessError for a scrape without the secret that the settings name."""
    if not settings.metrics_secret_file:
        return
    try:
        wanted = Path(settings.metrics_secret_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UnavailableError(f"RATCHET_METRICS_SECRET_FILE cannot be read: {error}") from None
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    is_right = secrets.compare_digest(given.strip().encode(), wanted.encode())
    if not wanted or scheme.lower() != "bearer" or not is_right:
        raise AccessError(
            "scrapes need the token that RATCHET_METRICS_SECRET_FILE holds", code="unauthenticated"
        )
