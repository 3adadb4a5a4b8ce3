"""The outbox as the process relays it that wrote to it: beside its requests, once for all that asked meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from app.config import ServiceSettings
from app.store.repositories import outbox
from app.wiring import Service

pytestmark = pytest.mark.postgres


class HeldQueue:
    """A broker that takes a message when it is let to."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.asked = threading.Event()
        self.let = threading.Event()

    def send(self, topic: str, payload: dict[str, Any]) -> None:
        self.asked.set()
        assert self.let.wait(30)
        self.sent.append(payload["check_id"])


@pytest.fixture
def queue() -> HeldQueue:
    return HeldQueue()


@pytest.fixture
def relaying(service: Service, settings: ServiceSettings, queue: HeldQueue) -> Iterator[Service]:
    """A service that relays, on the database of `service`, which is wiped afterwards."""
    its_service = Service(settings)
    its_service.__dict__["queue"] = queue
    yield its_service
    queue.let.set()
    its_service.close()


def write(service: Service, *check_ids: int) -> None:
    with service.database.session() as session:
        for check_id in check_ids:
            outbox.put(session, "check.conclude", f"check.conclude/{check_id}", {"check_id": check_id})


def unsent(service: Service) -> int:
    with service.database.session() as session:
        found: int = session.execute(text("select count(*) from outbox where sent_at is null")).scalar_one()
    return found


def test_what_was_written_is_sent_beside(relaying: Service, queue: HeldQueue) -> None:
    write(relaying, *range(50))
    relaying.relay_soon()
    assert queue.asked.wait(30)
    assert unsent(relaying) == 50
    queue.let.set()
    relaying.close()
    assert sorted(queue.sent) == list(range(50))


def test_what_is_written_while_others_are_sent_is_sent_too(relaying: Service, queue: HeldQueue) -> None:
    write(relaying, 1)
    relaying.relay_soon()
    assert queue.asked.wait(30)
    write(relaying, 2)
    relaying.relay_soon()
    queue.let.set()
    while unsent(relaying):
        queue.let.wait(0.01)
    assert queue.sent == [1, 2]


def test_a_service_that_has_ended_relays_no_more(relaying: Service, queue: HeldQueue) -> None:
    relaying.relay_soon()
    relaying.close()
    write(relaying, 3)
    relaying.relay_soon()
    assert unsent(relaying) == 1
    assert queue.sent == []
