"""The tasks of notifications: each looks at how things stand, and the receiver is waited for without a session."""

from __future__ import annotations

import logging

from app.domain.errors import RatchetError
from app.integrations.forge import Forge
from app.services.notify.compose_message import compose_message
from app.services.notify.look_at_owners import keep_owners, look_at_owners, question_of
from app.services.notify.plan_news import plan_news
from app.services.notify.send_message import deliver, end_turn, take_turn
from app.tasks.asking import at_forge
from app.wiring import Service

log = logging.getLogger(__name__)


def plan(service: Service, project_id: int) -> None:
    """Look at whom what happened to the project's alerts concerns."""
    learn_owners(service, project_id)
    with service.database.session() as session:
        plan_news(session, project_id)


@at_forge
def learn_owners(service: Service, forge: Forge, project_id: int) -> None:
    """Find out whose new alerts are; what the forge does not say now stays unknown, and nobody waits for it."""
    with service.database.session() as session:
        question = question_of(session, project_id)
    if question is None:
        return
    try:
        found = look_at_owners(forge, service.settings, question)
    except RatchetError as error:
        log.warning("whose alerts of %s are could not be looked at: %s", question.place.slug, error)
        return
    with service.database.session() as session:
        keep_owners(session, found)


def compose(service: Service, notifier_id: int) -> None:
    """Make the message that is due for a notifier."""
    with service.database.session() as session:
        compose_message(session, service.settings, notifier_id)


def send(service: Service, notifier_id: int) -> None:
    """Send the next message to a notifier."""
    with service.database.session() as session:
        turn = take_turn(session, service.settings, notifier_id)
    if turn is not None:
        sent = deliver(turn)
        with service.database.session() as session:
            end_turn(session, turn, sent)
