"""The Celery door: what follows from an event, and from time. One task, one service call.

`celery_app()` is what `ratchet tasks` runs; `ratchet beat` only sends ticks and needs none of this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from celery import Celery
from sqlalchemy.orm import Session

from app.integrations import queue
from app.integrations.alive import note_alive
from app.services.alerts.raise_alerts import projects_to_look_at, raise_alerts
from app.services.alerts.settle_alerts import settle_alerts
from app.services.announce_results import (
    announce_results,
    find_unexamined,
    take_project,
    unexamined_series,
)
from app.services.ask_activity import ask, find_unasked, keep_activity, question_of
from app.services.backups.daily import back_up_if_due
from app.services.change_settled import find_unfollowed
from app.services.conclude_check import conclude_check
from app.services.device_jobs import tend_devices
from app.services.forge.ask_measure import find_lost_requests
from app.services.forge.receive_delivery import find_lost_deliveries
from app.services.forge.schedules import ask_due, find_lost_ticks
from app.services.forge.serve_later import find_unserved
from app.services.forge.want_text import find_untold
from app.services.lease_jobs import sweep_leases
from app.services.prune_bundles import prune_bundles
from app.services.relay_outbox import find_lost_hints
from app.services.render_report import store_report
from app.services.retention.chore import prune_for_a_while
from app.services.sweep_suspicions import find_stale_suspicions, sweep_suspicion
from app.services.watch_fleet import watch_fleet
from app.services.weekly.make_due import make_due
from app.store.repositories import clock
from app.store.repositories.metrics import swept
from app.tasks.forge import register_forge
from app.tasks.notifying import sweep_notifications
from app.tasks.registering import task
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
                announce_results(session, project_id)
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
        with service.database.session() as session:
            sweep_leases(session, settings)
        with service.database.session() as session:
            find_lost_hints(session, settings)
        with service.database.session() as session:
            find_unexamined(session, settings)
        with service.database.session() as session:
            find_unasked(session, settings)
        late = timedelta(seconds=settings.hint_age_s)
        with service.database.session() as session:
            find_lost_requests(session, older_than=late)
        if settings.has_github:
            sweep_forge(service, late)
        sweep_suspicions(service)
        sweep_alerts(service)
        sweep_fleet(service)
        sweep_notifications(service, late)
        with service.database.session() as session:
            tend_devices(session, settings)
        with service.database.session() as session:
            swept(session)
        service.relay_soon()
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


def sweep_forge(service: Service, late: timedelta) -> None:
    """Find what waits for the forge, each kind in a transaction of its own; one that fails keeps no other from it."""
    sweeps: tuple[Callable[[Session], object], ...] = (
        lambda session: find_lost_deliveries(session, older_than=late),
        lambda session: find_untold(session, older_than=late),
        lambda session: find_unserved(session, service.settings),
        lambda session: find_unfollowed(session, older_than=late),
        lambda session: ask_due(session, clock.now(session)),
        lambda session: find_lost_ticks(session, older_than=late),
    )
    for find in sweeps:
        try:
            with service.database.session() as session:
                find(session)
        except Exception:
            log.exception(
                "something that waits for the forge could not be looked for; it is tried again later"
            )


def sweep_fleet(service: Service) -> None:
    """Look for what nobody reports of machines; a failure keeps nothing else from being swept."""
    try:
        with service.database.session() as session:
            watch_fleet(session, service.settings)
    except Exception:
        log.exception("the fleet could not be looked at; it is tried again later")


def sweep_alerts(service: Service) -> None:
    """Raise and settle alerts, each project in a transaction of its own; one that fails keeps no other from it."""
    with service.database.session() as session:
        waiting = projects_to_look_at(session)
    for project_id in waiting:
        try:
            with service.database.session() as session:
                raise_alerts(session, project_id)
                settle_alerts(session, project_id)
        except Exception:
            log.exception(
                "the alerts of project %d could not be looked at; they are tried again later", project_id
            )


def sweep_suspicions(service: Service) -> None:
    """Look at every suspicion that waits for something, each in a transaction of its own.

    One that fails is told, and keeps no other from it.
    """
    with service.database.session() as session:
        stale = find_stale_suspicions(session, service.settings)
    for change_id in stale:
        try:
            with service.database.session() as session:
                sweep_suspicion(session, service.settings, change_id)
        except Exception:
            log.exception("change %d could not be looked at; it is tried again later", change_id)
