"""What follows from what the forge told, or from somebody who asked: the forge is waited for without a session."""

from __future__ import annotations

from app.domain.errors import RatchetError, UnavailableError
from app.services.change_settled import want_following
from app.services.forge.ask_measure import end_request, want_measuring
from app.services.forge.follow_branch import EVENT, follow_branch, pushed_branch
from app.services.forge.follow_change import follow_change, show_again
from app.services.forge.follow_group import follow_group, refuse_group, take_group
from app.services.forge.follow_measure import follow_request, look_at_asked, take_request
from app.services.forge.follow_pull import follow_pull, known_of, refuse_look
from app.services.forge.follow_schedule import due_at_tick, follow_schedule, refuse_tick
from app.services.forge.growth import look_at_branch
from app.services.forge.look_at_change import look_at_change, question_of
from app.services.forge.look_at_group import look_at_group
from app.services.forge.look_at_pull import look_at_pull, place_of
from app.services.forge.merge_queue import want_group
from app.services.forge.obey import Asked, ask_again, drop, obey
from app.services.forge.receive_delivery import want_branch, want_look
from app.services.forge.schedules import want_tick
from app.services.forge.tell_forge import REFUSED_S
from app.store.repositories import clock
from app.tasks.asking import answer
from app.wiring import Service


def follow_at_forge(service: Service, repository_id: int, number: int) -> None:
    """Look at a pull request and have measured what is to be; the forge is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        (place, external_id), asked_at = place_of(session, repository_id), clock.now(session)
        known = known_of(session, repository_id, number)
    seen = answer(
        service,
        f"pull request {number} of {place.slug}",
        lambda forge: look_at_pull(forge, service.settings, place, external_id, number, known),
        lambda session, wait_s: want_look(session, repository_id, number, delay_s=wait_s),
        lambda session, why: refuse_look(session, repository_id, number, why),
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
    seen = answer(
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
    seen = answer(
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
    seen = answer(
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
    seen = answer(
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
    found = answer(
        service,
        f"where {question.commit.sha[:10]} of {question.place.slug} came from",
        lambda forge: look_at_change(forge, service.settings, question),
        lambda session, wait_s: want_following(session, commit_id, delay_s=wait_s),
        lambda session, why: want_following(session, commit_id, delay_s=REFUSED_S),
    )
    if found is not None:
        with service.database.session() as session:
            follow_change(session, service.settings, commit_id, question, found)


def obey_at_forge(service: Service, asked: Asked) -> None:
    """Do what somebody asked for, if he may; the forge is waited for without a session."""
    if service.forge is None:
        return
    with service.database.session() as session:
        place, _ = place_of(session, asked.repository_id)
    may_write = answer(
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
