"""What the clock has done: delete for a while what is old, and say what went."""

from __future__ import annotations

import logging

from app.config import ServiceSettings
from app.domain.errors import UnavailableError
from app.reports.words import listing
from app.services.retention.prune_old import Tally, prune_old
from app.store.session import Database

log = logging.getLogger(__name__)

SHARE = 0.2
"""How much of the time between two ticks may be pruned: whatever is left then waits for the next."""


def prune_for_a_while(database: Database, settings: ServiceSettings) -> list[Tally]:
    """Delete what is old, for some of the time until the next tick; return what went of each class, logged too."""
    gone: dict[str, Tally] = {}
    try:
        for tally in prune_old(database, settings, time_s=SHARE * settings.prune_interval_s):
            gone[tally.policy.name] = tally
    except UnavailableError as error:
        log.info("nothing is deleted: %s", error)
    told = [tally for tally in gone.values() if tally.rows]
    if told:
        whats = [f"{tally.rows} {tally.policy.counted}" for tally in told]
        log.info("deleted what was older than it is kept: %s", listing(whats))
    return told
