"""`create_app()`: the JSON API and the pages in one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware

from app.api import (
    alerts,
    bundles,
    changes,
    checks,
    devices,
    export,
    health,
    projects,
    results,
    runs,
    series,
    webhooks,
    worker,
)
from app.api.errors import add_error_handlers
from app.api.hub import Hub
from app.web import add_error_pages, mount_static
from app.web import router as pages
from app.wiring import Service

VERSION = "0.1.0"


def create_app(service: Service | None = None) -> FastAPI:
    """Return the application. Without a service its settings come from the environment."""
    its_service = service or Service()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.hub.start()
        its_service.relay_soon()
        yield
        await app.state.hub.stop()
        its_service.close()

    app = FastAPI(title="Ratchet", version=VERSION, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.service = its_service
    app.state.hub = Hub(its_service.settings.database_url)
    app.add_middleware(GZipMiddleware, minimum_size=2_000, compresslevel=4)
    add_error_handlers(app)
    for module in (
        worker,
        checks,
        bundles,
        results,
        series,
        changes,
        alerts,
        runs,
        devices,
        export,
        projects,
        health,
        webhooks,
    ):
        app.include_router(module.router)
    app.include_router(pages)
    mount_static(app)
    add_error_pages(app)
    return app
