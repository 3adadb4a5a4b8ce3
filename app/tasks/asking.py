"""Ask the forge for something, without a session: once more later, or never, where it does not answer."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.orm import Session

from app.domain.errors import RatchetError
from app.integrations.forge import Forge, ForgeBusyError, ForgeMovedError, ForgeRefusedError
from app.store.repositories.forge import move
from app.wiring import Service

log = logging.getLogger(__name__)


T = TypeVar("T")

LOOK_AGAIN_S = 30.0
"""When a pull request is looked at again that the forge did not tell of [s]."""


def answer(
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
