"""The Celery door: what follows from an event, and from time. One task, one service call.

`celery_app()` is what `ratchet tasks` runs; `ratchet beat` only sends ticks and needs none of this.
"""

from __future__ import annotations

from collections.abc import Callable

from celery import Celery

from app.integrations import queue
from app.services.conclude_check import conclude_check
from app.services.lease_jobs import sweep_leases
from app.services.prune_bundles import prune_bundles
from app.services.relay_outbox import BATCH, find_lost_hints, relay_outbox
from app.services.render_report import store_report
from app.wiring import Service


def celery_app(service: Service) -> Celery:
    """Return the Celery app of this service with its tasks."""
    app = service.queue.celery
    _register_events(app, service)
    _register_clockwork(app, service)
    return app


def _register_events(app: Celery, service: Service) -> None:
    @_task(app, queue.RELAY)
    def relay() -> None:
        more = True
        while more:
            with service.database.session() as session:
                more = relay_outbox(session, service.queue) == BATCH

    @_task(app, queue.CONCLUDE)
    def conclude(check_id: int) -> None:
        with service.database.session() as session:
            conclude_check(session, check_id)
        service.nudge()

    @_task(app, queue.RENDER)
    def render(check_id: int) -> None:
        with service.database.session() as session:
            store_report(session, check_id)


def _register_clockwork(app: Celery, service: Service) -> None:
    settings = service.settings

    @_task(app, queue.SWEEP)
    def sweep() -> None:
        with service.database.session() as session:
            sweep_leases(session, settings)
        with service.database.session() as session:
            find_lost_hints(session, settings)
        service.nudge()

    @_task(app, queue.PRUNE)
    def prune() -> None:
        with service.database.session() as session:
            prune_bundles(session, settings)


def _task(app: Celery, name: str) -> Callable[[Callable[..., None]], object]:
    """Register a task; Celery's own decorator is untyped."""
    register: Callable[[Callable[..., None]], object] = app.task(name=name)
    return register
