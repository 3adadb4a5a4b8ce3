"""The tasks of the forge: what follows from its messages, and what it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from celery import Celery

from app.integrations import queue
from app.integrations.forge import Forge
from app.services.forge.keep_usage import keep_usage
from app.services.forge.receive_delivery import act_on_delivery
from app.services.forge.show_check import show_check
from app.services.forge.tell_forge import end_turn, say, take_turn
from app.tasks import following, notifying
from app.tasks.asking import at_forge
from app.tasks.reconciling import reconcile_pulls
from app.tasks.registering import task
from app.wiring import Service


def register_forge(app: Celery, service: Service) -> None:
    """Register the tasks of the forge."""
    for name, do in TASKS.items():
        _register(app, service, name, do)


def _register(app: Celery, service: Service, name: str, do: Callable[..., None]) -> None:
    @task(app, name)
    def run(**payload: Any) -> None:
        try:
            do(service, **payload)
        finally:
            keep_its_usage(service)
        service.relay_soon()


def keep_its_usage(service: Service) -> None:
    """Keep how often the forge was called by this process since the last time."""
    usage = service.forge.usage() if service.forge is not None else None
    if usage is not None and (usage.calls or usage.quotas):
        with service.database.session() as session:
            keep_usage(session, usage)


def delivery(service: Service, delivery_id: int) -> None:
    """Find out what a message of the forge is of, and have that looked at."""
    with service.database.session() as session:
        act_on_delivery(session, delivery_id)


def show(service: Service, check_id: int) -> None:
    """Have the forge told how a check stands."""
    with service.database.session() as session:
        show_check(session, service.settings, check_id)


@at_forge
def tell(service: Service, forge: Forge, repository_id: int) -> None:
    """Say the next thing that the forge should say of a repository; it is waited for without a session."""
    with service.database.session() as session:
        turn = take_turn(session, repository_id)
    if turn is not None:
        said = say(forge, turn)
        with service.database.session() as session:
            end_turn(session, turn, said)


TASKS: dict[str, Callable[..., None]] = {
    queue.RECONCILE: reconcile_pulls,
    queue.DELIVERY: delivery,
    queue.FOLLOW: following.follow,
    queue.BRANCH: following.branch,
    queue.CHANGE: following.change,
    queue.SCHEDULE: following.schedule,
    queue.GROUP: following.group,
    queue.MEASURE: following.measure,
    queue.OBEY: following.do_as_asked,
    queue.SHOW: show,
    queue.TELL: tell,
    queue.NOTIFY_PLAN: notifying.plan,
    queue.NOTIFY_COMPOSE: notifying.compose,
    queue.NOTIFY_SEND: notifying.send,
}
"""What each does with the arguments of its message; what it put into the outbox leaves at once."""
