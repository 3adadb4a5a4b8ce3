"""Wake-up calls: the service's hints that a job may be waiting, one Celery queue for each device class.

A message carries a job's number and no work; losing, repeating or forging one can cause an early, empty claim and
nothing else. So whatever goes wrong with the broker is logged and tried again, and messages that are no hints are
dropped. Messages are taken only while the agent is idle: a busy one must not swallow what would wake another.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import threading
from collections.abc import Iterable
from typing import Any

log = logging.getLogger(__name__)

QUEUE_PREFIX = "hints."
HINT_VERSION = 1
DRAIN_S = 1.0
FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 60.0
BROKER_OPTIONS = {"socket_timeout": 5.0, "socket_connect_timeout": 5.0, "health_check_interval": 25}


def is_available() -> bool:
    """Tell whether the libraries that speak to a broker are installed."""
    return importlib.util.find_spec("kombu") is not None and importlib.util.find_spec("redis") is not None


def is_hint(payload: Any) -> bool:
    """Tell whether a message's body, in Celery's second protocol `[args, kwargs, options]`, is a hint of ours."""
    if not isinstance(payload, list) or len(payload) != 3 or not isinstance(payload[1], dict):
        return False
    job_id = payload[1].get("job_id")
    return payload[1].get("v") == HINT_VERSION and isinstance(job_id, int) and not isinstance(job_id, bool)


class Hints:
    """Listens in a thread of its own; as a context manager for the life of the agent."""

    def __init__(self, broker_url: str, device_classes: Iterable[str]) -> None:
        self._url = broker_url
        self._queues = [QUEUE_PREFIX + name for name in dict.fromkeys(device_classes)]
        self._idle = threading.Event()
        self._hinted = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="hints", daemon=True)

    def wait(self, timeout_s: float) -> None:
        """Return at the next hint, and after `timeout_s` in any case."""
        self._idle.set()
        self._hinted.wait(timeout_s)
        self._idle.clear()
        self._hinted.clear()

    def wake(self) -> None:
        """Make a `wait` in another thread return."""
        self._hinted.set()

    def __enter__(self) -> Hints:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._idle.set()  # the thread may be waiting for it

    def _listen(self) -> None:
        pause_s = FIRST_PAUSE_S
        while not self._closed.is_set():
            try:
                self._consume()
            except Exception as error:  # the edge of the loop: each broker library raises errors of its own
                log.warning("no hints from the broker, polling instead: %s: %s", type(error).__name__, error)
                self._closed.wait(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _consume(self) -> None:
        kombu = importlib.import_module("kombu")  # an optional dependency
        with kombu.Connection(self._url, transport_options=BROKER_OPTIONS) as connection:
            queues = [kombu.Queue(name) for name in self._queues]
            with kombu.Consumer(connection, queues, on_message=self._take, accept=["json"], no_ack=True):
                while self._idle.wait() and not self._closed.is_set():
                    try:
                        connection.drain_events(timeout=DRAIN_S)
                    except TimeoutError:
                        continue

    def _take(self, message: Any) -> None:
        try:
            payload = message.payload
        except Exception as error:  # a message that cannot be decoded may raise anything
            log.info("a message that is no JSON was dropped: %s", error)
            return
        if is_hint(payload):
            self._hinted.set()
        else:
            log.info("a message that is no hint was dropped")
