"""The tasks of the forge: what follows from its messages, and what it is told."""

from __future__ import annotations

from celery import Celery

from app.integrations import queue
from app.services.forge.obey import Asked
from app.services.forge.receive_delivery import act_on_delivery
from app.services.forge.show_check import show_check
from app.services.forge.tell_forge import end_turn, say, take_turn
from app.tasks.following import (
    follow_at_forge,
    follow_branch_at_forge,
    follow_change_at_forge,
    follow_group_at_forge,
    follow_schedule_at_forge,
    measure_at_forge,
    obey_at_forge,
)
from app.tasks.reconciling import reconcile_pulls
from app.tasks.registering import task
from app.wiring import Service


def register_forge(app: Celery, service: Service) -> None:
    """Register the tasks of the forge."""

    @task(app, queue.RECONCILE)
    def reconcile() -> None:
        reconcile_pulls(service)
        service.relay_soon()

    @task(app, queue.DELIVERY)
    def delivery(delivery_id: int) -> None:
        with service.database.session() as session:
            act_on_delivery(session, delivery_id)
        service.relay_soon()

    @task(app, queue.FOLLOW)
    def follow(repository_id: int, number: int) -> None:
        follow_at_forge(service, repository_id, number)
        service.relay_soon()

    @task(app, queue.BRANCH)
    def branch(repository_id: int) -> None:
        follow_branch_at_forge(service, repository_id)
        service.relay_soon()

    @task(app, queue.CHANGE)
    def change(commit_id: int) -> None:
        follow_change_at_forge(service, commit_id)
        service.relay_soon()

    @task(app, queue.SCHEDULE)
    def schedule(tick_id: int) -> None:
        follow_schedule_at_forge(service, tick_id)
        service.relay_soon()

    @task(app, queue.GROUP)
    def group(group_id: int) -> None:
        follow_group_at_forge(service, group_id)
        service.relay_soon()

    @task(app, queue.MEASURE)
    def measure(request_id: int) -> None:
        measure_at_forge(service, request_id)
        service.relay_soon()

    @task(app, queue.OBEY)
    def do_as_asked(
        repository_id: int, number: int, comment: int, author: str, text: str, at: str = ""
    ) -> None:
        obey_at_forge(service, Asked(repository_id, number, comment, author, text, at))
        service.relay_soon()

    @task(app, queue.SHOW)
    def show(check_id: int) -> None:
        with service.database.session() as session:
            show_check(session, service.settings, check_id)
        service.relay_soon()

    @task(app, queue.TELL)
    def tell(repository_id: int) -> None:
        tell_forge(service, repository_id)
        service.relay_soon()


def tell_forge(service: Service, repository_id: int) -> None:
    """Say the next thing that the forge should say of a repository; it is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        turn = take_turn(session, repository_id)
    if turn is not None:
        said = say(service.forge, turn)
        with service.database.session() as session:
            end_turn(session, turn, said)
