"""The service's own numbers for Prometheus, read from the database at each scrape; label values are bounded sets."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from sqlalchemy.orm import Session

from app.config import ServiceSettings
from app.store.repositories import health, outbox, retention


def service_metrics(session: Session, settings: ServiceSettings) -> str:
    """Return queue, fleet and outbox gauges in Prometheus' text format."""
    registry = CollectorRegistry()
    _by(registry, "ratchet_jobs", "Jobs by state", "state", health.jobs_by_state(session))
    _by(registry, "ratchet_attempts", "Attempts by outcome", "outcome", health.attempts_by_outcome(session))
    _by(registry, "ratchet_devices", "Devices by health", "health", health.devices_by_health(session))
    queue = health.queue_by_class(session)
    depth = {device_class: count for device_class, count, _ in queue}
    oldest = {device_class: age for device_class, _, age in queue}
    _by(registry, "ratchet_queue_depth", "Queued jobs by device class", "device_class", depth)
    _by(registry, "ratchet_queue_oldest_seconds", "Age of the oldest queued job", "device_class", oldest)
    live = health.live_workers(session, within=settings.worker_live_for)
    Gauge("ratchet_workers_live", "Workers heard of lately", registry=registry).set(live)
    waiting, age = outbox.depth(session)
    Gauge("ratchet_outbox_depth", "Messages that wait in the outbox", registry=registry).set(waiting)
    Gauge("ratchet_outbox_oldest_seconds", "Age of the oldest of them", registry=registry).set(age)
    since_s = retention.done_s_ago(session)
    if since_s is not None:
        text = "Since everything older than it is kept was last deleted"
        Gauge("ratchet_retention_seconds", text, registry=registry).set(since_s)
    return generate_latest(registry).decode()


def _by(
    registry: CollectorRegistry, name: str, text: str, label: str, values: dict[str, int] | dict[str, float]
) -> None:
    gauge = Gauge(name, text, [label], registry=registry)
    for value, number in values.items():
        gauge.labels(value).set(number)
