"""A message of the forge is kept before it is answered, and looked at later."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Unpack

from sqlalchemy.orm import Session

from app.domain.forge import (
    BranchEvent,
    ButtonEvent,
    CommandEvent,
    Connected,
    Disconnected,
    Event,
    Ignored,
    MergeGroupEvent,
    PullEvent,
    RerunEvent,
    Source,
)
from app.integrations.github.events import read_event
from app.services.forge.merge_queue import find_lost_groups, keep_group, measure_group_again
from app.store.repositories import access, deliveries, forge, outbox, pulls
from app.store.tables import Repository

TOPIC = "forge.delivery"
FOLLOW = "pull.follow"
OBEY = "pull.obey"
BRANCH = "branch.follow"
LONGEST_COMMAND = 4_000


def receive_delivery(session: Session, guid: str, event: str, payload: dict[str, Any]) -> bool:
    """Keep a message whose signature is right, and have it looked at; False for one that is kept already."""
    delivery_id = deliveries.keep(session, guid, event, payload)
    if delivery_id is None:
        return False
    outbox.put(session, TOPIC, f"{TOPIC}/{delivery_id}", {"delivery_id": delivery_id})
    return True


def act_on_delivery(session: Session, delivery_id: int) -> None:
    """Have done what follows from a message, once."""
    delivery = deliveries.waiting(session, delivery_id)
    if delivery is not None:
        delivery.outcome = _act(session, read_event(delivery.event, delivery.payload), delivery_id)


def _act(session: Session, event: Event, delivery_id: int) -> str:
    """Have done what follows from an event; return what that is, in a sentence."""
    if isinstance(event, Ignored):
        return event.why
    if isinstance(event, Disconnected):
        n = forge.disconnect(session, event.repositories, event.installation)
        return f"{n} repositories cannot be reached any more"
    if isinstance(event, Connected):
        n = forge.reconnect(session, event.repositories, event.installation)
        return f"{n} known repositories are reached through installation {event.installation}"
    repository = _repository(session, event.source)
    if isinstance(event, PullEvent):
        want_look(session, repository.id, event.number)
        return f"pull request {event.number} is looked at"
    if isinstance(event, BranchEvent):
        want_branch(session, repository.id)
        return f"{repository.branch} is looked at"
    if isinstance(event, MergeGroupEvent):
        return keep_group(session, repository.id, event)
    if isinstance(event, CommandEvent):
        _obey_later(session, repository, event, delivery_id)
        return f"asked for by {event.author} on pull request {event.number}"
    if isinstance(event, ButtonEvent):
        return _obey_button(session, repository, event, delivery_id)
    return _measure_again(session, repository, event)


def _repository(session: Session, source: Source) -> Repository:
    place = source.place
    return forge.repository(
        session, source.id, slug=place.slug, branch=source.branch, installation=place.installation
    )


def _obey_later(session: Session, repository: Repository, event: CommandEvent, delivery_id: int) -> None:
    """Have it done. What came without a comment is known by our own id of its message, below zero."""
    comment = event.comment or -delivery_id
    payload = {
        "repository_id": repository.id,
        "number": event.number,
        "comment": comment,
        "author": event.author,
        "text": event.text[:LONGEST_COMMAND],
        "at": event.at.isoformat() if event.at else "",
    }
    outbox.put(session, OBEY, f"{OBEY}/{repository.id}/{event.number}/{comment}", payload)


def _obey_button(session: Session, repository: Repository, event: ButtonEvent, delivery_id: int) -> str:
    """Have it done for all pull requests with this head: the forge does not say of which one the check is."""
    its = pulls.of_head(session, repository.id, event.sha)
    for pull in its:
        command = CommandEvent(event.source, pull.number, None, event.author, event.text)
        _obey_later(session, repository, command, delivery_id)
    return f"asked for by {event.author} on {len(its)} pull requests"


def _measure_again(session: Session, repository: Repository, event: RerunEvent) -> str:
    """Have measured again what has this head; the forge lets only people press who may write."""
    if measure_group_again(session, repository.id, event.sha):
        access.audit(session, event.author, "group.rerun", f"group/{repository.id}/{event.sha}")
        return "a merge group is measured again"
    its = pulls.of_head(session, repository.id, event.sha)
    for pull in its:
        pull.rerun = True
        want_look(session, repository.id, pull.number)
        access.audit(session, event.author, "pull.rerun", f"pull/{repository.id}/{pull.number}", suite="")
    return f"{len(its)} pull requests are measured again"


def want_look(session: Session, repository_id: int, number: int, **when: Unpack[outbox.When]) -> None:
    """Have a pull request looked at; several wishes for the same are one."""
    payload = {"repository_id": repository_id, "number": number}
    outbox.put_again(session, FOLLOW, f"{FOLLOW}/{repository_id}/{number}", payload, **when)


def want_branch(session: Session, repository_id: int, *, delay_s: float = 0.0) -> None:
    """Have a repository's branch looked at; several wishes are one."""
    payload = {"repository_id": repository_id}
    outbox.put_again(session, BRANCH, f"{BRANCH}/{repository_id}", payload, delay_s=delay_s)


def find_lost_deliveries(session: Session, *, older_than: timedelta) -> int:
    """Have looked at again what nobody looked at for so long; return how many messages."""
    lost = deliveries.left_over(session, older_than=older_than)
    for delivery_id in lost:
        outbox.put_again(
            session, TOPIC, f"{TOPIC}/{delivery_id}", {"delivery_id": delivery_id}, sent_before=older_than
        )
    for repository_id, number in pulls.unlooked(session):
        want_look(session, repository_id, number, sent_before=older_than)
    find_lost_groups(session, older_than=older_than)
    outbox.send_again(session, OBEY, sent_before=older_than)
    return len(lost)
