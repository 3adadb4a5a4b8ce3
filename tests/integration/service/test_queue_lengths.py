"""Queues that nobody listens to, in a real Redis: they stay short, and whoever comes to listen is still woken."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from celery.beat import ScheduleEntry

from app.embedded import EmbeddedRedis
from app.integrations.clock import Clock
from app.integrations.queue import (
    MOST_HINTS,
    MOST_TICKS,
    PRUNE,
    QUEUE,
    RELAY,
    SWEEP,
    CeleryQueue,
    hint_queue,
    make_celery,
    timetable,
    waiting,
)
from workers.lease.queue import Hints

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedRedis]:
    folder = Path(tempfile.mkdtemp(prefix="ratchet-", dir="/tmp"))  # a socket's path has to be short
    folder.chmod(0o755)
    with EmbeddedRedis(folder / "redis") as running:
        yield running
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def celery(server: EmbeddedRedis) -> Iterator[Celery]:
    its_celery = make_celery(server.url())
    with its_celery.connection_for_write() as connection:
        connection.default_channel.client.flushall()
    yield its_celery
    its_celery.close()


@pytest.fixture
def queue(celery: Celery) -> CeleryQueue:
    return CeleryQueue(celery)


def hint(queue: CeleryQueue, job_id: int, device_class: str = "gone") -> None:
    queue.send("job.hint", {"job_id": job_id, "device_class": device_class})


def test_hints_that_nobody_takes_are_few(queue: CeleryQueue) -> None:
    for job_id in range(5 * MOST_HINTS):
        hint(queue, job_id)
    assert waiting(queue.celery, hint_queue("gone")) == MOST_HINTS


def test_full_queue_of_one_class_keeps_no_hint_from_another(queue: CeleryQueue) -> None:
    for job_id in range(2 * MOST_HINTS):
        hint(queue, job_id)
    hint(queue, 1, "live")
    assert waiting(queue.celery, hint_queue("live")) == 1


def test_agent_that_comes_to_listen_is_woken_and_hints_go_out_again(
    queue: CeleryQueue, server: EmbeddedRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent, publish = list[object](), queue._publish

    def recorded(task: str, message: dict[str, Any], **options: Any) -> None:
        sent.append(message["job_id"])
        publish(task, message, **options)

    monkeypatch.setattr(queue, "_publish", recorded)
    for job_id in range(2 * MOST_HINTS):
        hint(queue, job_id)
    assert sent == list(range(MOST_HINTS))
    with Hints(server.url(), ["gone"]) as hints:
        while waiting(queue.celery, hint_queue("gone")):
            hints.wait(1.0)
        hint(queue, 99)
    assert sent[MOST_HINTS:] == [99]


def test_ticks_that_nobody_takes_are_bounded_and_what_carries_an_id_is_not(
    celery: Celery, queue: CeleryQueue
) -> None:
    celery.conf.beat_schedule = timetable(1.0, 1.0, 1.0, 1.0)
    clock = Clock(celery, schedule={})
    entries: list[ScheduleEntry] = [clock.schedule[name] for name in (RELAY, SWEEP, PRUNE)]
    for _ in range(MOST_TICKS):
        for entry in entries:
            clock.apply_async(entry, advance=False)
    assert waiting(celery, QUEUE) == MOST_TICKS
    queue.send("check.conclude", {"check_id": 7})
    assert waiting(celery, QUEUE) == MOST_TICKS + 1


def test_queue_of_a_broker_that_was_restarted_is_asked_again(
    queue: CeleryQueue, server: EmbeddedRedis
) -> None:
    hint(queue, 1)
    server.stop()
    server.start()
    sent = False
    while not sent:
        sent = succeeds(lambda: hint(queue, 2))
    assert waiting(queue.celery, hint_queue("gone")) == 2


def succeeds(send: Callable[[], None]) -> bool:
    """Send as the relay does: what the broker raises means `later`."""
    try:
        send()
    except Exception:
        return False
    return True
