"""Say to the forge what it should say: one at a time for each installation, and with the rest that it asks for."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.domain.errors import UnavailableError
from app.domain.forge import (
    Annotation,
    Button,
    CheckOutcome,
    CheckState,
    CheckText,
    CommentText,
    IssueText,
    Place,
    Text,
)
from app.integrations.forge import Forge, ForgeBusyError, ForgeMovedError, ForgeRefusedError
from app.services.forge.want_text import want_telling
from app.services.metrics.counted import observe_visible
from app.store.repositories import clock, forge, restorations, targets
from app.store.tables import Repository, Target

log = logging.getLogger(__name__)

HOLD_S = 120.0
"""How long a turn lasts at the most: whoever has it may die in it [s]."""

REST_S = 1.0
"""Between two writes, as GitHub asks for [s]."""

LONGEST_WAIT_S = 600.0

REFUSED_S = 3600.0
"""What was refused is tried again as seldom: a permission may have been given meanwhile."""


@dataclass(frozen=True)
class Turn:
    """One thing to be said, and all that is needed for it."""

    target_id: int
    repository_id: int
    place: Place
    text: Text | None
    """None for what another release wished, and this one does not know."""
    digest: str
    known_id: int | None
    attempts: int
    may_be_there: bool = False
    """Whether the forge may have been told by a service whose memory of it is lost."""


@dataclass(frozen=True)
class Said:
    """How it went: the forge's id of it, or why not and whether to try again after so long."""

    external_id: int | None = None
    error: str = ""
    is_final: bool = False
    is_busy: bool = False
    """The forge wants to be left alone, whatever it is about."""
    wait_s: float = REST_S
    moved: ForgeMovedError | None = None
    """Where the repository is now."""


def take_turn(session: Session, repository_id: int) -> Turn | None:
    """Return what is to be said next; None where there is nothing, it is another's turn, or nothing may be said yet."""
    if restorations.is_observing(session):
        return None
    waiting = targets.waiting(session, repository_id)
    if not waiting:
        return None
    if not targets.take_turn(session, repository_id, timedelta(seconds=HOLD_S)):
        want_telling(session, repository_id, delay_s=REST_S)
        return None
    target = session.get_one(Target, waiting[0][0], populate_existing=True, with_for_update=True)
    repository = session.get_one(Repository, repository_id)
    turn = Turn(
        target_id=target.id,
        repository_id=repository_id,
        place=repository.place,
        text=_text(target.kind, target.wanted),
        digest=target.wanted_digest,
        known_id=target.external_id,
        attempts=target.attempts,
        may_be_there=target.external_id is None and restorations.was_restored(session),
    )
    target.attempts += 1
    return turn


def say(its_forge: Forge, turn: Turn) -> Said:
    """Say it. An earlier try may have had an effect that nobody heard of: then what is there is looked for first."""
    if turn.text is None:
        return Said(error="this release does not know what was to be told", is_final=True)
    later_s = min(2.0 ** (turn.attempts + 1), LONGEST_WAIT_S)
    try:
        told = its_forge.put(
            turn.place, turn.text, turn.known_id, look_first=turn.attempts > 0 or turn.may_be_there
        )
        return Said(external_id=told)
    except ForgeMovedError as error:
        return Said(error=str(error), moved=error)
    except ForgeBusyError as error:
        return Said(error=str(error), wait_s=error.wait_s, is_busy=True)
    except ForgeRefusedError as error:
        return Said(error=str(error), is_final=True)
    except UnavailableError as error:
        return Said(error=str(error), wait_s=later_s)
    except Exception as error:  # one text that cannot be said must not keep the others from being told
        log.exception("target %d could not be told", turn.target_id)
        return Said(error=repr(error)[:500], wait_s=later_s)


def end_turn(session: Session, turn: Turn, said: Said) -> None:
    """Store how it went, and have the rest said."""
    # Before the target, as whoever takes a turn does.
    rest_s = said.wait_s if said.is_busy else REST_S
    targets.end_turn(session, turn.repository_id, timedelta(seconds=rest_s))
    if said.moved is not None:
        forge.move(session, said.moved.id, said.moved.slug, said.moved.branch)
    target = session.get_one(Target, turn.target_id, populate_existing=True, with_for_update=True)
    is_first = said.external_id is not None and target.told_at is None
    if said.external_id is not None:
        target.external_id, target.told_digest = said.external_id, turn.digest
        target.told_at, target.attempts = clock.now(session), 0
    else:
        _put_off(session, target, turn, said)
    session.flush()
    if targets.waiting(session, turn.repository_id):
        want_telling(session, turn.repository_id, delay_s=rest_s)
    elif said.error and not said.is_final:
        want_telling(session, turn.repository_id, delay_s=said.wait_s)
    if is_first:
        observe_visible(session, target)


def _put_off(session: Session, target: Target, turn: Turn, said: Said) -> None:
    """Have it tried later; something else to say, which may have come meanwhile, is told at once."""
    log.warning("%s could not be told: %s", target.key, said.error)
    if said.is_final:
        # What was there may be gone: the next try looks for it, and makes it anew where it is.
        target.external_id = None
    if target.wanted_digest == turn.digest:
        target.error = said.error if said.is_final else None
        targets.delay(session, target, timedelta(seconds=REFUSED_S if said.is_final else said.wait_s))


def _text(kind: str, wanted: dict[str, Any]) -> Text | None:
    try:
        if kind == "comment":
            return CommentText(**wanted)
        return IssueText(**wanted) if kind == "issue" else _check_text(wanted)
    except (KeyError, TypeError, ValueError):
        return None


def _check_text(wanted: dict[str, Any]) -> CheckText:
    outcome = wanted["outcome"]
    known = {
        "state": CheckState(wanted["state"]),
        "outcome": CheckOutcome(outcome) if outcome else None,
        "buttons": tuple(Button(**button) for button in wanted.get("buttons", ())),
        "annotations": tuple(Annotation(**note) for note in wanted.get("annotations", ())),
    }
    return CheckText(**{**wanted, **known})
