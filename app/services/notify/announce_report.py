"""Send a report to whoever of a project's notifiers asked for it: `Wishes.reports` names it.

It is stored as a message for each of them and sent by the same queue as alerts: once, in its turn, tried again where a
receiver is away. A mail has the text, a link, and the page attached as `report.html`; others have text and link.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.domain.errors import TooLargeError
from app.domain.notifications import WEEKLY_REPORT, Message, MessageKind, NotifierKind, kept_wishes
from app.services.notify.message_rows import add_notification
from app.store.repositories import clock, notifications
from app.store.tables import Project

LARGEST_PAGE_B = 8 * 2**20
"""Servers refuse mail much beyond this, which is a third more once it is packed for the way."""


def announce_report(
    session: Session,
    project: Project,
    week: str,
    title: str,
    text: str,
    html_link: str,
    *,
    html: str = "",
    letter: str = "",
    report: str = WEEKLY_REPORT,
) -> int:
    """Queue a report for each notifier that asked for it; return for how many. The same week again queues nothing.

    Args:
        session: the session; messages leave once it has committed.
        project: whose report it is.
        week: what it is of, as `2026-W47`: with `report` it makes the message one.
        title: one line, the subject of a mail.
        text: what it says in a few lines, plain.
        html_link: where the page is to be seen.
        html: the page itself, which loads nothing: attached to mails. Only stored for those.
        letter: what a mail shows in place of the text, as HTML that mail programs know.
        report: which report it is.

    Raises TooLargeError for a page that no mail server takes.
    """
    if len(html.encode()) > LARGEST_PAGE_B:
        raise TooLargeError(f"the page has {len(html.encode())} bytes; {LARGEST_PAGE_B} can be mailed")
    n_queued = 0
    for notifier in notifications.of_project(session, project.id):
        key = f"{report}_{week}_{notifier.id}"
        if (
            report not in kept_wishes(notifier.wishes).reports
            or notifications.by_key(session, key) is not None
        ):
            continue
        is_mail = notifier.kind == NotifierKind.EMAIL
        message = Message(
            kind=MessageKind.REPORT,
            project=project.name,
            title=title,
            url=html_link,
            at=clock.now(session).isoformat(),
            text=text,
            html=html if is_mail else "",
            letter=letter if is_mail else "",
            report=report,
        )
        add_notification(session, notifier, message, key=key)
        n_queued += 1
    return n_queued
