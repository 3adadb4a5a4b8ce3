"""The Celery app, and how the service sends by name: it never imports `tasks`.

A message carries an id and nothing else. Sending never waits for a dead broker, and a lost message is found
again in the database, so neither the result backend nor acknowledgement after work is needed. For the same reason a
message that would only wait behind others like it is not sent: a queue that nobody listens to stays short.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from app.domain.errors import NotFoundError

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)

QUEUE = "ratchet"
"""Queue of the service's own tasks."""

RELAY = "ratchet.relay"
SWEEP = "ratchet.sweep"
PRUNE = "ratchet.prune"
BACKUP = "ratchet.backup"
CONCLUDE = "ratchet.conclude"
RENDER = "ratchet.render"
EXAMINE = "ratchet.examine"
ACTIVITY = "ratchet.activity"
DELIVERY = "ratchet.delivery"
FOLLOW = "ratchet.follow"
MEASURE = "ratchet.measure"
OBEY = "ratchet.obey"
RECONCILE = "ratchet.reconcile"
WEEKLY = "ratchet.weekly"
BRANCH = "ratchet.branch"
CHANGE = "ratchet.change"
SCHEDULE = "ratchet.schedule"
SHOW = "ratchet.show"
TELL = "ratchet.tell"
GROUP = "ratchet.group"
HINT = "ratchet.hint"
NOTIFY_PLAN = "ratchet.notify.plan"
NOTIFY_COMPOSE = "ratchet.notify.compose"
NOTIFY_SEND = "ratchet.notify.send"

MOST_HINTS = 8
"""Hints that may wait for one device class. One wakes an agent, which claims for as long as there is work; this many
agents wake at once, and any others find what is left when they ask by themselves."""

MOST_TICKS = 100
"""Messages that may wait for `ratchet tasks` before ticks are left out: each only says `look`, and one look sees
everything. What carries an id is always sent."""

PAUSE_S = 0.1
"""Between two relays of one process: what a burst of posts asks for is asked once."""

LONGEST_END_S = 5.0
"""How long the end of a process waits for a broker that hangs."""

BACKUP_LOOK_S = 300.0
"""How often is looked whether the day's backup is due: one that was missed is made up for [s]."""

_TASK_OF_TOPIC = {
    "check.conclude": CONCLUDE,
    "check.render": RENDER,
    "series.examine": EXAMINE,
    "run.activity": ACTIVITY,
    "forge.delivery": DELIVERY,
    "pull.follow": FOLLOW,
    "branch.follow": BRANCH,
    "change.follow": CHANGE,
    "schedule.follow": SCHEDULE,
    "group.follow": GROUP,
    "measure.follow": MEASURE,
    "pull.obey": OBEY,
    "check.show": SHOW,
    "forge.tell": TELL,
    "notify.plan": NOTIFY_PLAN,
    "notify.compose": NOTIFY_COMPOSE,
    "notify.send": NOTIFY_SEND,
}
_MESSAGE_VERSION = 1

TOPICS = (*_TASK_OF_TOPIC, "job.hint")
"""What messages of the outbox may be about."""


def make_celery(redis_url: str) -> Celery:
    """Return the Celery app on this broker, with the settings that keep a message a hint."""
    from celery import Celery  # takes a quarter of a second, which the api does not wait for

    app = Celery("ratchet", broker=redis_url)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        result_backend=None,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        task_acks_late=False,
        task_default_queue=QUEUE,
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
            "health_check_interval": 25,
            "unacked_restore_interval": 1,
            "unacked_restore_throttle": 1,
            "visibility_timeout": 60,
            # One try: the outbox keeps what cannot be sent, and its rows are locked meanwhile.
            "max_retries": 0,
            "interval_start": 0,
            "interval_step": 0,
            "interval_max": 0,
        },
        worker_hijack_root_logger=False,
        timezone="UTC",
    )
    return app


def timetable(
    relay_s: float, sweep_s: float, prune_s: float, reconcile_s: float
) -> dict[str, dict[str, Any]]:
    """Return Celery's schedule: how often [s] it reads the outbox, sweeps leases, prunes files, asks the forge.

    Whether a weekly report is due is asked as often as what may be pruned.
    """
    every = {
        RELAY: relay_s,
        SWEEP: sweep_s,
        PRUNE: prune_s,
        WEEKLY: prune_s,
        RECONCILE: reconcile_s,
        BACKUP: BACKUP_LOOK_S,
    }
    return {task: _every(task, seconds) for task, seconds in every.items()}


def _every(task: str, seconds: float) -> dict[str, Any]:
    """Return an entry of the timetable; a tick that nobody took before the next but one is dropped."""
    return {"task": task, "schedule": seconds, "options": {"queue": QUEUE, "expires": 2 * seconds}}


def waiting(celery: Celery, queue: str) -> int:
    """Return how many messages wait in a queue. Raises what the broker raises."""
    with celery.pool.acquire(block=True) as connection:
        found: int = connection.default_channel.queue_declare(queue=queue, durable=True).message_count
    return found


def hint_queue(device_class: str) -> str:
    """Return the name of the queue that agents of this device class listen on."""
    return f"hints.{device_class}"


class Relay:
    """Relays the outbox in a thread beside whoever asks for it: a broker that hangs delays no request.

    It is relayed once for all who asked since it last began, and again when something is due that was put off; whoever
    asks while nobody else has lately waits for nothing, and a burst is relayed a few times a second.
    """

    def __init__(self, relay: Callable[[], float | None]) -> None:
        """Take what relays, and says after how long something is due next [s], None where that is for others to see."""
        self._relay = relay
        self._changed = threading.Condition()
        self._wanted_at: float | None = None
        self._is_closing = False
        self._thread: threading.Thread | None = None

    def soon(self, after_s: float = 0) -> None:
        """Have it relayed soon: as soon as what was written is due, which is after this time [s]."""
        at = time.monotonic() + after_s
        with self._changed:
            if self._wanted_at is None or at < self._wanted_at:
                self._wanted_at = at
                self._changed.notify()
            if self._thread is None and not self._is_closing:
                self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Begin no more, and wait for what has begun, but not for long."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(LONGEST_END_S)

    def _run(self) -> None:
        while self._is_wanted():
            due_s = self._try()
            if due_s is not None:
                self.soon(due_s)
            with self._changed:
                self._changed.wait_for(lambda: self._is_closing, PAUSE_S)

    def _is_wanted(self) -> bool:
        """Wait until it is to be relayed; False where there is nothing more to wait for."""
        with self._changed:
            while not self._is_closing:
                left_s = None if self._wanted_at is None else self._wanted_at - time.monotonic()
                if left_s is not None and left_s <= 0:
                    self._wanted_at = None
                    return True
                self._changed.wait(left_s)
        return False

    def _try(self) -> float | None:
        try:
            return self._relay()
        except Exception as error:
            # Whatever the broker or the database raises: the outbox keeps what was to be sent, and the clock comes by.
            log.info("the outbox was not relayed: %r", error)
            return None


class CeleryQueue:
    """Sends outbox topics as Celery messages: tasks of our own, and hints to the agents of a device class."""

    def __init__(self, celery: Celery) -> None:
        self.celery = celery

    def send(self, topic: str, payload: dict[str, Any]) -> None:
        """Send one message; a hint that others wait before is as good as sent.

        Raises NotFoundError for an unknown topic, else what the broker raises.
        """
        if topic == "job.hint":
            self._hint(payload["job_id"], hint_queue(payload["device_class"]))
        elif topic in _TASK_OF_TOPIC:
            self._publish(_TASK_OF_TOPIC[topic], payload, queue=QUEUE)
        else:
            raise NotFoundError(f"this release has no task for the topic {topic!r}")

    def _hint(self, job_id: int, queue: str) -> None:
        """Wake an agent, unless enough hints wait for whoever listens next."""
        if waiting(self.celery, queue) < MOST_HINTS:
            self._publish(HINT, {"v": _MESSAGE_VERSION, "job_id": job_id}, queue=queue)

    def _publish(self, task: str, kwargs: dict[str, Any], *, queue: str) -> None:
        self.celery.send_task(task, kwargs=kwargs, queue=queue, retry=False, ignore_result=True)
