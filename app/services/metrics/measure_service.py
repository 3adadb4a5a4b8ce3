"""What a scrape is answered: the database's numbers as they are now, alike from every process, and this one's own.

Where the database does not answer, the process still tells of itself: that is when its errors count.
"""

from __future__ import annotations

import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from app.config import ServiceSettings
from app.domain.alerts import OPEN_STATES
from app.domain.incidents import IncidentKind
from app.domain.jobs import JobState, Outcome
from app.domain.notifications import NotifierKind, SendState
from app.services.metrics import catalogue as its
from app.services.metrics.catalogue import Kind, Metric
from app.services.metrics.counted import BEYOND
from app.services.metrics.recorder import Recorder
from app.store.repositories import metrics
from app.store.repositories.metrics import Rows, Stored
from app.store.session import Database, is_away
from app.store.tables.fleet import HEALTH

OVERDUE_AFTER = timedelta(minutes=5)
"""How long after its time a check counts as stuck."""

BANDS = ((0, "pull_request"), (5, "bisect"), (10, "push"), (20, "nightly"), (30, "bisect"))
"""The highest band of a job that has each name; up to 5 the service asks for itself, to confirm or to calibrate."""

LAST_BAND = "backfill"

NOT_OF_THE_FLEET = "unknown"
"""In place of a device class that no device has ever been of: settings of repositories may name any."""

BEGUN = time.monotonic()
"""When this process began, by its own clock."""

Values = Iterable[tuple[tuple[str, ...], float]]
"""Values of labels, and the number."""


class Scrape:
    """What the numbers of one service are read from."""

    def __init__(
        self,
        database: Database,
        asked: Database,
        settings: ServiceSettings,
        recorder: Recorder,
        version: str,
        topics: Iterable[str],
    ) -> None:
        """Take where numbers are, and the topics that messages of this release may have.

        `database` is the one whose connections are told, `asked` the one that is asked.
        """
        self._database, self._asked, self._settings, self._recorder = database, asked, settings, recorder
        self._version, self._topics = version, sorted(topics)

    def text(self) -> str:
        """Return all numbers in Prometheus' text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Given(list(self._families())))
        return (generate_latest(registry) + generate_latest(self._recorder.registry)).decode()

    def _families(self) -> Iterator[Family]:
        yield from self._of_process()
        try:
            found, offset_s = self._stored()
        except (OperationalError, PoolTimeoutError) as error:
            # One that is up and slow, or whose connections are all taken, is no database that is away.
            yield _family(its.DATABASE_UP, [((), 0 if is_away(error) else 1)])
            return
        yield _family(its.DATABASE_UP, [((), 1)])
        yield _family(its.CLOCK_OFFSET, [((), offset_s)])
        yield _family(its.BUILD_INFO, [((self._version, found.revision), 1)])
        yield from _work(found)
        yield from self._upkeep(found)
        yield from _tallied(found.tallies)

    def _stored(self) -> tuple[Stored, float]:
        """Return what the database tells, and how far this process's clock is before its [s]."""
        with self._asked.session() as session:
            session.connection()  # the time until there is one says nothing of the clock
            before = time.time()
            found = metrics.stored(session, live_within=self._settings.worker_live_for, grace=OVERDUE_AFTER)
            after = time.time()
        # It was read between the two; whatever lies outside of them is the clocks'.
        return found, max(before - found.now, 0.0) + min(after - found.now, 0.0)

    def _of_process(self) -> Iterator[Family]:
        pool = self._database.engine.pool
        if isinstance(pool, QueuePool):
            states = (("in_use", pool.checkedout()), ("idle", pool.checkedin()))
            yield _family(its.DATABASE_CONNECTIONS, _by((), states))
            yield _family(its.DATABASE_LIMIT, [((), self._database.connections_most)])
        folder = next(
            (p for p in (self._settings.data_dir, *self._settings.data_dir.parents) if p.exists()), None
        )
        if folder is not None:
            usage = shutil.disk_usage(folder)
            yield _family(its.DISK_FREE, [((), usage.free)])
            yield _family(its.DISK_SIZE, [((), usage.total)])

    def _upkeep(self, found: Stored) -> Iterator[Family]:
        waiting = {topic: (int(n), float(age), int(failed)) for topic, n, age, failed in found.outbox}
        topics = sorted({*self._topics, *waiting})
        for place, metric in enumerate((its.OUTBOX_DEPTH, its.OUTBOX_OLDEST, its.OUTBOX_FAILURES)):
            yield _family(metric, (((topic,), waiting.get(topic, (0, 0.0, 0))[place]) for topic in topics))
        yield _family(its.OBSERVING, [((), int(found.is_observing))])
        for name, metric in _DONE.items():
            if name in found.done:
                yield _family(metric, [((), found.done[name])])
            elif name == metrics.BACKUP and self._settings.backup_dir:
                # One that never comes about has to be missed as well.
                yield _family(metric, [((), time.monotonic() - BEGUN)])


_DONE = {metrics.SWEEP: its.SWEEP_AGE, metrics.BACKUP: its.BACKUP_AGE, metrics.RETENTION: its.RETENTION}


def _work(found: Stored) -> Iterator[Family]:
    """Yield what is of jobs, the fleet, checks and alerts; a state that nothing is in is told as none."""
    yield _family(its.JOBS, _by(JobState, found.jobs))
    yield _family(its.ATTEMPTS, _by((*Outcome, "open"), found.attempts))
    yield _family(its.DEVICES, _by(HEALTH, found.devices))
    yield _family(its.INCIDENTS_OPEN, _by(IncidentKind, found.incidents))
    yield _family(its.ALERTS_OPEN, _by(OPEN_STATES, found.alerts))
    sent = {(kind, state): int(n) for kind, state, n in found.notifications}
    pairs = [(str(kind), str(state)) for kind in NotifierKind for state in SendState]
    yield _family(its.NOTIFICATIONS, ((pair, sent.get(pair, 0)) for pair in pairs))
    yield _family(its.DEVICES_LIVE, _by((), found.live))
    queue = _queue(found.queue)
    yield _family(its.QUEUE_DEPTH, ((labels, depth) for labels, (depth, _) in queue.items()))
    yield _family(its.QUEUE_OLDEST, ((labels, age) for labels, (_, age) in queue.items()))
    ((live, silent_s),) = found.workers
    yield _family(its.WORKERS_LIVE, [((), live)])
    if silent_s is not None:
        yield _family(its.HEARTBEAT_AGE, [((), silent_s)])
    yield _family(its.CHECKS_OVERDUE, [((), found.overdue)])
    yield _family(its.DELIVERY_LAG, [((), found.lag)])


def _by(known: Iterable[str], rows: Iterable[Sequence[Any]]) -> Values:
    """Return the number of each name; 0 of those that are known and not told."""
    numbers = dict.fromkeys(map(str, known), 0.0) | {str(name): float(number) for name, number in rows}
    return (((name,), number) for name, number in numbers.items())


def band_name(band: int) -> str:
    """Return what a job's band is called."""
    return next((name for highest, name in BANDS if band <= highest), LAST_BAND)


def _queue(rows: Rows) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return (band, device class) → number and age of the oldest [s]; bands of one name are one."""
    found: dict[tuple[str, ...], tuple[float, float]] = {}
    for band, device_class, depth, age in rows:
        labels = (band_name(band), device_class or NOT_OF_THE_FLEET)
        known = found.get(labels, (0.0, 0.0))
        found[labels] = (known[0] + depth, max(known[1], float(age)))
    return found


# --- what was counted -----------------------------------------------------------------------------------------


def _tallied(rows: Rows) -> Iterator[Family]:
    by_name: dict[str, Rows] = defaultdict(list)
    for name, *row in rows:
        by_name[name].append(tuple(row))
    for metric in (its.LEASE_EXPIRIES, its.PREFLIGHT_FAILURES):
        yield _family(metric, [((), sum(value for _, value, _ in by_name[metric.name]))])
    calls = by_name[its.FORGE_CALLS.name]
    yield _family(its.FORGE_CALLS, (((code,), value) for code, value, _ in calls))
    for metric in (its.CLAIM_LATENCY, its.VERDICT_DELAY, its.CHECK_VISIBLE):
        yield _histogram(metric, by_name[metric.name])
    quotas = [value for _, value, _ in by_name[its.FORGE_QUOTA.name]]
    if quotas:
        yield _family(its.FORGE_QUOTA, [((), min(quotas))])


def _histogram(metric: Metric, rows: Rows) -> Family:
    """Return a histogram of (upper bound, number, sum); a bound of another release counts for the next one here."""
    numbers = [(float(bound), value) for bound, value, _ in rows]
    buckets = [
        (label, sum(number for its_bound, number in numbers if its_bound <= float(label)))
        for label in (*map(_bound, metric.bounds), BEYOND)
    ]
    total = sum(total for _, _, total in rows)
    return HistogramMetricFamily(metric.name, metric.text, buckets=buckets, sum_value=total)


def _bound(bound: float) -> str:
    """Return a bound as Prometheus' clients write it."""
    return str(float(bound))


# --- Prometheus' client ---------------------------------------------------------------------------------------

_FAMILIES: dict[Kind, Callable[..., GaugeMetricFamily | CounterMetricFamily]] = {
    Kind.GAUGE: GaugeMetricFamily,
    Kind.COUNTER: CounterMetricFamily,
}


def _family(metric: Metric, values: Values) -> Family:
    family = _FAMILIES[metric.kind](metric.name, metric.text, labels=metric.labels)
    for labels, number in values:
        family.add_metric(labels, number)
    return family


class _Given(Collector):
    """Families that are there already."""

    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        """Return them."""
        return self._families
