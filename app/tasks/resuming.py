"""Have a restored service go on: the forge is asked what it knows, without a session, and nothing is told to it."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import UnavailableError
from app.domain.forge import OpenPull
from app.integrations.forge import Forge
from app.reports.pull_request import NAME
from app.services.backups.resume import Queued, Resumed, Told, resume, to_ask
from app.services.forge.reconcile_pulls import places_to_ask, strange_pulls
from app.tasks import following
from app.wiring import Service


def resume_service(service: Service, queued: Queued | None, *, asks_forge: bool = True) -> Resumed:
    """Bring what is known of pull requests up to date, leave alone what the forge has the end of, and go on.

    Raises what the forge raises, and what `resume` raises.
    """
    with service.database.session() as session:
        to_ask(session)
    ended: set[tuple[int, str]] = set()
    if service.forge is not None and asks_forge:
        _look_at_pulls(service, service.forge)
        with service.database.session() as session:
            asked = to_ask(session)
        ended = {(told.repository_id, told.sha) for told in asked if _has_ended(service.forge, told)}
    with service.database.session() as session:
        return resume(session, ended, queued)


def _look_at_pulls(service: Service, forge: Forge) -> None:
    """Have every pull request be known as it is now: one that came since, or has moved, may have been measured.

    Raises UnavailableError where one could not be looked at: the log says why.
    """
    with service.database.session() as session:
        places = places_to_ask(session)
    for repository_id, place in places:
        listed = forge.open_pulls(place)
        for number in _strange(service, repository_id, listed):
            following.follow(service, repository_id=repository_id, number=number)
        if left := _strange(service, repository_id, listed):
            named = ", ".join(f"#{number}" for number in left)
            raise UnavailableError(
                f"pull requests of {place.slug} could not be looked at: {named}; try again"
            )


def _strange(service: Service, repository_id: int, listed: Sequence[OpenPull]) -> list[int]:
    with service.database.session() as session:
        return strange_pulls(session, repository_id, listed)


def _has_ended(forge: Forge, told: Told) -> bool:
    return forge.has_ended(told.place, told.sha, NAME)
