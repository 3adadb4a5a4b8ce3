"""What one process of the api counts for itself, from nothing at each start: its requests, and who was refused.

Recording costs microseconds: each series is looked up once, and found in a dict from then on.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

from app.services.metrics.catalogue import (
    HTTP_REQUEST,
    HTTP_REQUESTS,
    STALE_POSTS,
    WEBHOOK,
    WEBHOOKS,
    Metric,
)

# A second number beside each count, which Prometheus' text format has no use for.
disable_created_metrics()  # type: ignore[no-untyped-call]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"
WEBHOOK_RESULTS = ("received", "refused", "duplicate")


class Recorder:
    """The counts of a process; every method may be called from any thread."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = self._counter(HTTP_REQUESTS)
        self._seconds = self._histogram(HTTP_REQUEST)
        self._known: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._stale = self._counter(STALE_POSTS)
        self._webhooks = self._counter(WEBHOOKS)
        for result in WEBHOOK_RESULTS:
            self._webhooks.labels(result)
        self._webhook = self._histogram(WEBHOOK)

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request; `route` is the template of its address."""
        key = (route, method if method in METHODS else OTHER, status)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._series(*key)
        known[0].inc()
        known[1].observe(seconds)

    def _series(self, route: str, method: str, status: int) -> tuple[Counter, Histogram]:
        return self._requests.labels(route, method, str(status)), self._seconds.labels(route)

    def refused_stale(self) -> None:
        """Count a post whose lease had ended."""
        self._stale.inc()

    def took_webhook(self, result: str, seconds: float) -> None:
        """Count a message of the forge, one of `WEBHOOK_RESULTS`."""
        self._webhooks.labels(result).inc()
        self._webhook.observe(seconds)

    def _counter(self, metric: Metric) -> Counter:
        return Counter(metric.name, metric.text, metric.labels, registry=self.registry)

    def _histogram(self, metric: Metric) -> Histogram:
        return Histogram(
            metric.name, metric.text, metric.labels, buckets=metric.bounds, registry=self.registry
        )
