"""A project's weekly report is told to whoever asked for it: two sentences and a link; mails show the letter.

The page goes with mails as a file, so that it can be read where the service cannot be reached.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.weekly_report import WeeklyReport
from app.reports.weekly.headline import headline, second_sentence
from app.reports.weekly.page import render_letter, render_weekly, weekly_address
from app.services.notify.announce_report import announce_report
from app.store.tables import Project


def announce(session: Session, project: Project, report: WeeklyReport, settings: ServiceSettings) -> int:
    """Queue the report for each notifier that asked for it; return for how many."""
    base = settings.address
    return announce_report(
        session,
        project,
        str(report.week),
        f"Week {report.week} of {project.name}: {headline(report)}",
        second_sentence(report),
        weekly_address(report, base),
        html=render_weekly(report, base),
        letter=render_letter(report, base),
    )
