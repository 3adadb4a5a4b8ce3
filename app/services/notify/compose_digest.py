"""What happened since a notifier's last digest: new, worse, settled, and what is still open with its age and owner.

Incidents of machines have parts of their own in it.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.alerts import OPEN_STATES
from app.domain.notifications import (
    Message,
    MessageKind,
    NotifierKind,
    What,
    Wishes,
    next_digest,
)
from app.reports.notifications.titles import digest_title
from app.services.notify import machine_items
from app.services.notify.alert_items import Standing, items, standings
from app.services.notify.compose_machines import digest_of_machines
from app.services.notify.machine_issues import tell_machine_issues
from app.services.notify.machine_rows import note_told_machines
from app.services.notify.message_rows import Say, add_notification, list_url, note_told
from app.services.notify.tell_issue import tell_issues
from app.services.notify.what_to_say import what_to_say
from app.store.repositories import alerts, incidents, notifications
from app.store.tables import Notifier

MOST_OF_A_KIND = 15
"""Alerts, and incidents, that a digest names of what is new, worse, settled and still open each."""

MOST_OPEN = 2_000


def compose_digest(
    session: Session, settings: ServiceSettings, notifier: Notifier, wishes: Wishes, now: datetime
) -> bool:
    """Make the digest that is due; return whether there was anything to say. The caller has locked the notifier."""
    since = notifier.digest_from
    say, told_ids = _say(session, notifier, wishes)
    machines, machine_ids = digest_of_machines(session, notifier, wishes)
    notifier.digest_from, notifier.due_at = now, next_digest(wishes, now) if wishes.about else None
    news = [its for its in say if its[1] is not What.OPEN]
    machine_news = [its for its in machines if its[1] is not What.OPEN]
    known = notifications.told(session, notifier.id, [its.id for its, _ in say])
    known_machines = incidents.told(session, notifier.id, [its.id for its, _ in machines])
    notifications.drop_news(session, notifier.id, told_ids)
    incidents.drop_news(session, notifier.id, machine_ids)
    if not news and not machine_news and not (wishes.empty_digests and wishes.about):
        session.flush()
        return False
    if notifier.kind == NotifierKind.GITHUB_ISSUE:
        tell_issues(session, settings, notifier, news, known, now)
        tell_machine_issues(session, settings, notifier, machine_news, known_machines, now)
    else:
        message = _message(session, settings, notifier, say, machines, since, now)
        row = add_notification(session, notifier, message)
        note_told(session, notifier, say, known, row)
        note_told_machines(session, notifier, machines, known_machines, row)
    return True


def _say(
    session: Session, notifier: Notifier, wishes: Wishes
) -> tuple[list[tuple[Standing, What]], list[int]]:
    """Return what is to be said, and the alerts that were news."""
    waiting = notifications.news_of(session, notifier.id)
    open_now = [
        row.alert.id
        for row in alerts.listed(
            session,
            project_ids=[notifier.project_id],
            states=OPEN_STATES,
            owner=None,
            before=None,
            limit=MOST_OPEN,
        )
    ]
    known = standings(session, sorted({*waiting, *open_now}))
    told = notifications.told(session, notifier.id, list(known))
    news = set(waiting)
    say = []
    for its in known.values():
        what = what_to_say(its, told.get(its.id), wishes, came_and_went=True) if its.id in news else None
        if what is None and not its.is_closed and its.concerns(wishes):
            what = What.OPEN
        if what is not None:
            say.append((its, what))
    return say, waiting


def _message(
    session: Session,
    settings: ServiceSettings,
    notifier: Notifier,
    say: Say,
    machines: machine_items.Say,
    since: datetime,
    now: datetime,
) -> Message:
    project = notifications.project_of(session, notifier).name
    counts = dict(Counter(str(what) for _, what in say))
    named = [its for what in What for its in _largest(say, what)]
    of_machines = [
        its for what in What for its in [one for one in machines if one[1] is what][:MOST_OF_A_KIND]
    ]
    machine_counts = machine_items.counted(machines)
    return Message(
        kind=MessageKind.DIGEST,
        project=project,
        title=digest_title(project, counts, machine_counts),
        url=list_url(settings, project),
        at=now.isoformat(),
        items=items(session, settings, named),
        counts=counts,
        since=since.isoformat(),
        machines=machine_items.machine_items(session, settings, notifier, of_machines),
        machine_counts=machine_counts,
    )


def _largest(say: Say, what: What) -> list[tuple[Standing, What]]:
    of_kind = [its for its in say if its[1] is what]
    return sorted(of_kind, key=lambda its: (-its[0].level, its[0].id))[:MOST_OF_A_KIND]
