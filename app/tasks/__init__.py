"""The Celery door: what follows from an event, and from time. One task, one service call.

`celery_app()` is what `ratchet tasks` runs; `ratchet beat` only sends ticks and needs none of this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from celery import Celery

from app.integrations import queue
from app.integrations.alive import note_alive
from app.services.announce_results import (
    announce_results,
    take_project,
    unexamined_series,
)
from app.services.ask_activity import ask, keep_activity, question_of
from app.services.backups.daily import back_up_if_due
from app.services.conclude_check import conclude_check
from app.services.prune_bundles import prune_bundles
from app.services.render_report import store_report
from app.services.retention.chore import prune_for_a_while
from app.services.weekly.make_due import make_due
from app.store.repositories.metrics import swept
from app.tasks.forge import register_forge
from app.tasks.registering import task
from app.tasks.sweeping import sweep_all
from app.wiring import Service

log = logging.getLogger(__name__)

_SERIES_AT_ONCE = 1_000

_EXAMINE_S = 5.0
"""How long one task examines a project's series before it lets others have their turn [s]."""


def celery_app(service: Service) -> Celery:
    """Return the Celery app of this service with its tasks."""
    app = service.queue.celery
    _register_events(app, service)
    _register_clockwork(app, service)
    return app


def _register_events(app: Celery, service: Service) -> None:
    @task(app, queue.RELAY)
    def relay() -> None:
        service.relay()

    @task(app, queue.CONCLUDE)
    def conclude(check_id: int) -> None:
        with service.database.session() as session:
            conclude_check(session, check_id)
        service.relay_soon()

    @task(app, queue.RENDER)
    def render(check_id: int) -> None:
        with service.database.session() as session:
            store_report(session, check_id)

    @task(app, queue.EXAMINE)
    def examine(project_id: int) -> None:
        examine_project(service, project_id)
        service.relay_soon()

    @task(app, queue.ACTIVITY)
    def activity(run_id: int) -> None:
        ask_for_activity(service, run_id)

    register_forge(app, service)


def ask_for_activity(service: Service, run_id: int) -> None:
    """Ask Prometheus what a run's GPUs did, if that is due. It is waited for without a session."""
    if service.prometheus is None:
        return
    with service.database.session() as session:
        question = question_of(session, run_id)
    if question is not None:
        told = ask(service.prometheus, question)
        with service.database.session() as session:
            keep_activity(session, run_id, told)


def examine_project(service: Service, project_id: int) -> None:
    """Examine the project's series that have new results, each in a transaction of its own, for a few seconds.

    What is left then is announced again, so that other tasks get their turn. One task at a time examines a project:
    another finds it taken and is done, as the first one asks again for what is new after it let go. A series that fails
    is told and left for the next time: it must not keep the others from being examined.
    """
    failed: set[int] = set()
    until = time.monotonic() + _EXAMINE_S
    while due := _due(service, project_id, failed):
        with service.database.session() as session:
            if not take_project(session, project_id):
                return
            if not _examine_until(service, due, until, failed):
                announce_results(session, project_id, delay_s=0)
                return


def _due(service: Service, project_id: int, failed: set[int]) -> list[int]:
    with service.database.session() as session:
        due = unexamined_series(session, project_id, limit=_SERIES_AT_ONCE + len(failed))
    return [series_id for series_id in due if series_id not in failed]


def _examine_until(service: Service, due: Sequence[int], until: float, failed: set[int]) -> bool:
    """Examine series, and add those that fail; return whether all could be looked at in time."""
    from app.services.examine_series import (
        examine_series,
    )  # numpy comes with it: only who examines pays for that

    for series_id in due:
        if time.monotonic() > until:
            return False
        try:
            with service.database.session() as session:
                examine_series(session, service.settings, series_id)
        except Exception:
            log.exception("series %d could not be examined; it is tried again later", series_id)
            failed.add(series_id)
    return True


def _register_clockwork(app: Celery, service: Service) -> None:
    settings = service.settings

    @task(app, queue.SWEEP)
    def sweep() -> None:
        is_whole = sweep_all(service)
        service.relay_soon()
        if is_whole:
            with service.database.session() as session:
                swept(session)
            note_alive(settings.alive_file)

    @task(app, queue.BACKUP)
    def backup() -> None:
        back_up_if_due(service.database, settings)

    @task(app, queue.PRUNE)
    def prune() -> None:
        with service.database.session() as session:
            prune_bundles(session, settings)
        prune_for_a_while(service.database, settings)

    @task(app, queue.WEEKLY)
    def weekly() -> None:
        make_due(service.database, settings, service.weekly.watch)
        service.relay_soon()
