"""What the clock has done: make and keep the reports of a week that has ended, each in a transaction of its own.

That of everything tells what GPUs did, and is kept: it waits for a Prometheus that is away, for `PATIENCE` at the most.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.device_use import Told
from app.domain.errors import RatchetError
from app.domain.week import Week
from app.services.weekly.announce_weekly import announce
from app.services.weekly.kept_weekly import due_at, due_scopes, is_due, keep_weekly
from app.services.weekly.scope import Scope
from app.services.weekly.watch import Watch, look
from app.store.repositories import clock, restorations, weekly_reports
from app.store.session import Database

log = logging.getLogger(__name__)


PATIENCE = timedelta(hours=1)
"""How long after it is due a report is not made without what Prometheus tells."""


def make_due(database: Database, settings: ServiceSettings, watch: Watch | None = None) -> int:
    """Make the reports that are due and not there yet; return how many.

    One that fails is logged, keeps no other from being made, and is tried again with the next tick. Where another
    process is at it, this one leaves. While a restored service observes none is made.
    """
    with database.session() as session:
        if restorations.is_observing(session):
            return 0
        now = clock.now(session)
        week = is_due(now, settings)
        scopes = due_scopes(session, week) if week else []
    made = 0
    for scope in scopes:
        assert week is not None
        told = look(database, scope, week, watch)
        if told is not None and told.is_unanswered and now < due_at(week, settings) + PATIENCE:
            log.info("the report of week %s waits for Prometheus: %s", week, told.reason)
        else:
            made += _make(database, settings, scope, week, told)
    return made


def _make(database: Database, settings: ServiceSettings, scope: Scope, week: Week, told: Told | None) -> bool:
    of = scope.name or "all projects"
    project_id = None if scope.is_whole else scope.projects[0].id
    try:
        with database.session() as session:
            is_ours = weekly_reports.take(session)
            if is_ours and not weekly_reports.is_kept(session, project_id, week.monday):
                report = keep_weekly(session, scope, week, settings, told)
                if not scope.is_whole and not _was_told(session, week):
                    announce(session, scope.projects[0], report, settings)
                return True
    except RatchetError as error:
        log.warning("the report of week %s of %s cannot be made: %s", week, of, error)
    except Exception:
        log.exception("the report of week %s of %s could not be made; it is tried again later", week, of)
    return False


def _was_told(session: Session, week: Week) -> bool:
    """Say whether a week's report may have been told before the service was restored, from a backup without it."""
    restored_at = restorations.last_restored_at(session)
    return restored_at is not None and week.end <= restored_at
