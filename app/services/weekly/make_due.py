"""What the clock has done: make and keep the reports of a week that has ended, each in a transaction of its own."""

from __future__ import annotations

import logging

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import RatchetError
from app.domain.week import Week
from app.services.weekly.announce_weekly import announce
from app.services.weekly.kept_weekly import due_scopes, is_due, keep_weekly
from app.services.weekly.scope import Scope
from app.store.repositories import clock, restorations, weekly_reports
from app.store.session import Database

log = logging.getLogger(__name__)


def make_due(database: Database, settings: ServiceSettings) -> int:
    """Make the reports that are due and not there yet; return how many.

    One that fails is logged, keeps no other from being made, and is tried again with the next tick. Where another
    process is at it, this one leaves. While a restored service observes none is made.
    """
    with database.session() as session:
        if restorations.is_observing(session):
            return 0
        week = is_due(clock.now(session), settings)
        scopes = due_scopes(session, week) if week else []
    made = 0
    for scope in scopes:
        assert week is not None
        made += _make(database, settings, scope, week)
    return made


def _make(database: Database, settings: ServiceSettings, scope: Scope, week: Week) -> bool:
    of = scope.name or "all projects"
    project_id = None if scope.is_whole else scope.projects[0].id
    try:
        with database.session() as session:
            is_ours = weekly_reports.take(session)
            if is_ours and not weekly_reports.is_kept(session, project_id, week.monday):
                report = keep_weekly(session, scope, week, settings)
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
