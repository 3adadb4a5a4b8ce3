"""The service's own metrics as dashboards know them: names, kinds and labels, and two processes that tell them.

What is told here follows a script, so that every number of a panel can be worked out by hand. Both processes read the
same database, and so tell the same of it; each counts what it did itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

Labels = dict[str, str]
Over = Callable[[float], float | None]
"""What a series is, so many seconds after the script began; None where nobody told it then."""


class Series(NamedTuple):
    """One series of a script."""

    name: str
    labels: Labels
    value: Over


GAUGES: dict[str, tuple[str, ...]] = {
    "ratchet_jobs": ("state",),
    "ratchet_attempts": ("outcome",),
    "ratchet_devices": ("health",),
    "ratchet_incidents_open": ("kind",),
    "ratchet_workers_live": (),
    "ratchet_retention_seconds": (),
    "ratchet_queue_depth": ("band", "device_class"),
    "ratchet_queue_oldest_seconds": ("band", "device_class"),
    "ratchet_heartbeat_age_seconds": (),
    "ratchet_sweep_age_seconds": (),
    "ratchet_outbox_depth": ("topic",),
    "ratchet_outbox_oldest_seconds": ("topic",),
    "ratchet_outbox_failures": ("topic",),
    "ratchet_forge_quota_remaining": (),
    "ratchet_delivery_lag_seconds": (),
    "ratchet_database_connections": ("state",),
    "ratchet_database_connections_limit": (),
    "ratchet_disk_free_bytes": (),
    "ratchet_disk_size_bytes": (),
    "ratchet_backup_age_seconds": (),
    "ratchet_observing": (),
    "ratchet_clock_offset_seconds": (),
    "ratchet_checks_overdue": (),
    "ratchet_alerts_open": ("state",),
    "ratchet_notifications": ("kind", "state"),
    "ratchet_build_info": ("version", "revision"),
}
COUNTERS: dict[str, tuple[str, ...]] = {
    "ratchet_lease_expiries_total": (),
    "ratchet_stale_posts_total": (),
    "ratchet_preflight_failures_total": (),
    "ratchet_webhooks_total": ("result",),
    "ratchet_forge_calls_total": ("code",),
    "ratchet_http_requests_total": ("route", "method", "status"),
}
HISTOGRAMS: dict[str, tuple[str, ...]] = {
    "ratchet_claim_latency_seconds": (),
    "ratchet_webhook_seconds": (),
    "ratchet_http_request_seconds": ("route",),
    "ratchet_check_visible_seconds": (),
    "ratchet_verdict_delay_seconds": (),
}
LABELS = GAUGES | COUNTERS | HISTOGRAMS
"""Every metric's own labels."""

GONE_AFTER_S = 9_000
"""When three jobs vanish, which is what must never be."""

API_ROUTE, PAGE_ROUTE = "/api/v1/checks/{check_id}", "/series/{series_id}"


def _held(value: float) -> Over:
    return lambda _: value


def _rising(per_s: float) -> Over:
    return lambda elapsed: per_s * elapsed


def _of_database() -> Iterator[Series]:
    """What both processes tell alike: what rows tell, and what is counted in the database."""
    held: list[tuple[str, Labels, float]] = [
        ("ratchet_jobs", {"state": "queued"}, 5),
        ("ratchet_jobs", {"state": "leased"}, 1),
        ("ratchet_jobs", {"state": "running"}, 2),
        ("ratchet_attempts", {"outcome": "open"}, 3),
        ("ratchet_devices", {"health": "good"}, 4),
        ("ratchet_devices", {"health": "suspect"}, 1),
        ("ratchet_devices", {"health": "quarantined"}, 2),
        ("ratchet_incidents_open", {"kind": "quarantined"}, 2),
        ("ratchet_incidents_open", {"kind": "lost"}, 1),
        ("ratchet_workers_live", {}, 3),
        ("ratchet_retention_seconds", {}, 7_200),
        ("ratchet_queue_depth", {"band": "pull_request", "device_class": "cpu-8t"}, 2),
        ("ratchet_queue_depth", {"band": "nightly", "device_class": "cpu-8t"}, 1),
        ("ratchet_queue_depth", {"band": "nightly", "device_class": "nvidia-h100"}, 2),
        ("ratchet_queue_oldest_seconds", {"band": "pull_request", "device_class": "cpu-8t"}, 60),
        ("ratchet_queue_oldest_seconds", {"band": "nightly", "device_class": "cpu-8t"}, 300),
        ("ratchet_queue_oldest_seconds", {"band": "nightly", "device_class": "nvidia-h100"}, 900),
        ("ratchet_heartbeat_age_seconds", {}, 12),
        ("ratchet_sweep_age_seconds", {}, 4),
        ("ratchet_outbox_depth", {"topic": "check.show"}, 2),
        ("ratchet_outbox_oldest_seconds", {"topic": "check.show"}, 7),
        ("ratchet_outbox_failures", {"topic": "check.show"}, 1),
        ("ratchet_delivery_lag_seconds", {}, 3),
        ("ratchet_checks_overdue", {}, 0),
        ("ratchet_alerts_open", {"state": "new"}, 3),
        ("ratchet_alerts_open", {"state": "investigating"}, 1),
        ("ratchet_notifications", {"kind": "slack", "state": "sent"}, 9),
        ("ratchet_backup_age_seconds", {}, 36_000),
        ("ratchet_observing", {}, 0),
    ]
    for name, labels, value in held:
        yield Series(name, labels, _held(value))
    yield Series("ratchet_jobs", {"state": "succeeded"}, lambda elapsed: 400 - 3 * (elapsed > GONE_AFTER_S))
    yield Series("ratchet_attempts", {"outcome": "ok"}, lambda elapsed: 100 + elapsed // 600)
    yield Series("ratchet_attempts", {"outcome": "lost"}, _held(1))
    counted: list[tuple[str, Labels, float]] = [
        ("ratchet_lease_expiries_total", {}, 2 / 3600),
        ("ratchet_preflight_failures_total", {}, 4 / 3600),
        ("ratchet_forge_calls_total", {"code": "200"}, 1),
        ("ratchet_forge_calls_total", {"code": "403"}, 0.1),
    ]
    for name, labels, per_s in counted:
        yield Series(name, labels, _rising(per_s))
    yield from _histogram("ratchet_claim_latency_seconds", {}, 1, {5: 0.5, 10: 1})
    yield from _histogram("ratchet_check_visible_seconds", {}, 1, {10: 0.9, 30: 1})
    yield from _histogram("ratchet_verdict_delay_seconds", {}, 1, {300: 0.5, 600: 1})


def _of_process(share: float) -> Iterator[Series]:
    """What a process did itself: this share of all."""
    held: list[tuple[str, Labels, float]] = [
        ("ratchet_database_connections", {"state": "in_use"}, 10 * share),
        ("ratchet_database_connections", {"state": "idle"}, 5),
        ("ratchet_database_connections_limit", {}, 20),
        ("ratchet_disk_free_bytes", {}, 1e12 * share),
        ("ratchet_disk_size_bytes", {}, 2e12),
        ("ratchet_clock_offset_seconds", {}, -2 * share),
        ("ratchet_forge_quota_remaining", {}, 5_000 * share),
        ("ratchet_build_info", {"version": "0.1.0", "revision": "abc123"}, 1),
    ]
    for name, labels, value in held:
        yield Series(name, labels, _held(value))
    counted: list[tuple[str, Labels, float]] = [
        ("ratchet_stale_posts_total", {}, 1 / 3600),
        ("ratchet_webhooks_total", {"result": "received"}, 0.5),
        ("ratchet_webhooks_total", {"result": "duplicate"}, 5 / 3600),
        ("ratchet_webhooks_total", {"result": "refused"}, 0.01),
        ("ratchet_http_requests_total", {"route": API_ROUTE, "method": "GET", "status": "200"}, 7.96),
        ("ratchet_http_requests_total", {"route": API_ROUTE, "method": "GET", "status": "500"}, 0.04),
        ("ratchet_http_requests_total", {"route": PAGE_ROUTE, "method": "GET", "status": "200"}, 2),
        ("ratchet_http_requests_total", {"route": PAGE_ROUTE, "method": "GET", "status": "503"}, 1),
    ]
    for name, labels, per_s in counted:
        yield Series(name, labels, _rising(per_s * share))
    yield from _histogram("ratchet_webhook_seconds", {}, share, {0.1: 0.5, 0.5: 0.95, 1: 1})
    yield from _histogram("ratchet_http_request_seconds", {"route": API_ROUTE}, share, {0.1: 0.9, 0.2: 1})
    yield from _histogram("ratchet_http_request_seconds", {"route": PAGE_ROUTE}, share, {0.1: 0.0, 2.1: 1})


def _histogram(name: str, labels: Labels, per_s: float, below: dict[float, float]) -> Iterator[Series]:
    """Tell of observations so often, of which these shares are at most so large."""
    for limit, share in (below | {float("inf"): 1.0}).items():
        le = "+Inf" if limit == float("inf") else f"{limit:.1f}"
        yield Series(f"{name}_bucket", labels | {"le": le}, _rising(per_s * share))
    yield Series(f"{name}_count", labels, _rising(per_s))
    yield Series(f"{name}_sum", labels, _rising(per_s * max(below) / 2))


def two_processes() -> Iterator[Series]:
    """Return what two processes tell, of which one does three quarters of the work."""
    for instance, share in (("api-1:8440", 0.75), ("api-2:8440", 0.25)):
        where = {"job": "ratchet", "instance": instance}
        for series in (*_of_database(), *_of_process(share)):
            yield series._replace(labels=series.labels | where)
