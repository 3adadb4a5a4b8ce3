"""Hints through a real broker: they end an agent's wait, and the broker's troubles never matter."""

import importlib
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from workers.keeper import Kept
from workers.lease.queue import Hints

pytestmark = pytest.mark.redis

FOR_EVER_S = 60.0


class Broker:
    """A Redis server of the test's own on a socket in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "s"
        self.url = f"redis+socket://{self.socket}?virtual_host=0"
        self._program = shutil.which("redis-server", path=str(Path(sys.executable).parent)) or shutil.which(
            "redis-server"
        )
        self._kept = None

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", str(self.socket), "--save", "", "--appendonly", "no"]
        self._kept = Kept(
            [self._program, *options],
            cwd=self.socket.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not self.socket.exists():
            assert self._kept.poll() is None
            time.sleep(0.01)

    def stop(self) -> None:
        self._kept.close()
        self.socket.unlink(missing_ok=True)

    def send(self, queue: str, **kwargs: object) -> None:
        celery = importlib.import_module("celery").Celery(broker=self.url)
        with celery.connection_for_write() as connection:
            celery.send_task(
                "ratchet.hint", kwargs=kwargs, queue=queue, connection=connection, ignore_result=True
            )

    def send_text(self, queue: str, text: str) -> None:
        kombu = importlib.import_module("kombu")
        with kombu.Connection(self.url) as connection, connection.SimpleQueue(queue) as simple:
            simple.put(text, serializer="raw" if text.startswith("raw") else "json")


@pytest.fixture
def broker(tmp_path_factory):
    pytest.importorskip("celery")
    folder = Path(os.path.realpath(tmp_path_factory.mktemp("b")))
    found = Broker(folder)
    if found._program is None:
        pytest.skip("no redis-server")
    found.start()
    yield found
    found.stop()


def waits(hints: Hints, timeout_s: float) -> float:
    """Return how long a wait took [s]."""
    start = time.monotonic()
    hints.wait(timeout_s)
    return time.monotonic() - start


def later(action, *arguments, **keywords):
    thread = threading.Timer(0.3, action, arguments, keywords)
    thread.start()
    return thread


def test_a_hint_for_the_devices_class_ends_the_wait(broker):
    with Hints(broker.url, ["sim-test"]) as hints:
        sender = later(broker.send, "hints.sim-test", v=1, job_id=17)
        assert waits(hints, FOR_EVER_S) < FOR_EVER_S
        sender.join()


def test_a_hint_sent_before_the_agent_listened_is_not_lost(broker):
    broker.send("hints.sim-test", v=1, job_id=17)
    with Hints(broker.url, ["sim-test"]) as hints:
        assert waits(hints, FOR_EVER_S) < FOR_EVER_S


def test_messages_that_are_no_hints_are_dropped_and_later_hints_are_heard(broker):
    broker.send("hints.sim-test", v=99, job_id=1)
    broker.send_text("hints.sim-test", "hello")
    broker.send_text("hints.sim-test", "raw bytes")
    broker.send("hints.sim-test", v=1, job_id=17)
    with Hints(broker.url, ["sim-test"]) as hints:
        assert waits(hints, FOR_EVER_S) < FOR_EVER_S


def test_hints_for_other_classes_are_left_for_their_agents(broker):
    broker.send("hints.other", v=1, job_id=17)
    with Hints(broker.url, ["sim-test"]) as hints:
        assert waits(hints, 1.5) >= 1.5
    with Hints(broker.url, ["other"]) as hints:
        assert waits(hints, FOR_EVER_S) < FOR_EVER_S


def test_a_broker_that_comes_back_is_heard_again(broker):
    with Hints(broker.url, ["sim-test"]) as hints:
        hints.wait(0.5)
        broker.stop()
        assert waits(hints, 0.5) >= 0.5
        broker.start()
        broker.send("hints.sim-test", v=1, job_id=17)
        assert waits(hints, FOR_EVER_S) < FOR_EVER_S


def test_a_broker_that_is_not_there_only_makes_the_wait_run_its_time(tmp_path):
    pytest.importorskip("celery")
    with Hints(f"redis+socket://{tmp_path}/none?virtual_host=0", ["sim-test"]) as hints:
        assert 0.5 <= waits(hints, 0.5) < FOR_EVER_S
