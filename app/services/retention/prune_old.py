"""Delete what is older than it is kept, in many short transactions with rests between them.

It may be broken off anywhere, by a kill too: the next time goes on with what is left. The classes take turns, so that
one with much to delete, or one that fails, keeps no other from its turn. One process at a time prunes.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.services.retention.policy import POLICIES, Policy
from app.services.retention.step import Found, Reach
from app.store.repositories import clock, retention
from app.store.session import Database, is_away

log = logging.getLogger(__name__)

REST = 3.0
"""How long is rested after a step that deleted something, as a multiple of what it took: reads are alone for three
quarters of the time."""

Pause = Callable[[float], object]


@dataclass
class Tally:
    """How far a class has come: rows that were due so far, roughly their size [B], and when the oldest came."""

    policy: Policy
    before: datetime
    rows: int = 0
    size_b: int = 0
    oldest: datetime | None = None
    after: int = 0
    is_done: bool = False
    failure: str | None = None
    """Why it could not be gone on with."""

    def add(self, found: Found) -> None:
        """Add what a step came upon."""
        self.rows += found.rows
        self.size_b += found.size_b
        times = [at for at in (self.oldest, found.oldest) if at is not None]
        self.oldest = min(times, default=None)
        self.after, self.is_done = found.last, not found.has_more


def prune_old(
    database: Database,
    settings: ServiceSettings,
    *,
    is_dry: bool = False,
    time_s: float | None = None,
    pause: Pause = time.sleep,
) -> Iterator[Tally]:
    """Delete what is due; yield the tally of a class after each of its steps.

    Args:
        database: where.
        settings: with how long each class is kept.
        is_dry: nothing is deleted, only counted.
        time_s: how long may be pruned [s]; None for as long as there is something to delete.
        pause: what rests for so many seconds.

    Raises UnavailableError where another process prunes.
    """
    until = None if time_s is None else time.monotonic() + time_s
    with database.session() as session:
        now = clock.now(session)
    ages = [(policy, policy.keep(settings)) for policy in POLICIES]
    waiting = deque(Tally(policy, now - age) for policy, age in ages if age is not None)
    is_whole = not is_dry
    while waiting:
        if until is not None and time.monotonic() > until:
            return
        tally, begun = waiting.popleft(), time.monotonic()
        known = tally.rows
        _go_on(database, tally, is_dry=is_dry)
        is_whole = is_whole and tally.failure is None
        took_s = time.monotonic() - begun
        yield tally
        if not tally.is_done:
            waiting.append(tally)
        if tally.rows > known and not is_dry:
            pause(REST * took_s)
    if is_whole:
        with database.session() as session:
            retention.note_done(session, now)


def _go_on(database: Database, tally: Tally, *, is_dry: bool) -> None:
    """Take the next step of a class; one that fails is told, and left for the next time."""
    try:
        tally.add(_step(database, tally, is_dry=is_dry))
    except Exception as error:
        if isinstance(error, UnavailableError) or is_away(error):
            raise
        log.exception("the class %s could not be gone on with behind %d", tally.policy.name, tally.after)
        tally.is_done, tally.failure = True, repr(error)


def _step(database: Database, tally: Tally, *, is_dry: bool) -> Found:
    with database.session() as session:
        if not is_dry and not retention.may_prune(session):
            raise UnavailableError("another process deletes what is old just now")
        return tally.policy.step(session, Reach(tally.before, tally.after, is_dry=is_dry))
