"""Weekly reports as they were made: by schedule, once a week has ended, or afresh for whoever asks for another."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.device_use import Told
from app.domain.week import Week, week_of
from app.domain.weekly_report import WeeklyReport
from app.reports.weekly.headline import headline
from app.reports.weekly.page import render_weekly
from app.services.weekly.read_weekly import read_weekly
from app.services.weekly.scope import Scope
from app.store.repositories import clock, projects, weekly_reports

WEEKS_LISTED = 26


@dataclass(frozen=True)
class ListedWeek:
    """A week of the list: its headline as it was when the report was made; None where none was kept."""

    week: Week
    headline: str | None
    made_at: datetime | None


def list_weeks(session: Session, scope: Scope, *, most: int = WEEKS_LISTED) -> list[ListedWeek]:
    """Return the weeks up to the present one, the newest first: those since the oldest commit, at the most so many.

    Of everything the headlines are told to those alone who see every project.
    """
    now = week_of(clock.now(session))
    may_have_kept = scope.is_installation or not scope.is_whole
    rows = weekly_reports.newest(session, _project_id(scope), limit=most) if may_have_kept else []
    kept = {row.monday: row for row in rows}
    oldest = weekly_reports.first_commit_at(session, scope.project_ids)
    weeks = [now.before(back) for back in range(most)]
    shown = [week for week in weeks if oldest is not None and week.end > oldest] or [now]
    return [_listed(week, kept.get(week.monday)) for week in shown]


def _listed(week: Week, row: weekly_reports.Kept | None) -> ListedWeek:
    return ListedWeek(week, row.headline if row else None, row.made_at if row else None)


def kept_html(session: Session, scope: Scope, week: Week) -> str | None:
    """Return the page of a week as it was kept; None where none was.

    That of everything is for those who see every project; for others one is made of what they see.
    """
    may_have_kept = scope.is_installation or not scope.is_whole
    kept = weekly_reports.html(session, _project_id(scope), week.monday) if may_have_kept else None
    return None if kept is None else gzip.decompress(kept).decode()


def keep_weekly(
    session: Session, scope: Scope, week: Week, settings: ServiceSettings, told: Told | None = None
) -> WeeklyReport:
    """Make the report of a week and keep it; one that was kept before gives way."""
    report = read_weekly(session, scope, week, settings, told)
    html = gzip.compress(render_weekly(report, settings.address).encode(), 6)
    weekly_reports.put(session, _project_id(scope), week.monday, headline(report), html)
    return report


def _project_id(scope: Scope) -> int | None:
    return None if scope.is_whole else scope.projects[0].id


def is_due(now: datetime, settings: ServiceSettings) -> Week | None:
    """Return the week whose reports are due: the last one, from so many hours after its end on; None before."""
    last = week_of(now).before()
    return last if now >= due_at(last, settings) else None


def due_at(week: Week, settings: ServiceSettings) -> datetime:
    """Return from when on the reports of a week are due."""
    return week.end + timedelta(hours=settings.weekly_report_after_h)


def due_scopes(session: Session, week: Week) -> list[Scope]:
    """Return what has no report of a week yet: projects with a point in the quarter before its end, then everything."""
    without = weekly_reports.without(session, week.monday, since=week.before(12).start, until=week.end)
    found = [Scope(project.name, (project,)) for project in without]
    every = projects.every(session)
    if every and not weekly_reports.is_kept(session, None, week.monday):
        found.append(Scope("", tuple(every)))
    return found
