"""What follows from the forge's messages, and what it is told. The forge is always waited for without a session."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from celery import Celery
from sqlalchemy.orm import Session

from app.domain.errors import RatchetError, UnavailableError
from app.domain.forge import LostMessage
from app.integrations import queue
from app.integrations.forge import Forge, ForgeBusyError, ForgeMovedError, ForgeRefusedError
from app.services.ask_measure import end_request, want_measuring
from app.services.change_settled import want_following
from app.services.follow_branch import EVENT, follow_branch, pushed_branch
from app.services.follow_change import follow_change, show_again
from app.services.follow_group import follow_group, refuse_group, take_group
from app.services.follow_measure import follow_request, look_at_asked, take_request
from app.services.follow_pull import follow_pull, known_of
from app.services.follow_schedule import due_at_tick, follow_schedule, refuse_tick
from app.services.growth import look_at_branch
from app.services.look_at_change import look_at_change, question_of
from app.services.look_at_group import look_at_group
from app.services.look_at_pull import look_at_pull, place_of
from app.services.merge_queue import want_group
from app.services.obey import Asked, ask_again, drop, obey
from app.services.receive_delivery import act_on_delivery, want_branch, want_look
from app.services.reconcile_pulls import compare_pulls, places_to_ask
from app.services.recover_messages import end_look, look_from, note_asked, to_ask_for
from app.services.schedules import want_tick
from app.services.show_check import show_check
from app.services.tell_forge import REFUSED_S, end_turn, say, take_turn
from app.store.repositories import clock
from app.store.repositories.forge import move
from app.tasks.registering import task
from app.wiring import Service

log = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_AGAIN_S = 30.0
"""When a pull request is looked at again that the forge did not tell of [s]."""


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


def _answer(
    service: Service,
    what: str,
    ask: Callable[[Forge], T],
    again: Callable[[Session, float], None],
    refused: Callable[[Session, str], None] = lambda session, why: None,
) -> T | None:
    """Return what the forge says, None where it does not; it is asked again unless it would refuse again."""
    assert service.forge is not None
    try:
        return ask(service.forge)
    except ForgeMovedError as error:
        with service.database.session() as session:
            move(session, error.id, error.slug, error.branch)
            again(session, 0.0)
    except ForgeRefusedError as error:
        log.warning("%s is not to be had: %s", what, error)
        with service.database.session() as session:
            refused(session, str(error))
    except RatchetError as error:
        log.warning("%s could not be looked at: %s", what, error)
        wait_s = error.wait_s if isinstance(error, ForgeBusyError) else 0.0
        with service.database.session() as session:
            again(session, max(LOOK_AGAIN_S, wait_s))
    return None


def follow_at_forge(service: Service, repository_id: int, number: int) -> None:
    """Look at a pull request and have measured what is to be; the forge is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        (place, external_id), asked_at = place_of(session, repository_id), clock.now(session)
        known = known_of(session, repository_id, number)
    seen = _answer(
        service,
        f"pull request {number} of {place.slug}",
        lambda forge: look_at_pull(forge, service.settings, place, external_id, number, known),
        lambda session, wait_s: want_look(session, repository_id, number, delay_s=wait_s),
    )
    if seen is None:
        return
    with service.database.session() as session:
        follow_pull(session, service.settings, repository_id, number, seen, asked_at)


def follow_branch_at_forge(service: Service, repository_id: int) -> None:
    """Have the newest commit of a branch measured; what the forge does not give now, the next push asks for."""
    if service.forge is None:
        return
    with service.database.session() as session:
        (its, since), asked_at = pushed_branch(session, repository_id), clock.now(session)
    seen = _answer(
        service,
        f"{its.name} of {its.place.slug}",
        lambda forge: look_at_branch(forge, service.settings, its, EVENT, since),
        lambda session, wait_s: want_branch(session, repository_id, delay_s=wait_s),
    )
    if seen is not None:
        with service.database.session() as session:
            follow_branch(session, service.settings, repository_id, since, seen, asked_at)


def follow_schedule_at_forge(service: Service, tick_id: int) -> None:
    """Have measured what a schedule is due for; what the forge does not give now is asked for again."""
    if service.forge is None:
        return
    with service.database.session() as session:
        due, asked_at = due_at_tick(session, tick_id), clock.now(session)
    if due is None:
        return
    seen = _answer(
        service,
        f"{due.branch.name} of {due.branch.place.slug}",
        lambda forge: look_at_branch(forge, service.settings, due.branch, due.name, due.since),
        lambda session, wait_s: want_tick(session, tick_id, delay_s=wait_s),
        lambda session, why: refuse_tick(session, tick_id, why),
    )
    if seen is not None:
        with service.database.session() as session:
            follow_schedule(session, service.settings, due, seen, asked_at)


def follow_group_at_forge(service: Service, group_id: int) -> None:
    """Have a merge queue's group measured, or let go; the forge is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        group = take_group(session, service.settings, group_id)
    if group is None:
        return
    seen = _answer(
        service,
        f"merge group {group.head_ref} of {group.place.slug}",
        lambda forge: look_at_group(forge, service.settings, group),
        lambda session, wait_s: want_group(session, group_id, delay_s=wait_s),
        lambda session, why: refuse_group(session, service.settings, group_id, why),
    )
    if seen is not None:
        with service.database.session() as session:
            follow_group(session, service.settings, group_id, seen)


def measure_at_forge(service: Service, request_id: int) -> None:
    """Have measured what somebody asked for; the forge is waited for without a session."""
    with service.database.session() as session:
        asked, asked_at = take_request(session, request_id), clock.now(session)
        if asked is not None and service.forge is None:
            end_request(session, request_id, "refused", message="this service is connected with no forge")
    if asked is None or service.forge is None:
        return
    seen = _answer(
        service,
        f"what is to be measured of {asked.place.slug}",
        lambda forge: look_at_asked(forge, service.settings, asked),
        lambda session, wait_s: want_measuring(session, request_id, delay_s=wait_s),
        lambda session, why: end_request(session, request_id, "refused", message=why),
    )
    if seen is None:
        return
    try:
        with service.database.session() as session:
            follow_request(session, service.settings, asked, seen, asked_at)
    except UnavailableError:
        raise
    except RatchetError as error:
        with service.database.session() as session:
            end_request(session, request_id, "refused", message=str(error))


def follow_change_at_forge(service: Service, commit_id: int) -> None:
    """Find out where the changes of a commit came from, and have it told there."""
    if service.forge is None:
        return
    with service.database.session() as session:
        question = question_of(session, commit_id)
        if question is None:
            show_again(session, service.settings, commit_id)
            return
    found = _answer(
        service,
        f"where {question.commit.sha[:10]} of {question.place.slug} came from",
        lambda forge: look_at_change(forge, service.settings, question),
        lambda session, wait_s: want_following(session, commit_id, delay_s=wait_s),
        lambda session, why: want_following(session, commit_id, delay_s=REFUSED_S),
    )
    if found is not None:
        with service.database.session() as session:
            follow_change(session, service.settings, commit_id, question, found)


def reconcile_pulls(service: Service) -> None:
    """Find what the forge did not tell of; a repository that cannot be asked keeps no other from being asked."""
    if service.forge is None:
        return
    recover_messages(service, service.forge)
    with service.database.session() as session:
        places = places_to_ask(session)
    for repository_id, place in places:
        try:
            open_pulls = service.forge.open_pulls(place)
        except ForgeMovedError as error:
            with service.database.session() as session:
                move(session, error.id, error.slug, error.branch)
            log.warning("%s; its pull requests are listed the next time", error)
            continue
        except RatchetError as error:
            log.warning("the open pull requests of %s could not be listed: %s", place.slug, error)
            continue
        with service.database.session() as session:
            compare_pulls(session, repository_id, open_pulls)
            want_branch(session, repository_id)


def recover_messages(service: Service, forge: Forge) -> None:
    """Ask for messages that the forge could not deliver; what it does not take now is asked for the next time."""
    with service.database.session() as session:
        since = look_from(session)
    try:
        lost = forge.lost_messages(since)
        with service.database.session() as session:
            wanted = to_ask_for(session, lost)
        for message in wanted.messages:
            _ask_for(forge, message)
            with service.database.session() as session:
                note_asked(session, message)
    except RatchetError as error:
        log.warning("messages that were lost could not be asked for: %s", error)
        return
    with service.database.session() as session:
        end_look(session, wanted)


def _ask_for(forge: Forge, message: LostMessage) -> None:
    try:
        forge.deliver_again(message)
    except ForgeRefusedError as error:  # it would be refused again, and keeps no other from being asked for
        log.warning("message %s is not sent again: %s", message.guid, error)


def obey_at_forge(service: Service, asked: Asked) -> None:
    """Do what somebody asked for, if he may; the forge is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        place, _ = place_of(session, asked.repository_id)
    may_write = _answer(
        service,
        f"what {asked.author} may do at {place.slug}",
        lambda forge: forge.may_write(place, asked.author),
        lambda session, wait_s: ask_again(session, asked, delay_s=wait_s),
        lambda session, _: drop(session, asked),
    )
    if may_write is None:
        return
    with service.database.session() as session:
        obey(session, service.settings, asked, may_write=may_write)


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
