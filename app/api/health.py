"""For machines: is the process alive, can it serve, and what do its numbers say."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from fastapi.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse

from app.api.answers.service import StatusAnswer
from app.api.deps import ServiceDep
from app.api.describing import Responses, answers, failure, page
from app.services.measure_service import service_metrics
from app.store.migrate import require_current

router = APIRouter(tags=["health"])


def _answers(*errors: int) -> Responses:
    return {200: answers(StatusAnswer)[200], **{status: failure(status) for status in errors}}


@router.get("/healthz", responses=_answers())
async def healthz() -> dict[str, str]:
    """Answer as long as the process does."""
    return {"status": "ok"}


@router.get("/readyz", responses=_answers(503))
async def readyz(service: ServiceDep) -> dict[str, Any]:
    """Answer when the database is there with this release's schema; otherwise 503."""
    await run_in_threadpool(require_current, service.database.engine)
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses=page("Prometheus' text format.", 503),
)
def metrics(service: ServiceDep) -> Response:
    """Return the service's own numbers in Prometheus' text format."""
    with service.database.session() as session:
        text = service_metrics(session, service.settings)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
