"""Whole things in one sentence: a check for the list, the service for the head of its health page."""

from __future__ import annotations

from app.domain.alerts import AlertEvent
from app.domain.results import case_label
from app.reports import quantities
from app.reports.text import plain, shorten
from app.reports.titles import NAME_WIDTH
from app.reports.words import CONCLUSIONS, count, explain, listing
from app.services.alerts.read_alerts import AlertDeed, AlertLine
from app.services.list_checks import CheckLine, CheckProgress
from app.services.read_health import HealthReport, Level
from app.web.words import ALERTS


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
        worst, others = standing[0], alert.n_changes - 1
        name = shorten(plain(case_label(worst.benchmark, worst.params)), NAME_WIDTH)
        told = f"{name} {plain(worst.metric)} {quantities.change(worst.change)}"
        return f"{told} and {others} more" if others else told
    if alert.checks:
        sentence = plain(alert.checks[0].title).removeprefix("regressed: ")
        return sentence[:1].upper() + sentence[1:]
    return "Taken back: nothing of it holds"


def alert_extent(alert: AlertLine) -> str:
    """Return how much an alert tells of."""
    counted = ((alert.n_changes, "change"), (alert.n_checks, "check"))
    return ", ".join(count(n, what) for n, what in counted if n)


def deed_sentence(deed: AlertDeed) -> str:
    """Return what somebody did to an alert; what he said of it stands beside."""
    detail = deed.detail
    about = f"check {detail['check']}" if "check" in detail else f"change {detail.get('change', '')}".strip()
    if deed.what is AlertEvent.OWNED:
        return f"gave it to {plain(str(detail['owner']))}" if detail.get("owner") else "let go of it"
    if deed.what is AlertEvent.MOVED:
        return f"moved it from {_state(detail['from'])} to {_state(detail['to'])}"
    return {
        AlertEvent.OPENED: f"opened it for {about}",
        AlertEvent.JOINED: f"added {about}",
        AlertEvent.LEFT: f"took back {about}",
        AlertEvent.COMMENTED: "said",
        AlertEvent.REOPENED: "opened it again",
    }[deed.what]


def _state(state: object) -> str:
    return ALERTS[str(state)].name


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


def _progress(progress: CheckProgress) -> str:
    if progress.gating:
        settled = f"{progress.settled} of {count(progress.gating, 'result')} settled"
        return f"Measuring: {settled}, {count(progress.pairs, 'pair')} so far"
    if progress.is_measuring:
        return "Preparing base and head"
    if progress.waiting_for:
        return f"Waiting for a worker with {plain(listing(list(progress.waiting_for)))}"
    return "About to be concluded"
