"""The outbox as the process relays it that wrote to it: beside its requests, once for all that asked meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import text

from app.config import ServiceSettings
from app.integrations import queue as queue_module
from app.integrations.queue import Relay
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


def test_what_was_put_off_is_sent_when_it_is_due(relaying: Service, queue: HeldQueue) -> None:
    queue.let.set()
    with relaying.database.session() as session:
        outbox.put_again(session, "check.conclude", "check.conclude/7", {"check_id": 7}, delay_s=0.3)
    relaying.relay_soon()
    assert queue.asked.wait(30)
    relaying.close()
    assert queue.sent == [7]


def test_what_the_broker_did_not_take_is_left_to_the_clock(relaying: Service) -> None:
    write(relaying, 1)
    with relaying.database.session() as session:
        (message,) = outbox.claim_unsent(session, 1)
        outbox.mark_failed(session, message, "it is away")
    with relaying.database.session() as session:
        assert outbox.next_due_s(session) is None


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


def test_a_burst_is_relayed_at_once_and_then_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue_module, "PAUSE_S", 0.5)
    times: list[float] = []

    def relay() -> None:
        times.append(time.monotonic())

    relaying = Relay(relay)
    while len(times) < 2:
        relaying.soon()
        time.sleep(0.001)
    relaying.close()
    assert times[1] - times[0] >= 0.5


def test_what_is_due_later_is_relayed_then_however_many_ask_meanwhile() -> None:
    times: list[float] = []
    relaying = Relay(lambda: times.append(time.monotonic()))
    begun = time.monotonic()
    while not times and time.monotonic() < begun + 30:
        relaying.soon(0.2)
        time.sleep(0.001)
    assert times[0] >= begun + 0.2
    relaying.close()


def test_what_is_due_now_does_not_wait_for_what_is_due_later() -> None:
    relayed = threading.Event()
    relaying = Relay(relayed.set)
    relaying.soon(3600)
    relaying.soon()
    assert relayed.wait(30)
    relaying.close()


def test_a_service_that_has_ended_relays_no_more(relaying: Service, queue: HeldQueue) -> None:
    relaying.relay_soon()
    relaying.close()
    write(relaying, 3)
    relaying.relay_soon()
    assert unsent(relaying) == 1
    assert queue.sent == []
