"""How states of runs, devices and parts are shown: marked and named as verdicts are, with the same icons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.domain.alerts import OPEN_STATES, AlertState
from app.domain.jobs import JobState, Outcome
from app.domain.notifications import About, Pace, SendState
from app.reports.alert_words import ALERTS as ALERTS
from app.reports.text import plain
from app.reports.words import GRADES as GRADES
from app.reports.words import QUARANTINE_ENDS as QUARANTINE_ENDS
from app.reports.words import Word, count, listing
from app.services.access import Role, Scope
from app.services.notify.read_notifiers import DeliveryFacts, NotifierFacts
from app.services.read_health import Level

RUNNING = Word("…", "running", "running", "it is going on")

OUTCOMES: dict[Outcome | None, Word] = {
    None: RUNNING,
    Outcome.OK: Word("✓", "measured", "steady", "the run came to its end"),
    Outcome.BENCH_FAILED: Word("⊗", "benchmark failed", "fails", "the benchmark ended badly on either arm"),
    Outcome.INFRA_FAILED: Word("⊘", "worker fault", "unmeasured", "the worker or its machine failed"),
    Outcome.CONTAMINATED: Word("?", "disturbed", "open", "too much else went on on the machine"),
    Outcome.TIMED_OUT: Word("?", "timed out", "open", "it took longer than allowed"),
    Outcome.LOST: Word(
        "⊘", "worker lost", "unmeasured", "the worker was not heard of before its lease ran out"
    ),
    Outcome.CANCELLED: Word("−", "cancelled", "listed", "it was called off"),
}

JOBS: dict[str, Word] = {
    JobState.QUEUED: Word("…", "queued", "running", "it waits for a device"),
    JobState.LEASED: Word("…", "leased", "running", "a worker has taken it"),
    JobState.RUNNING: RUNNING,
    JobState.SUCCEEDED: Word("✓", "succeeded", "steady", "it was measured"),
    JobState.FAILED: Word("⊗", "failed", "fails", "it ended without results"),
    JobState.CANCELLED: Word("−", "cancelled", "listed", "it was called off"),
    JobState.SUPERSEDED: Word("−", "superseded", "listed", "a newer commit took its place"),
    JobState.EXPIRED: Word("∅", "expired", "unmeasured", "it waited too long for a device"),
    JobState.NO_CAPACITY: Word("∅", "no capacity", "unmeasured", "no worker has such a device"),
}

ARM_STATUSES: dict[str, Word] = {
    "ok": Word("✓", "ready", "steady", "checked out, set up and listed"),
    "checkout_failed": Word("⊗", "not checked out", "fails", "the commit could not be checked out"),
    "build_failed": Word("⊗", "not set up", "fails", "the set-up commands failed"),
    "list_failed": Word("⊗", "not listed", "fails", "the benchmark files could not be loaded"),
}

INVOCATIONS: dict[str, Word] = {
    "ok": Word("✓", "ok", "steady", "it came to its end"),
    "failed": Word("⊗", "failed", "fails", "it ended badly"),
    "timeout": Word("⊗", "timed out", "fails", "it took longer than allowed"),
    "oom": Word("⊗", "out of memory", "fails", "it needed more memory than there was"),
    "missing": Word("∅", "missing", "unmeasured", "it reported nothing"),
}

ALERT_TABS: dict[str, str] = {
    "open": "Open",
    **{state: ALERTS[state].name.capitalize() for state in AlertState},
    "all": "All",
}


def alert_tabs(counts: Mapping[AlertState, int]) -> list[tuple[str, int]]:
    """Return how many alerts there are under each word of the list's filter, without those that have none."""
    several: dict[str, Iterable[AlertState]] = {"open": OPEN_STATES, "all": AlertState}
    known = [
        (word, sum(counts.get(state, 0) for state in several.get(word) or (AlertState(word),)))
        for word in ALERT_TABS
    ]
    return [(word, n) for word, n in known if n or word in several]


VOID = Word("∅", "void", "unmeasured", "kept, but not counted")

POOLS = {
    (True, False): "trusted pool",
    (False, True): "untrusted pool",
    (True, True): "trusted and untrusted pool",
    (False, False): "no pool",
}
"""Whose commits a worker may be given, by whether it takes trusted and strangers' ones."""

DEVICES: dict[str, Word] = {
    "good": Word("✓", "good", "steady", "it takes jobs"),
    "suspect": Word("?", "suspect", "open", "something was odd; it takes no jobs until it is calibrated"),
    "quarantined": Word("⊗", "quarantined", "fails", "it takes no jobs until it is what it was"),
    "draining": Word("−", "draining", "listed", "it takes no new jobs"),
    "maintenance": Word("−", "maintenance", "listed", "somebody is working on it"),
    "retired": Word("−", "retired", "listed", "it is not used any more"),
}

LIVE = Word("✓", "live", "steady", "it was heard of lately")
OFFLINE = Word("⊘", "offline", "unmeasured", "it was not heard of for a while")

SIGNED_OFF = Word("−", "signed off", "listed", "it was stopped, and nobody misses it")

LEVELS: dict[Level, Word] = {
    Level.GOOD: Word("✓", "ok", "steady", "as it should be"),
    Level.WARNING: Word("?", "attention", "open", "something waits for somebody"),
    Level.FAULT: Word("⊗", "fault", "fails", "this does not work"),
}

SCOPES: dict[str, str] = {
    Scope.ADMIN: "administer",
    Scope.RESULTS_READ: "read results",
    Scope.RESULTS_WRITE: "post results",
    Scope.JOBS_CREATE: "ask for checks and cancel them",
    Scope.ALERTS_WRITE: "answer alerts",
    Scope.NOTIFIERS_WRITE: "say who is told of alerts",
    Scope.WORKER: "work",
    Scope.WORKER_UNTRUSTED: "work for strangers",
}
"""What a token may do, after "it may"."""

ROLES: dict[str, str] = {
    Role.VIEWER: "reads",
    Role.MAINTAINER: "also asks for checks, answers alerts and says who is told of them, posts results",
    Role.ADMIN: "also gives roles and issues tokens",
}
"""What people with a role do in a project."""

ABOUTS: dict[str, str] = {
    About.CHANGES: "changes for the worse",
    About.CHECKS: "failed checks",
    About.FLEET: "machines that cannot measure",
    About.CONTROL: "machines that are not what they were",
}
"""What a notifier is told of."""

PACES: dict[str, str] = {
    Pace.AT_ONCE: "At once",
    Pace.DAILY: "Once a day",
    Pace.WEEKLY: "Once a week",
}

DELIVERIES: dict[str, Word] = {
    SendState.WAITING: Word("…", "waiting", "running", "it is not sent yet"),
    SendState.SENT: Word("✓", "sent", "steady", "it was taken"),
    SendState.FAILED: Word("⊗", "not sent", "fails", "it was given up"),
    SendState.HANDED: Word("…", "waiting", "running", "it waits for its turn at the forge"),
}

_TOLD = Word("✓", "told", "steady", "what it was told last has arrived")
_PAUSED = Word("−", "paused", "listed", "it is told nothing")
_FAILING = Word("⊗", "failing", "fails", "what it was to be told last has not arrived")
_UNTRIED = Word("∅", "not tried", "unmeasured", "it was told nothing yet")


def notifier_word(its: NotifierFacts) -> Word:
    """Return how a notifier stands."""
    if its.is_paused:
        return _PAUSED
    if its.is_failing:
        return _FAILING
    return _TOLD if its.deliveries else _UNTRIED


def last_error(its: NotifierFacts) -> str:
    """Return what was wrong the last time."""
    return next((delivery.error for delivery in its.deliveries if delivery.error), "")


def delivery_words(its: DeliveryFacts) -> str:
    """Return how often a message was tried, and what was wrong."""
    tries = count(its.attempts, "try", "tries") if its.attempts != 1 else ""
    return " · ".join(filter(None, (its.kind, tries if its.attempts else "", plain(its.error))))


def wishes_words(its: NotifierFacts) -> str:
    """Return what a notifier is told, and when, in a line."""
    wishes = its.wishes
    told = [ABOUTS[about] for about in wishes.about] + ["the weekly report"] * bool(wishes.reports)
    parts = [listing(told)]
    if wishes.min_change and About.CHANGES in wishes.about:
        parts.append(f"from {wishes.min_change * 100:g} %")
    if wishes.owners and wishes.of_alerts:
        parts.append(f"of {plain(listing(list(wishes.owners)))}")
    if wishes.pace is not Pace.AT_ONCE:
        when = "daily" if wishes.pace is Pace.DAILY else f"{_DAYS[wishes.weekday]}s"
        parts.append(f"{when} at {wishes.hour:02d}:00 {wishes.zone}")
    if wishes.quiet_from:
        through = wishes.breaks_through
        but = f" but for changes from {through * 100:g} %" if through else ""
        parts.append(f"quiet {wishes.quiet_from} to {wishes.quiet_until} {wishes.zone}{but}")
    return ", ".join(parts)


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
