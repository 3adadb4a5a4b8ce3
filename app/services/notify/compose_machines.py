"""Make a message of the incidents of machines that a notifier has not been told of.

It is a message of its own, as a machine is never to be taken for code. An incident that was over before anybody was
told is not told; a digest names it.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.incidents import IncidentKind
from app.domain.notifications import NotifierKind, What, Wishes
from app.services.notify.machine_issues import tell_machine_issues
from app.services.notify.machine_items import Say, concerned, what_to_say
from app.services.notify.machine_rows import machines_message, note_told_machines
from app.services.notify.message_rows import add_notification, thread_of
from app.store.repositories import incidents
from app.store.tables import Incident, Notifier, ToldIncident


def compose_machines(
    session: Session, settings: ServiceSettings, notifier: Notifier, wishes: Wishes, now: datetime
) -> int:
    """Make the message that is due, if there is anything to say; return of how many incidents it is."""
    waiting = incidents.news_of(session, notifier.id)
    told = incidents.told(session, notifier.id, waiting)
    found = incidents.of_ids(session, waiting)
    say = [(its, what) for its in found if (what := what_to_say(its, told.get(its.id), wishes))]
    incidents.drop_news(session, notifier.id, waiting)
    if say and notifier.kind == NotifierKind.GITHUB_ISSUE:
        tell_machine_issues(session, settings, notifier, say, told, now)
    elif say:
        _queue(session, settings, notifier, say, told, now)
    return len(say)


def _queue(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    told: dict[int, ToldIncident],
    now: datetime,
) -> None:
    """Put one message of all that is to be said among those that wait; alone it goes on from the incident's first."""
    message = machines_message(session, settings, notifier, say, now)
    first = told.get(say[0][0].id) if len(say) == 1 else None
    row = add_notification(session, notifier, message, thread=thread_of(session, first))
    note_told_machines(session, notifier, say, told, row)


def digest_of_machines(
    session: Session, notifier: Notifier, wishes: Wishes
) -> tuple[list[tuple[Incident, What]], list[int]]:
    """Return what a digest says of machines, and the incidents that were news.

    Of these it says the end of whatever it told the beginning of, even where nothing else of machines is wanted.
    """
    waiting = incidents.news_of(session, notifier.id)
    still = concerned(session, incidents.open_now(session)).get(notifier.project_id, [])
    known = {its.id: its for its in (*incidents.of_ids(session, waiting), *still)}
    told, news, say = incidents.told(session, notifier.id, list(known)), set(waiting), []
    for its in known.values():
        what = what_to_say(its, told.get(its.id), wishes, came_and_went=True) if its.id in news else None
        if (
            what is None
            and its.closed_at is None
            and wishes.wants_incident(IncidentKind(its.kind), its.detail)
        ):
            what = What.OPEN
        if what is not None:
            say.append((its, what))
    return say, waiting
