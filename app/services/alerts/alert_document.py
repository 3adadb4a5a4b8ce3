"""Alerts as the JSON API shows them."""

from __future__ import annotations

from typing import Any

from app.analysis.proportion import Proportion
from app.domain.results import CommitRef
from app.services.alerts.detector_quality import Quality
from app.services.alerts.read_alerts import (
    AlertChangeLine,
    AlertCheckLine,
    AlertLine,
    AlertList,
    WholeAlert,
)


def list_document(found: AlertList) -> dict[str, Any]:
    """Return `{alerts, counts, more, next}`; each alert with the largest of its changes."""
    return {
        "alerts": [line_document(line) for line in found.lines],
        "counts": {str(state): n for state, n in found.counts.items()},
        "more": found.older is not None,
        "next": found.older,
    }


def alert_document(alert: WholeAlert) -> dict[str, Any]:
    """Return one alert with its history."""
    return line_document(alert.line) | {
        "history": [{"at": deed.at, "by": deed.by, "what": deed.what, **deed.detail} for deed in alert.deeds]
    }


def line_document(line: AlertLine) -> dict[str, Any]:
    """Return an alert as a list has it."""
    return {
        "id": line.id,
        "project": line.project,
        "branch": line.branch,
        "state": line.state,
        "owner": line.owner,
        "commit": _commit(line.commit),
        "previous": line.previous,
        "pull_request": line.number,
        "pull_request_url": line.pull_url,
        "n_changes": line.n_changes,
        "n_checks": line.n_checks,
        "changes": [_change(change) for change in line.changes],
        "checks": [_check(check) for check in line.checks],
        "opened_at": line.opened_at,
        "moved_at": line.moved_at,
    }


def quality_document(its: Quality) -> dict[str, Any]:
    """Return how right the detector was."""
    return {
        "precision": _proportion(its.precision),
        "recall": _proportion(its.recall),
        "not_ours": its.not_ours,
        "open": its.open,
    }


def _proportion(its: Proportion) -> dict[str, Any]:
    return {"share": its.share, "low": its.low, "high": its.high, "k": its.k, "n": its.n}


def _commit(commit: CommitRef) -> dict[str, Any]:
    return {
        "sha": commit.sha,
        "subject": commit.subject,
        "author": commit.author,
        "time": commit.date,
    }


def _change(change: AlertChangeLine) -> dict[str, Any]:
    return {
        "id": change.id,
        "series": change.series_id,
        "benchmark": change.benchmark,
        "params": change.params,
        "metric": change.metric,
        "unit": change.unit,
        "device_class": change.device_class,
        "before": change.before,
        "after": change.after,
        "change": change.change,
        "ci_low": change.ci_low,
        "ci_high": change.ci_high,
        "commit": change.commit.sha,
        "previous": change.previous,
        "stands": change.stands,
        "reason": change.reason,
        "accepted_by": change.accepted_by,
    }


def _check(check: AlertCheckLine) -> dict[str, Any]:
    return {"id": check.id, "title": check.title, "concluded_at": check.concluded_at}
