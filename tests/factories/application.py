"""One application for all tests of a process: as in a process that serves, its routes are worked out once."""

from __future__ import annotations

from functools import cache

from fastapi import FastAPI

from app.config import ServiceSettings
from app.main import create_app, serve
from app.wiring import Service


def application(service: Service) -> FastAPI:
    """Return the application, as the door of this service; it runs for no other at the same time."""
    its = _made()
    if its.state.service is not service:
        serve(its, service)
    return its


@cache
def _made() -> FastAPI:
    return create_app(Service(ServiceSettings(database_url="postgresql://", redis_url="redis://")))
