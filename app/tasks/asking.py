"""Ask the forge for something, without a session, and go on with what it says.

It is asked once more later where it does not answer, and never where it would refuse again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy.orm import Session

from app.domain.errors import RatchetError
from app.integrations.forge import Forge, ForgeBusyError, ForgeMovedError, ForgeRefusedError
from app.store.repositories.forge import move
from app.wiring import Service

log = logging.getLogger(__name__)

T = TypeVar("T")
P = ParamSpec("P")

LOOK_AGAIN_S = 30.0
"""When a pull request is looked at again that the forge did not tell of [s]."""


def at_forge(do: Callable[Concatenate[Service, Forge, P], None]) -> Callable[Concatenate[Service, P], None]:
    """Give it the forge that the service is connected with; without one nothing is done."""

    @wraps(do)
    def done(service: Service, /, *arguments: P.args, **named: P.kwargs) -> None:
        if service.forge is not None:
            do(service, service.forge, *arguments, **named)

    return done


def ask(
    service: Service,
    what: str,
    question: Callable[[], T],
    *,
    then: Callable[[Session, T], None],
    again: Callable[[Session, float], None],
    refused: Callable[[Session, str], None] = lambda session, why: None,
) -> None:
    """Go on with what the forge says; what it does not say now is asked for again, unless it would refuse again."""
    try:
        told = question()
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
    else:
        with service.database.session() as session:
            then(session, told)
