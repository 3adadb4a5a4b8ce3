"""A project's notifiers as its maintainers see them: what each wants, what it was told last, and what went wrong."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from app.domain.errors import NotFoundError
from app.domain.notifications import MessageKind, NotifierKind, SendState, Wishes, kept_wishes
from app.integrations.notifiers import CHANNELS
from app.services.access import Principal
from app.services.notify.manage_notifiers import managed_project
from app.services.notify.tell_issue import issue_key
from app.store.repositories import clock, notifications
from app.store.tables import Notifier, Target

LATEST = 10


@dataclass(frozen=True)
class DeliveryFacts:
    """One message and what became of it; `next_at` is when it is tried again."""

    key: str
    kind: MessageKind
    title: str
    state: SendState
    attempts: int
    error: str
    created_at: datetime
    sent_at: datetime | None
    next_at: datetime | None


@dataclass(frozen=True)
class NotifierFacts:
    """A notifier; `shown` is what of its address people see."""

    name: str
    kind: NotifierKind
    kind_title: str
    shown: str
    wishes: Wishes
    is_paused: bool
    paused_because: str
    due_at: datetime | None
    waiting: int
    created_by: str
    created_at: datetime
    deliveries: tuple[DeliveryFacts, ...]

    @property
    def is_failing(self) -> bool:
        """Whether its newest message that was tried has not arrived."""
        tried = next((its for its in self.deliveries if its.attempts or its.error), None)
        return tried is not None and bool(tried.error)


@dataclass(frozen=True)
class ProjectNotifiers:
    """The notifiers of a project, by name."""

    project: str
    notifiers: tuple[NotifierFacts, ...]


def read_notifiers(session: Session, principal: Principal, project: str) -> ProjectNotifiers:
    """Return who is told of a project's alerts. Raises what `managed_project` raises."""
    its = managed_project(session, principal, project)
    return ProjectNotifiers(its.name, _facts(session, list(notifications.of_project(session, its.id))))


def read_notifier(session: Session, principal: Principal, project: str, name: str) -> NotifierFacts:
    """Return one of them. Raises NotFoundError, and what `managed_project` raises."""
    found = read_notifiers(session, principal, project)
    its = next((its for its in found.notifiers if its.name == name), None)
    if its is None:
        raise NotFoundError(f"{found.project} has no notifier {name!r}")
    return its


def _facts(session: Session, rows: list[Notifier]) -> tuple[NotifierFacts, ...]:
    ids = [row.id for row in rows]
    latest = notifications.latest(session, ids, LATEST)
    waiting = notifications.waiting_counts(session, ids)
    issues = notifications.targets(session, [issue_key(row.thread or row.key) for row in latest])
    now = clock.now(session)
    return tuple(
        NotifierFacts(
            name=row.name,
            kind=NotifierKind(row.kind),
            kind_title=CHANNELS[NotifierKind(row.kind)].title,
            shown=row.shown,
            wishes=kept_wishes(row.wishes),
            is_paused=row.paused_at is not None,
            paused_because=row.paused_because,
            due_at=row.due_at,
            waiting=waiting.get(row.id, 0),
            created_by=row.created_by,
            created_at=row.created_at,
            deliveries=tuple(_delivery(its, row, issues, now) for its in latest if its.notifier_id == row.id),
        )
        for row in rows
    )


def _delivery(
    its: notifications.Told, notifier: Notifier, issues: dict[str, Target], now: datetime
) -> DeliveryFacts:
    is_waiting = its.state == SendState.WAITING
    state, error, sent_at, next_at = SendState(its.state), its.error or "", its.sent_at, None
    if is_waiting and notifier.paused_at is None:
        next_at = max(its.not_before, notifier.busy_until or its.not_before, now)
    issue = issues.get(issue_key(its.thread or its.key)) if state is SendState.HANDED else None
    if issue is not None:
        is_told = issue.told_digest == issue.wanted_digest
        state = SendState.SENT if is_told else SendState.HANDED
        error, sent_at = issue.error or "", issue.told_at if is_told else None
        next_at = None if is_told else issue.not_before
    return DeliveryFacts(
        key=its.key,
        kind=MessageKind(its.kind),
        title=its.title,
        state=state,
        attempts=its.attempts,
        error=error,
        created_at=its.created_at,
        sent_at=sent_at,
        next_at=next_at,
    )
