"""What follows from what the forge told, or from somebody who asked: the forge is waited for without a session."""

from __future__ import annotations

from app.domain.errors import RatchetError, UnavailableError
from app.integrations.forge import Forge
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
from app.tasks.asking import ask, at_forge
from app.wiring import Service


@at_forge
def follow(service: Service, forge: Forge, repository_id: int, number: int) -> None:
    """Look at a pull request and have measured what is to be."""
    settings = service.settings
    with service.database.session() as session:
        (place, external_id), asked_at = place_of(session, repository_id), clock.now(session)
        known = known_of(session, repository_id, number)
    ask(
        service,
        f"pull request {number} of {place.slug}",
        lambda: look_at_pull(forge, settings, place, external_id, number, known),
        then=lambda session, seen: follow_pull(session, settings, repository_id, number, seen, asked_at),
        again=lambda session, wait_s: want_look(session, repository_id, number, delay_s=wait_s),
        refused=lambda session, why: refuse_look(session, repository_id, number, why),
    )


@at_forge
def branch(service: Service, forge: Forge, repository_id: int) -> None:
    """Have the newest commit of a branch measured; what the forge refuses now, the next push asks for."""
    settings = service.settings
    with service.database.session() as session:
        pushed, asked_at = pushed_branch(session, repository_id), clock.now(session)
    its = pushed.branch
    ask(
        service,
        f"{its.name} of {its.place.slug}",
        lambda: look_at_branch(forge, settings, its, EVENT, pushed.since, is_measured=not pushed.is_crowded),
        then=lambda session, seen: follow_branch(session, settings, repository_id, pushed, seen, asked_at),
        again=lambda session, wait_s: want_branch(session, repository_id, delay_s=wait_s),
    )


@at_forge
def schedule(service: Service, forge: Forge, tick_id: int) -> None:
    """Have measured what a schedule is due for."""
    settings = service.settings
    with service.database.session() as session:
        due, asked_at = due_at_tick(session, tick_id), clock.now(session)
    if due is None:
        return
    ask(
        service,
        f"{due.branch.name} of {due.branch.place.slug}",
        lambda: look_at_branch(forge, settings, due.branch, due.name, due.since),
        then=lambda session, seen: follow_schedule(session, settings, due, seen, asked_at),
        again=lambda session, wait_s: want_tick(session, tick_id, delay_s=wait_s),
        refused=lambda session, why: refuse_tick(session, tick_id, why),
    )


@at_forge
def group(service: Service, forge: Forge, group_id: int) -> None:
    """Have a merge queue's group measured, or let go."""
    settings = service.settings
    with service.database.session() as session:
        its = take_group(session, settings, group_id)
    if its is None:
        return
    ask(
        service,
        f"merge group {its.head_ref} of {its.place.slug}",
        lambda: look_at_group(forge, settings, its),
        then=lambda session, seen: follow_group(session, settings, group_id, seen),
        again=lambda session, wait_s: want_group(session, group_id, delay_s=wait_s),
        refused=lambda session, why: refuse_group(session, settings, group_id, why),
    )


def measure(service: Service, request_id: int) -> None:
    """Have measured what somebody asked for, or say why it is not."""
    settings, forge = service.settings, service.forge
    with service.database.session() as session:
        asked, asked_at = take_request(session, request_id), clock.now(session)
        if asked is not None and forge is None:
            end_request(session, request_id, "refused", message="this service is connected with no forge")
    if asked is None or forge is None:
        return
    try:
        ask(
            service,
            f"what is to be measured of {asked.place.slug}",
            lambda: look_at_asked(forge, settings, asked),
            then=lambda session, seen: follow_request(session, settings, asked, seen, asked_at),
            again=lambda session, wait_s: want_measuring(session, request_id, delay_s=wait_s),
            refused=lambda session, why: end_request(session, request_id, "refused", message=why),
        )
    except UnavailableError:
        raise
    except RatchetError as error:
        with service.database.session() as session:
            end_request(session, request_id, "refused", message=str(error))


@at_forge
def change(service: Service, forge: Forge, commit_id: int) -> None:
    """Find out where the changes of a commit came from, and have it told there."""
    settings = service.settings
    with service.database.session() as session:
        question = question_of(session, commit_id)
        if question is None:
            show_again(session, settings, commit_id)
            return
    ask(
        service,
        f"where {question.commit.sha[:10]} of {question.place.slug} came from",
        lambda: look_at_change(forge, settings, question),
        then=lambda session, found: follow_change(session, settings, commit_id, question, found),
        again=lambda session, wait_s: want_following(session, commit_id, delay_s=wait_s),
        refused=lambda session, _: want_following(session, commit_id, delay_s=REFUSED_S),
    )


@at_forge
def do_as_asked(
    service: Service,
    forge: Forge,
    repository_id: int,
    number: int,
    comment: int,
    author: str,
    text: str,
    at: str = "",
) -> None:
    """Do what somebody asked for in a comment, if he may."""
    asked = Asked(repository_id, number, comment, author, text, at)
    with service.database.session() as session:
        place, _ = place_of(session, repository_id)
    ask(
        service,
        f"what {author} may do at {place.slug}",
        lambda: forge.may_write(place, author),
        then=lambda session, may_write: obey(session, service.settings, asked, may_write=may_write),
        again=lambda session, wait_s: ask_again(session, asked, delay_s=wait_s),
        refused=lambda session, _: drop(session, asked),
    )
