"""Whole things in one sentence: a check for the list, the service for its health page, what became of a machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from app.domain.alerts import AlertEvent
from app.reports.alert_words import (
    NOTHING_LEFT,
    change_name,
    check_title_sentence,
    deed_words,
    extent,
    worst_sentence,
)
from app.reports.fingerprints import ChangeGroup
from app.reports.text import plain
from app.reports.words import CONCLUSIONS, count, explain, listing
from app.services.alerts.read_alerts import AlertDeed, AlertLine
from app.services.list_checks import CheckLine, CheckProgress
from app.services.read_health import HealthReport, Level


def check_sentence(check: CheckLine) -> str:
    """Return what the check says; the conclusion's own word is left out, because the badge beside has it."""
    if check.progress:
        return _progress(check.progress)
    sentence = plain(check.title or "").removeprefix(f"{CONCLUSIONS[check.conclusion].name}: ")
    return sentence[:1].upper() + sentence[1:] or f"Check {check.id}"


def alert_sentence(alert: AlertLine) -> str:
    """Return what became worse: the largest of its changes, else what its newest check says."""
    standing = [change for change in alert.changes if change.stands]
    if standing:
        worst = standing[0]
        return worst_sentence(worst.benchmark, worst.params, worst.metric, worst.change, alert.n_changes - 1)
    return check_title_sentence(alert.checks[0].title) if alert.checks else NOTHING_LEFT


def alert_extent(alert: AlertLine) -> str:
    """Return how much an alert tells of."""
    return extent(alert.n_changes, alert.n_checks)


def alert_devices(alert: AlertLine) -> str:
    """Return where it became worse: the device classes of its changes."""
    return listing(list(alert.device_classes))


def deed_sentence(deed: AlertDeed, alert: AlertLine) -> str:
    """Return what somebody did to an alert; what he said of it stands beside."""
    names = {its.id: change_name(its.benchmark, its.params, its.metric) for its in alert.changes}
    if deed.what is AlertEvent.OWNED and deed.detail.get("owner") == deed.by:
        return "took it"
    return deed_words(deed.what, deed.detail, names)


def reason_sentence(reason: str | None, message: str | None = None) -> str:
    """Return why something ended as it did: a code in plain words, then what was said about it."""
    told = explain(reason)
    words = told.replace("_", " ") if told.isidentifier() else told
    parts = [part for part in (words, message if message != reason else None) if part]
    sentence = plain(": ".join(parts))
    return sentence[:1].upper() + sentence[1:]


def health_sentence(report: HealthReport) -> str:
    """Return how the service is, naming the parts that are worst."""
    worst = [part.name for part in report.parts if part.level is report.worst]
    if report.worst is Level.GOOD:
        return "Everything works"
    if report.worst is Level.WARNING:
        return f"{listing(worst)} {'needs' if len(worst) == 1 else 'need'} attention"
    return f"{listing(worst)} {'does' if len(worst) == 1 else 'do'} not work"


def fact_sentence(groups: Iterable[ChangeGroup]) -> str:
    """Return how many facts changed, are new and are gone: `2 facts changed, 1 is new`."""
    kinds = Counter(change.kind for group in groups for change in group.changes)
    told: list[str] = []
    for kind, (of_one, of_several) in _HAPPENED.items():
        if n := kinds[kind]:
            number = str(n) if told else count(n, "fact")
            told.append(f"{number} {of_one if n == 1 else of_several}")
    return ", ".join(told)


_HAPPENED: dict[Literal["changed", "new", "gone"], tuple[str, str]] = {
    "changed": ("changed", "changed"),
    "new": ("is new", "are new"),
    "gone": ("is gone", "are gone"),
}
"""What became of one fact and of several, by kind."""


def _progress(progress: CheckProgress) -> str:
    if progress.gating:
        settled = f"{progress.settled} of {count(progress.gating, 'result')} settled"
        return f"Measuring: {settled}, {count(progress.pairs, 'pair')} so far"
    if progress.is_measuring:
        return "Preparing base and head"
    if progress.waiting_for:
        return f"Waiting for a worker with {plain(listing(list(progress.waiting_for)))}"
    return "About to be concluded"
