"""How a weekly report calls what it tells of, and where that is to be found: addresses of the service's pages."""

from __future__ import annotations

from typing import Any

from app.domain.metrics import metric as listed
from app.domain.results import CommitRef, case_label
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import Link, address


def case_link(base: str, series_id: int, benchmark: str, params: dict[str, Any]) -> Link:
    """Return a case that leads to its series."""
    return Link(name(case_label(benchmark, params)), address(base, f"/series/{series_id}"))


def commit_link(base: str, project: str, commit: CommitRef) -> Link:
    """Return a commit by its short id, with its subject as the title."""
    where = address(base, f"/commits/{commit.sha}", project=project)
    return Link(Name(commit.sha[:10]), where, plain(commit.subject))


def alert_link(base: str, alert_id: int) -> Link:
    """Return an alert."""
    return Link(Name(f"alert {alert_id}"), address(base, f"/alerts/{alert_id}"))


def metric_title(metric: str) -> str:
    """Return a metric as people call it."""
    entry = listed(metric)
    return entry.title if entry else plain(metric)
