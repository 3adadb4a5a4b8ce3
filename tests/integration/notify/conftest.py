"""Somebody who is told of alerts, receivers that remember, and the tasks done as their messages come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.notifications import NotifierKind, Wishes
from app.integrations.queue import _TASK_OF_TOPIC
from app.services.access import Principal, Scope
from app.services.notify.manage_notifiers import Added, add_notifier, change_notifier
from app.services.notify.read_notifiers import NotifierFacts, read_notifiers
from app.services.notify.wanting import find_waiting
from app.services.relay_outbox import relay_outbox
from app.services.retention.chore import prune_for_a_while
from app.store.repositories import projects
from app.store.tables import Alert, AlertCheck, AlertLog, Check, Commit
from app.tasks.forge import TASKS
from app.wiring import Service
from tests.factories.receivers import Postbox, Receiver
from tests.integration.alerts.conftest import team

__all__ = ["Crowd", "team"]

PROJECT = "acme/vision"
ADMIN = Principal("ada", frozenset({Scope.ADMIN}))


@dataclass
class Crowd:
    """A service with a project, and who is told of its alerts."""

    service: Service
    hook: Receiver
    post: Postbox
    shas: int = 0
    sent: list[str] = field(default_factory=list)

    def add(
        self, name: str = "ops", kind: str = "webhook", wishes: Wishes | None = None, **address: str
    ) -> Added:
        """Add a notifier; by default one that posts to `hook`, or mails to ops."""
        default = {"email": {"to": "ops@example.org"}, "github_issue": {}}.get(kind, {"url": self.hook.url})
        with self.service.database.session() as session:
            projects.project(session, PROJECT)
            return add_notifier(
                session,
                self.service.settings,
                ADMIN,
                PROJECT,
                name=name,
                kind=NotifierKind(kind),
                address=address or default,
                wishes=wishes or Wishes(),
            )

    def change(self, wishes: Wishes, name: str = "ops") -> None:
        """Have a notifier want something else."""
        with self.service.database.session() as session:
            change_notifier(session, self.service.settings, ADMIN, PROJECT, name, wishes=wishes)

    def facts(self, name: str = "ops") -> NotifierFacts:
        with self.service.database.session() as session:
            found = read_notifiers(session, ADMIN, PROJECT).notifiers
        return next(its for its in found if its.name == name)

    def alert(
        self,
        title: str = "regressed: latency_p50 of resize +36 %",
        n: int = 1,
        between: tuple[str, str] | None = None,
        **fields: Any,
    ) -> list[int]:
        """Have alerts opened, each of one failed check, as a sweep opens them: at once."""
        from app.services.notify.wanting import want_planning

        ids = []
        with self.service.database.session() as session:
            its = projects.project(session, PROJECT)
            for _ in range(n):
                self.shas += 2
                base, head = (
                    projects.commit(session, its.id, sha, subject="Use cubic", author="Grace")
                    for sha in between or (f"{self.shas:040x}", f"{self.shas + 1:040x}")
                )
                alert = Alert(
                    project_id=its.id,
                    branch="main",
                    previous_commit_id=base.id,
                    commit_id=head.id,
                    state="new",
                    **fields,
                )
                session.add(alert)
                session.flush()
                check = _check(session, its.id, base, head, title)
                session.add(AlertCheck(check_id=check.id, alert_id=alert.id))
                session.add(
                    AlertLog(alert_id=alert.id, by="ratchet", what="opened", detail={"check": check.id})
                )
                ids.append(alert.id)
            want_planning(session, its.id)
        return ids

    def settle(self, *, hurry: bool = True, sweep: bool = False) -> None:
        """Have done all that is due; in a hurry also what was put off."""
        for _ in range(60):
            if hurry:
                self.hurry()
            if sweep:
                self.sweep()
            if not self.step():
                return
        raise AssertionError("it never comes to rest")

    def sweep(self) -> None:
        from datetime import timedelta

        with self.service.database.session() as session:
            find_waiting(session, older_than=timedelta(0))

    def hurry(self) -> None:
        """Have it be later: windows, rests and waits are over."""
        with self.service.database.session() as session:
            for update in (
                "update outbox set available_at = clock_timestamp() where sent_at is null",
                "update notifier set due_at = clock_timestamp() where due_at < clock_timestamp() + interval '2 min'",
                "update notifier set busy_until = null where busy_until < clock_timestamp() + interval '8 h'",
                "update notification set not_before = clock_timestamp() where state = 'waiting'",
                "update repository set busy_until = null",
                "update target set not_before = clock_timestamp() where error is null",
            ):
                session.execute(text(update))

    def step(self) -> bool:
        """Do what the outbox says just now; return whether there was anything."""
        found: list[tuple[str, dict[str, Any]]] = []

        class Queue:
            def send(self, topic: str, payload: dict[str, Any]) -> None:
                found.append((topic, payload))

        with self.service.database.session() as session:
            relay_outbox(session, Queue())
        for topic, payload in found:
            self.sent.append(topic)
            if _TASK_OF_TOPIC.get(topic) in TASKS:
                TASKS[_TASK_OF_TOPIC[topic]](self.service, **payload)
        return bool(found)

    def prune(self) -> int:
        """Have all messages be older than they are kept, and return how many of them go."""
        with self.service.database.session() as session:
            session.execute(text("update notification set created_at = created_at - interval '91 days'"))
        gone = prune_for_a_while(self.service.database, self.service.settings)
        return {its.policy.name: its.rows for its in gone}.get("messages", 0)

    def move(self, alert_id: int, state: str, by: str = "ada", comment: str = "") -> None:
        """Have somebody answer an alert."""
        from app.domain.alerts import AlertState
        from app.services.alerts.answer_alerts import Answer, answer_alerts

        with self.service.database.session() as session:
            who = Principal(by, frozenset({Scope.ADMIN}))
            answer_alerts(session, who, [alert_id], Answer(AlertState(state), comment=comment))


def _check(session: Any, project_id: int, base: Commit, head: Commit, title: str) -> Check:
    from uuid import uuid4

    from app.store.repositories import clock
    from app.store.tables import Request

    request = Request(project_id=project_id, key=uuid4().hex, trigger="push")
    session.add(request)
    session.flush()
    check = Check(
        project_id=project_id,
        request_id=request.id,
        base_commit_id=base.id,
        head_commit_id=head.id,
        settings={},
        alpha=0.05,
        state="complete",
        conclusion="regressed",
        title=title,
        concluded_at=clock.now(session),
    )
    session.add(check)
    session.flush()
    return check


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with Receiver().serving() as its:
        yield its


@pytest.fixture
def post() -> Iterator[Postbox]:
    with Postbox().serving() as its:
        yield its


@pytest.fixture
def crowd(service: Service, hook: Receiver, post: Postbox) -> Crowd:
    settings = service.settings
    settings.notify_private = True
    settings.smtp_url = post.url
    settings.mail_from = "Ratchet <ratchet@example.org>"
    return Crowd(service, hook, post)
