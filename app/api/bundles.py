"""Git bundles: clients upload them, workers fetch them."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse

from app.api.answers.service import BundleAnswer
from app.api.deps import ServiceDep, WorkerPrincipal, get_principal
from app.api.describing import answers
from app.api.routing import Router, asking
from app.services.access import Scope
from app.services.store_bundle import bundle_path, store_bundle

router = Router(prefix="/api/v1/bundles", tags=["bundles"])


def _admit(request: Request) -> None:
    with asking(request) as asked:
        asked.of(get_principal).require(Scope.JOBS_CREATE)


@router.post(
    "",
    status_code=201,
    responses=answers(BundleAnswer, 413, 507, status=201),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def post_bundle(request: Request, service: ServiceDep) -> dict[str, Any]:
    """Upload a bundle; the answer has the digest by which a check names it."""
    await run_in_threadpool(_admit, request)
    folder = service.settings.data_dir / "bundles"
    digest, size = await store_bundle(folder, request.stream(), limit=service.settings.max_bundle_b)
    return {"digest": digest, "size_b": size}


@router.get("/{digest}", include_in_schema=False)
def get_bundle(digest: str, service: ServiceDep, _: WorkerPrincipal) -> FileResponse:
    """Fetch a bundle; agents do."""
    return FileResponse(bundle_path(service.settings.data_dir / "bundles", digest))
