"""Every number that a scrape may tell: the one table of it. docs/metrics.md says the same in words, held by a test.

Values of labels are bounded sets: states, kinds, topics, templates of routes, statuses, and the device classes of the
fleet.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What may become of a number: anything, or only more."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One number by its name; `bounds` are the upper bounds of a histogram's buckets, in its unit."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"ratchet_{name}", Kind.GAUGE, text, labels)


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(f"ratchet_{name}_total", Kind.COUNTER, text, labels)


def _histogram(name: str, text: str, bounds: tuple[float, ...], *labels: str) -> Metric:
    return Metric(f"ratchet_{name}_seconds", Kind.HISTOGRAM, text, labels, bounds)


# --- jobs and the fleet ---------------------------------------------------------------------------------------

JOBS = _gauge("jobs", "Jobs by state", "state")
ATTEMPTS = _gauge("attempts", "Attempts by outcome; open are those that go on", "outcome")
QUEUE_DEPTH = _gauge("queue_depth", "Queued jobs", "band", "device_class")
QUEUE_OLDEST = _gauge("queue_oldest_seconds", "Age of the oldest queued job", "band", "device_class")
CLAIM_LATENCY = _histogram(
    "claim_latency",
    "From a job to its first lease",
    (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 21600),
)
LEASE_EXPIRIES = _counter("lease_expiries", "Leases that the sweep ended")
STALE_POSTS = _counter("stale_posts", "Posts refused as their lease had ended")
PREFLIGHT_FAILURES = _counter("preflight_failures", "Attempts that ended as the machine was not fit to begin")
DEVICES = _gauge("devices", "Devices by state of health", "health")
DEVICES_LIVE = _gauge("devices_live", "Devices of live workers that take jobs", "device_class")
WORKERS_LIVE = _gauge("workers_live", "Workers heard of lately")
INCIDENTS_OPEN = _gauge("incidents_open", "Incidents of machines that are not over", "kind")
HEARTBEAT_AGE = _gauge(
    "heartbeat_age_seconds", "Since the longest silent worker was heard of that is live or has a lease"
)

# --- checks and alerts ----------------------------------------------------------------------------------------

CHECK_VISIBLE = _histogram(
    "check_visible",
    "From the request for a check to its status at the forge",
    (1, 2, 5, 10, 20, 30, 60, 120, 300, 900),
)
VERDICT_DELAY = _histogram(
    "verdict_delay",
    "From a check's last sample to its conclusion",
    (1, 5, 15, 30, 60, 120, 300, 600, 1200, 3600),
)
CHECKS_OVERDUE = _gauge("checks_overdue", "Checks that should have ended five minutes ago or earlier")
ALERTS_OPEN = _gauge("alerts_open", "Alerts that wait for somebody", "state")
NOTIFICATIONS = _gauge(
    "notifications", "Messages to people, of the last day or still waiting", "kind", "state"
)

# --- the service's own work -----------------------------------------------------------------------------------

SWEEP_AGE = _gauge("sweep_age_seconds", "Since the sweep last came to its end")
OUTBOX_DEPTH = _gauge("outbox_depth", "Messages that are due and wait", "topic")
OUTBOX_OLDEST = _gauge("outbox_oldest_seconds", "For how long the oldest of them has been due", "topic")
OUTBOX_FAILURES = _gauge("outbox_failures", "Messages that wait after a try to send them failed", "topic")
RETENTION = _gauge("retention_seconds", "Since everything older than it is kept was last deleted")
OBSERVING = _gauge("observing", "1 while a restored service observes, else 0")
BACKUP_AGE = _gauge("backup_age_seconds", "Since the newest backup that the database knows of")
DISK_FREE = _gauge("disk_free_bytes", "Room on the disk of the data folder")
DISK_SIZE = _gauge("disk_size_bytes", "Size of the disk of the data folder")
CLOCK_OFFSET = _gauge("clock_offset_seconds", "This process's clock before the database's")
BUILD_INFO = _gauge("build_info", "1, of this release and its schema", "version", "revision")

# --- the forge ------------------------------------------------------------------------------------------------

WEBHOOKS = _counter("webhooks", "Messages of the forge at the door", "result")
WEBHOOK = _histogram(
    "webhook", "How long the forge waits for an answer", (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
)
FORGE_CALLS = _counter("forge_calls", "Calls to the forge by status; none where no answer came", "code")
FORGE_QUOTA = _gauge("forge_quota_remaining", "Calls that the forge still takes, where fewest are left")
DELIVERY_LAG = _gauge(
    "delivery_lag_seconds", "For how long the forge has not been told what waits longest for it"
)

# --- one process of the api -----------------------------------------------------------------------------------

HTTP_REQUESTS = _counter("http_requests", "Answered requests", "route", "method", "status")
HTTP_REQUEST = _histogram(
    "http_request", "How long an answer took", (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10, 30), "route"
)
DATABASE_CONNECTIONS = _gauge("database_connections", "Connections of this process", "state")
DATABASE_LIMIT = _gauge("database_connections_limit", "Connections that this process may open")
DATABASE_UP = _gauge("database_up", "1 where the database answered this scrape, else 0")

METRICS = tuple(value for value in globals().values() if isinstance(value, Metric))
