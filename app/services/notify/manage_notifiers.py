"""Who is told of a project's alerts: added, changed, paused, tried and removed by its maintainers.

What is secret in an address comes in and is not given out again: neither to pages, nor to the log of who did what.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.domain.errors import ConflictError, DataError, NotFoundError
from app.domain.notifications import (
    NAME,
    Message,
    MessageKind,
    NotifierKind,
    Wishes,
    kept_wishes,
)
from app.integrations.notifiers import CHANNELS
from app.services.access import Principal, Scope
from app.services.notify.due import due_at
from app.services.notify.message_rows import add_notification, list_url
from app.services.notify.reach import reach_of
from app.services.notify.seal import seal, unseal
from app.services.notify.tell_issue import repository_of, test_issue
from app.services.notify.wanting import compose_now, send_now
from app.services.visibility import visible_project
from app.store.repositories import access, clock, notifications, restorations
from app.store.tables import Notification, Notifier, Project

MOST = 50
"""Notifiers of one project."""


@dataclass(frozen=True)
class Added:
    """A new notifier, and what of its address was made here: shown this once."""

    name: str
    made: dict[str, str]


def managed_project(session: Session, principal: Principal, name: str) -> Project:
    """Return a project whose notifiers the principal may change. Raises NotFoundError and AccessError."""
    project = visible_project(session, principal, name)
    principal.require(Scope.NOTIFIERS_WRITE, project.id)
    return project


def add_notifier(
    session: Session,
    settings: ServiceSettings,
    principal: Principal,
    project: str,
    *,
    name: str,
    kind: NotifierKind,
    address: Mapping[str, str],
    wishes: Wishes,
) -> Added:
    """Add somebody who is told from now on.

    Raises DataError for what cannot be, ConflictError for a name that is taken, and what `managed_project` raises.
    """
    its = managed_project(session, principal, project)
    if not re.fullmatch(NAME, name):
        raise DataError("a name has up to 60 letters, digits, dots, dashes and underscores")
    if notifications.named(session, its.id, name) is not None:
        raise ConflictError(f"there is a notifier {name!r} already")
    if len(notifications.of_project(session, its.id)) >= MOST:
        raise DataError(f"a project has {MOST} notifiers at the most")
    _require_possible(session, its, kind, wishes)
    channel = CHANNELS[kind]
    given = {field: text.strip() for field, text in address.items() if text.strip()}
    _refuse_unknown(given, kind)
    made = {field: value for field, value in channel.made().items() if field not in given}
    full = channel.checked({**made, **given}, reach_of(settings))
    row = Notifier(
        project_id=its.id,
        name=name,
        kind=kind,
        address=seal(session, settings, full),
        shown=channel.shown(full),
        wishes=asdict(wishes),
        created_by=principal.name,
    )
    session.add(row)
    session.flush()
    _schedule(session, row, wishes)
    access.audit(
        session, principal.name, "notifier.added", name, project=its.name, kind=kind, shown=row.shown
    )
    return Added(name, made)


def change_notifier(
    session: Session,
    settings: ServiceSettings,
    principal: Principal,
    project: str,
    name: str,
    *,
    address: Mapping[str, str] | None = None,
    wishes: Wishes | None = None,
) -> None:
    """Change where a notifier is, or what it wants; parts of an address that are empty or left out stay.

    Raises DataError for what cannot be, NotFoundError, and what `managed_project` raises.
    """
    its, row = _of(session, principal, project, name)
    kind = NotifierKind(row.kind)
    given = {field: text.strip() for field, text in (address or {}).items() if text.strip()}
    if given:
        _refuse_unknown(given, kind)
        known = unseal(session, settings, row.address) if set(given) != _fields(kind) else {}
        full = CHANNELS[kind].checked({**known, **given}, reach_of(settings))
        row.address, row.shown = seal(session, settings, full), CHANNELS[kind].shown(full)
        _try_now(session, row)
    if wishes is not None:
        _require_possible(session, its, kind, wishes)
        row.wishes = asdict(wishes)
        _schedule(session, row, wishes)
    session.flush()
    changed = sorted([*(["address"] if given else []), *(["wishes"] if wishes is not None else [])])
    access.audit(
        session, principal.name, "notifier.changed", name, project=its.name, changed=changed, shown=row.shown
    )


def _fields(kind: NotifierKind) -> set[str]:
    return {field.name for field in CHANNELS[kind].fields}


def _refuse_unknown(given: Mapping[str, str], kind: NotifierKind) -> None:
    unknown = sorted(set(given) - _fields(kind))
    if unknown:
        right = ", ".join(sorted(_fields(kind))) or "nothing"
        raise DataError(f"the address of {CHANNELS[kind].title} has no {unknown[0][:40]!r}; it has {right}")


def _require_possible(session: Session, project: Project, kind: NotifierKind, wishes: Wishes) -> None:
    if wishes.reports and not CHANNELS[kind].takes_report:
        raise DataError(f"{CHANNELS[kind].title} takes no reports")
    if kind is NotifierKind.GITHUB_ISSUE and repository_of(session, project.id) is None:
        raise DataError("the project has no repository on GitHub that this service is connected with")


def _schedule(session: Session, row: Notifier, wishes: Wishes) -> None:
    """Have what waits told when that is wanted now."""
    now = clock.now(session)
    row.due_at = due_at(session, row, wishes, now)
    session.flush()
    if row.due_at == now and row.paused_at is None:
        compose_now(session, row.id)


def pause_notifier(session: Session, principal: Principal, project: str, name: str) -> None:
    """Say nothing to a notifier until it is resumed; what happens meanwhile is kept for then."""
    its, row = _of(session, principal, project, name)
    if row.paused_at is None:
        row.paused_at, row.paused_because = clock.now(session), f"by {principal.name}"
        access.audit(session, principal.name, "notifier.paused", name, project=its.name)


def resume_notifier(session: Session, principal: Principal, project: str, name: str) -> None:
    """Go on telling a notifier, of what happened meanwhile too: in one message."""
    its, row = _of(session, principal, project, name)
    if row.paused_at is None:
        return
    row.paused_at, row.paused_because = None, ""
    _schedule(session, row, kept_wishes(row.wishes))
    _try_now(session, row)
    access.audit(session, principal.name, "notifier.resumed", name, project=its.name)


def _try_now(session: Session, row: Notifier) -> None:
    """Have what waits sent, whatever it waits for; one that is on its way stays with whoever has it."""
    waiting = notifications.next_message(session, row.id)
    if waiting is not None:
        waiting.not_before, waiting.gone = clock.now(session), 0
    session.flush()
    send_now(session, row.id)


def remove_notifier(session: Session, principal: Principal, project: str, name: str) -> None:
    """Remove a notifier with its address and all that it was told."""
    its, row = _of(session, principal, project, name)
    notifications.remove(session, row.id)
    access.audit(
        session, principal.name, "notifier.removed", name, project=its.name, kind=row.kind, shown=row.shown
    )


def send_test(
    session: Session, settings: ServiceSettings, principal: Principal, project: str, name: str
) -> str:
    """Have a message sent that says that messages arrive; return its key. It is tried once.

    Raises ConflictError for one that is paused, and while a restored service observes.
    """
    if restorations.is_observing(session):
        raise ConflictError(
            "the service was restored and tells nobody until `ratchet resume`", code="observing"
        )
    its, row = _of(session, principal, project, name)
    if row.paused_at is not None:
        raise ConflictError(f"{name} is paused: resume it first")
    message = Message(
        kind=MessageKind.TEST,
        project=its.name,
        title=f"{its.name}: a test of {name}",
        url=list_url(settings, its.name),
        at=clock.now(session).isoformat(),
        text=f"{principal.name} asked for this message: notifications of {its.name} arrive here.",
    )
    if row.kind == NotifierKind.GITHUB_ISSUE:
        sent: Notification = test_issue(session, settings, row, message)
    else:
        sent = add_notification(session, row, message)
        send_now(session, row.id)
    access.audit(session, principal.name, "notifier.tested", name, project=its.name)
    return sent.key


def _of(session: Session, principal: Principal, project: str, name: str) -> tuple[Project, Notifier]:
    its = managed_project(session, principal, project)
    row = notifications.named(session, its.id, name)
    if row is None:
        raise NotFoundError(f"{its.name} has no notifier {name!r}")
    return its, row
