"""Alerts in words, the same on pages and on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.domain.alerts import AlertEvent, AlertState
from app.domain.results import Params, case_label
from app.reports import quantities
from app.reports.text import plain, shorten
from app.reports.titles import NAME_WIDTH
from app.reports.words import Word, count

ALERTS: dict[str, Word] = {
    AlertState.NEW: Word("✗", "new", "regressed", "nobody has looked at it"),
    AlertState.ACKNOWLEDGED: Word("?", "acknowledged", "open", "somebody has seen it"),
    AlertState.INVESTIGATING: Word("…", "investigating", "running", "somebody looks for the cause"),
    AlertState.FIXED: Word("✓", "fixed", "steady", "it was real, and is mended"),
    AlertState.ACCEPTED: Word("−", "accepted", "listed", "it was real, and is wanted"),
    AlertState.NOT_OURS: Word("⊘", "not ours", "unmeasured", "something moved, but not the code"),
    AlertState.NOISE: Word("∅", "noise", "unmeasured", "nothing had moved"),
}


def worst_sentence(benchmark: str, params: Params, metric: str, change: float | None, others: int) -> str:
    """Return what became worse most, and in how many others: `resize[batch=8] latency_p50 +36 % and 4 more`."""
    told = f"{change_name(benchmark, params, metric)} {quantities.change(change)}"
    return f"{told} and {others} more" if others else told


def check_title_sentence(title: str) -> str:
    """Return a failed check's title; the conclusion's own word is left out, because the alert says it already."""
    sentence = plain(title).removeprefix("regressed: ")
    return sentence[:1].upper() + sentence[1:]


NOTHING_LEFT = "Taken back: nothing of it holds"


def change_name(benchmark: str, params: Params, metric: str) -> str:
    """Return what a change is of, on one line: `resize[batch=8] latency_p50`."""
    return f"{shorten(plain(case_label(benchmark, params)), NAME_WIDTH)} {plain(metric)}"


def extent(n_changes: int, n_checks: int) -> str:
    """Return how much an alert tells of."""
    counted = ((n_changes, "change"), (n_checks, "check"))
    return ", ".join(count(n, what) for n, what in counted if n)


def deed_words(what: AlertEvent, detail: Mapping[str, Any], names: Mapping[int, str]) -> str:
    """Return what somebody did to an alert; what he said of it stands beside. `names` are those of its changes."""
    change = detail.get("change")
    about = names.get(change, f"change {change}") if change is not None else f"check {detail.get('check')}"
    if what is AlertEvent.OWNED:
        return f"gave it to {plain(str(detail['owner']))}" if detail.get("owner") else "let go of it"
    if what is AlertEvent.MOVED:
        return f"moved it from {ALERTS[detail['from']].name} to {ALERTS[detail['to']].name}"
    return {
        AlertEvent.OPENED: f"opened it for {about}",
        AlertEvent.JOINED: f"added {about}",
        AlertEvent.LEFT: f"took back {about}",
        AlertEvent.COMMENTED: "said",
        AlertEvent.REOPENED: "opened it again",
    }[what]
