"""The sweep: what follows from time, and what an event that was lost should have brought about.

It is one list of steps, each by itself: one that fails is told, keeps no other from being done, and comes again with
the next sweep.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.services.alerts.raise_alerts import projects_to_look_at, raise_alerts
from app.services.alerts.settle_alerts import settle_alerts
from app.services.announce_results import find_unexamined
from app.services.ask_activity import find_unasked
from app.services.change_settled import find_unfollowed
from app.services.device_jobs import tend_devices
from app.services.forge.ask_measure import find_lost_requests
from app.services.forge.receive_delivery import find_lost_deliveries
from app.services.forge.schedules import ask_due, find_lost_ticks
from app.services.forge.serve_later import find_unserved
from app.services.forge.want_text import find_untold
from app.services.lease_jobs import sweep_leases
from app.services.notify.plan_machines import plan_machines
from app.services.notify.wanting import find_waiting
from app.services.relay_outbox import find_lost_hints
from app.services.sweep_suspicions import find_stale_suspicions, sweep_suspicion
from app.services.watch_fleet import watch_fleet
from app.store.repositories import clock
from app.store.session import is_away
from app.wiring import Service

log = logging.getLogger(__name__)


class Step(NamedTuple):
    """One thing that the sweep looks for."""

    about: str
    """What it looks at, for the log."""
    do: Callable[[Service], object]
    is_needed: bool = True
    """Whether the service does not do what it promises where this fails: the sweep has not come to its end then."""


def sweep_all(service: Service) -> bool:
    """Do every step, and return whether all that are needed were done. Raises OperationalError without a database."""
    steps = (*STEPS, *STEPS_OF_FORGE) if service.settings.has_github else STEPS
    failed = [step for step in steps if not _is_done(service, step)]
    return not any(step.is_needed for step in failed)


def _is_done(service: Service, step: Step) -> bool:
    try:
        step.do(service)
    except Exception as error:
        if is_away(error):
            raise  # no other step would be done either
        log.exception("%s could not be looked at; it is tried again later", step.about)
        return False
    return True


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


def _once(find: Callable[[Session, ServiceSettings], object]) -> Callable[[Service], None]:
    """Return what looks in one transaction."""

    def do(service: Service) -> None:
        with service.database.session() as session:
            find(session, service.settings)

    return do


def _late(find: Callable[..., object]) -> Callable[[Service], None]:
    """Return what looks in one transaction for what is `older_than` a message takes."""
    return _once(lambda its, settings: find(its, older_than=timedelta(seconds=settings.hint_age_s)))


STEPS = (
    Step("leases", _once(sweep_leases)),
    Step("hints that were lost", _once(find_lost_hints)),
    Step("series with new results", _once(find_unexamined)),
    Step("runs whose GPUs were not asked for", _once(find_unasked)),
    Step("requests to measure", _late(find_lost_requests)),
    Step("suspicions", sweep_suspicions),
    Step("alerts", sweep_alerts),
    Step("the fleet", _once(watch_fleet), is_needed=False),
    Step("what happened to machines", _once(lambda its, _: plan_machines(its)), is_needed=False),
    Step("notifiers", _late(find_waiting)),
    Step("devices", _once(tend_devices)),
)

STEPS_OF_FORGE = (
    Step("messages of the forge", _late(find_lost_deliveries), is_needed=False),
    Step("what the forge should say", _late(find_untold), is_needed=False),
    Step("checks that nobody could serve", _once(find_unserved), is_needed=False),
    Step("changes to follow", _late(find_unfollowed), is_needed=False),
    Step("schedules", _once(lambda its, _: ask_due(its, clock.now(its))), is_needed=False),
    Step("times of schedules", _late(find_lost_ticks), is_needed=False),
)
