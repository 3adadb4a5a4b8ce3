"""The day's backup: made by `tasks` once it is due, and made up for where nobody was there at that time."""

from __future__ import annotations

import logging
from datetime import datetime, time, timedelta
from pathlib import Path

from app.config import ServiceSettings
from app.domain.errors import RatchetError
from app.services.backups.back_up import Made, back_up
from app.store.repositories import clock, restorations
from app.store.session import Database

AGAIN_AFTER = timedelta(hours=1)
"""So long after one that failed another is tried: a full disk is no sooner empty for being filled again."""

log = logging.getLogger(__name__)


def back_up_if_due(database: Database, settings: ServiceSettings) -> Made | None:
    """Make the day's backup where it is due and nobody makes it; return what was made, which is logged, or why not.

    While the service observes none is made: it would take the place of one that has more.
    """
    if not settings.backup_dir:
        return None
    with database.session() as session:
        if not restorations.may_back_up(session) or restorations.is_observing(session):
            return None
        now, last = clock.now(session), restorations.last_backup_at(session)
        if last is not None and last >= due_at(now, settings.backup_at):
            return None
        failed = restorations.last_failure_at(session)
        if failed is not None and now - failed < AGAIN_AFTER:
            return None
        # What the lock is for outlives a session's patience, so that its transaction waits without a limit.
        restorations.wait_long(session)
        made = _made(database, settings)
        if made is None:
            restorations.note_failure(session)
        return made


def due_at(now: datetime, at: str) -> datetime:
    """Return when the newest backup was due, before now: at that time of the day, UTC."""
    today = datetime.combine(now.date(), time.fromisoformat(at), tzinfo=now.tzinfo)
    return today if today <= now else today - timedelta(days=1)


def _made(database: Database, settings: ServiceSettings) -> Made | None:
    folder = Path(settings.backup_dir)
    try:
        made = back_up(
            database, settings.data_dir, folder, lambda _what, _bytes: None, keep=settings.backup_keep
        )
    except RatchetError as error:
        log.warning("the day's backup was not made, and is tried again in an hour: %s", error)
        return None
    log.info("made the day's backup: %s, %d bytes", made.path, made.manifest.bytes)
    return made
