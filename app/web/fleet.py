"""The page of workers and devices."""

from __future__ import annotations

from fastapi import Request, Response

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.services.list_workers import list_workers
from app.web.deps import Projects
from app.web.render import page

router = Router()


@router.get("/workers")
def show_workers(
    request: Request, service: ServiceDep, session: SessionDep, project_ids: Projects
) -> Response:
    """Show every worker with its devices and what they are doing."""
    workers = list_workers(session, live_for=service.settings.worker_live_for, project_ids=project_ids)
    return page(request, "workers.html", workers=workers, address=service.settings.address)
