"""What the forge did not tell of, or could not: found by asking it, for every repository that can be reached."""

from __future__ import annotations

import logging

from app.domain.errors import RatchetError
from app.domain.forge import LostMessage
from app.integrations.forge import Forge, ForgeMovedError, ForgeRefusedError
from app.services.forge.receive_delivery import want_branch
from app.services.forge.reconcile_pulls import compare_pulls, places_to_ask
from app.services.forge.recover_messages import end_look, look_from, note_asked, to_ask_for
from app.store.repositories.forge import move
from app.store.repositories.restorations import is_observing
from app.tasks.asking import at_forge
from app.wiring import Service

log = logging.getLogger(__name__)


@at_forge
def reconcile_pulls(service: Service, forge: Forge) -> None:
    """Find what the forge did not tell of; a repository that cannot be asked keeps no other from being asked."""
    recover_messages(service, forge)
    with service.database.session() as session:
        places = places_to_ask(session)
    for repository_id, place in places:
        try:
            open_pulls = forge.open_pulls(place)
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
        if is_observing(session):
            return
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
