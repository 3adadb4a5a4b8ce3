"""The service's own metrics in PromQL. Every process tells the same of the database, so that is never added up.

`told` is for that. What a process counts itself begins anew with it, and is added up over processes: `counted`.

Labels are `band` (why a job was asked for), `device_class`, `health`, `state`, `outcome`, `topic`, `result`, `code`,
`route`, `method`, `status`, `kind` (of a notifier, of an incident): bounded sets all of them.
"""

from __future__ import annotations

from dashboards.grafana import look

BANDS = dict(zip(("pull_request", "push", "nightly", "bisect", "backfill"), look.EIGHT, strict=False))
HEALTH = {
    "good": look.GOOD,
    "suspect": look.WATCH,
    "quarantined": look.WORRY,
    "draining": look.SKY,
    "maintenance": look.PINK,
    "retired": look.GREY,
}
INCIDENTS = {
    "quarantined": look.WORRY,
    "moved": look.WATCH,
    "lost": look.PINK,
    "unserved": look.SKY,
}


def own(name: str, *labels: str) -> str:
    """Return the selector of a metric of the chosen job."""
    inside = ",".join(('job=~"$job"', *labels))
    return f"{name}{{{inside}}}"


def told(name: str, *by: str, labels: tuple[str, ...] = ()) -> str:
    """Return what the database says, once for all processes that tell it."""
    return f"max{_grouped(by)} ({own(name, *labels)})"


def rate(name: str, *by: str) -> str:
    """Return how often something happens a second, over all processes, each of which counts its own."""
    return f"sum{_grouped(by)} (rate({own(name)}[$__rate_interval]))"


def counted(name: str, *by: str, labels: tuple[str, ...] = (), over: str = "$__range") -> str:
    """Return how often something happened in a window, over all processes, each of which counts its own."""
    return f"sum{_grouped(by)} (increase({own(name, *labels)}[{over}]))"


def told_rate(name: str, *by: str) -> str:
    """Return how often something happens a second that is counted in the database."""
    return f"max{_grouped(by)} (rate({own(name)}[$__rate_interval]))"


def told_counted(name: str, *by: str, over: str = "$__range") -> str:
    """Return how often something happened in a window that is counted in the database."""
    return f"max{_grouped(by)} (increase({own(name)}[{over}]))"


def _grouped(by: tuple[str, ...]) -> str:
    return f" by ({', '.join(by)})" if by else ""


def quantile(share: float, name: str, over: str, *by: str) -> str:
    """Return what so large a share of a histogram's observations stayed below, in windows of the length `over`.

    Added up over processes: one that all tell alike is the same several times, which changes no share of it.
    """
    grouped = ", ".join(("le", *by))
    return f"histogram_quantile({share:g}, sum by ({grouped}) (rate({own(f'{name}_bucket')}[{over}])))"


RANGE, MOMENT = "$__range", "$__rate_interval"
"""Windows: the whole time range, and a short one for lines."""
