"""`create_app()`: the JSON API and the pages in one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.types import ASGIApp

from app.api import (
    alerts,
    badges,
    bundles,
    changes,
    checks,
    devices,
    export,
    health,
    notifiers,
    projects,
    results,
    runs,
    series,
    webhooks,
    weekly,
    worker,
)
from app.api.acquainted import Acquainted
from app.api.document import describe, operation_id
from app.api.errors import add_error_handlers
from app.api.hub import Hub
from app.api.methods import Methods
from app.api.packing import SMALLEST_B, Packed
from app.api.recording import Recorded
from app.api.straight import Reachable, Straight, reachable
from app.web import add_error_pages, mount_static
from app.web import router as pages
from app.wiring import Service

VERSION = "0.1.0"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Have the application's service work while the application runs."""
    service, hub = app.state.service, app.state.hub
    hub.start()
    service.relay_soon()
    yield
    await hub.stop()
    service.close()


def serve(app: FastAPI, service: Service) -> None:
    """Have an application that does not run be a door of this service."""
    app.state.service = service
    app.state.acquainted, app.state.posters = Acquainted(), Acquainted()
    app.state.hub = Hub(service.settings.database_url)


class Application(FastAPI):
    """The application, each of whose requests is recorded, also one that ends in a fault of ours."""

    reachable: Reachable
    """What a request reaches without going through all of it."""

    def build_middleware_stack(self) -> ASGIApp:
        """Return what a request goes through; middleware that is added comes within what answers faults."""
        return Recorded(Straight(Methods(super().build_middleware_stack()), self.reachable))


def create_app(service: Service | None = None) -> FastAPI:
    """Return the application. Without a service its settings come from the environment."""
    app = Application(
        title="Ratchet",
        version=VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=operation_id,
        # Of its own: `/metrics` and the log have what we tell of requests.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    serve(app, service or Service())
    app.add_middleware(Packed, minimum_size=SMALLEST_B)
    add_error_handlers(app)
    modules = (  # looked through in this order: first what is asked most
        results,
        series,
        worker,
        checks,
        bundles,
        changes,
        alerts,
        badges,
        runs,
        devices,
        export,
        projects,
        notifiers,
        health,
        webhooks,
        weekly,
    )
    for module in modules:
        app.include_router(module.router)
    app.reachable = reachable(route for module in modules for route in module.router.routes)
    app.include_router(pages)
    mount_static(app)
    add_error_pages(app)
    describe(app)
    return app
