"""The health page for people; machines ask `/readyz` and `/metrics`."""

from __future__ import annotations

from fastapi import Request, Response

from app.api.deps import ServiceDep, SessionDep
from app.api.routing import Router
from app.integrations.broker import RedisBroker
from app.services.read_health import read_health
from app.web.deps import Viewer
from app.web.render import page

router = Router()


@router.get("/health")
def show_health(request: Request, service: ServiceDep, session: SessionDep, _: Viewer) -> Response:
    """Show how each part of the service is."""
    broker = RedisBroker(service.queue.celery)
    report = read_health(session, service.database.engine, service.settings, broker)
    return page(request, "health.html", report=report)
