"""Pull requests as the forge lists them, held against what is known: messages get lost, and GitHub sends none again."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from app.domain.forge import OpenPull, Place
from app.services.forge.receive_delivery import want_look
from app.store.repositories import forge, pulls


def places_to_ask(session: Session) -> list[tuple[int, Place]]:
    """Return the repositories that can be reached, and where they are."""
    return [(its.id, its.place) for its in forge.connected(session)]


def compare_pulls(session: Session, repository_id: int, listed: Sequence[OpenPull]) -> int:
    """Have every pull request looked at that is not as it is known; return how many."""
    strange = strange_pulls(session, repository_id, listed)
    for number in strange:
        want_look(session, repository_id, number)
    return len(strange)


def strange_pulls(session: Session, repository_id: int, listed: Sequence[OpenPull]) -> list[int]:
    """Return the numbers of the pull requests that are not as they are known."""
    known = {pull.number: (pull.head_sha, pull.base_ref) for pull in pulls.all_open(session, repository_id)}
    now = {pull.number: (pull.head_sha, pull.base_ref) for pull in listed}
    return sorted(number for number in known.keys() | now.keys() if known.get(number) != now.get(number))
