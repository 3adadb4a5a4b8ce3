"""Incidents of machines in plain words: what is wrong with the number that says so, what follows, and what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from app.domain.incidents import MEMORY_ERRORS, IncidentEnd, IncidentKind, is_of_control
from app.domain.notifications import What
from app.domain.units import format_quantity
from app.reports.quantities import change, duration
from app.reports.words import count, listing

REPEATS = "three runs one after the other"
"""How often a processor's control was off before it is told of (`analysis.health.REPEATS`)."""


def seen_words(detail: Mapping[str, Any]) -> str:
    """Return what put a device into quarantine, without a full stop."""
    if MEMORY_ERRORS in detail:
        return count(int(detail[MEMORY_ERRORS]), "uncorrected memory error")
    took, usual = (format_quantity(detail[name], "s") for name in ("seconds", "usual_s"))
    deviation = change(detail["deviation"])
    return f"{detail['probe']} of its control took {took}, {usual} is usual ({deviation})"


@dataclass(frozen=True)
class Waiting:
    """A project's jobs that wait for a class: how many, and for how long the oldest has [s]."""

    n: int = 0
    oldest_s: float = 0.0


@dataclass(frozen=True)
class Told:
    """An incident as its words are made: `object` is what it is of, as `device/12`."""

    kind: IncidentKind
    object: str
    name: str
    classes: Collection[str]
    detail: Mapping[str, Any]
    ended_by: IncidentEnd | None = None
    waiting: Waiting = field(default_factory=Waiting)
    queue_deadline_s: float = 0.0
    """How long a job may wait at all [s]."""


def sentence(told: Told) -> str:
    """Return what is wrong, or how it was over, without a full stop."""
    if told.ended_by is not None:
        return _ENDS[told.ended_by].format(name=told.name, of=_of(told))
    of = _of(told)
    if told.kind is IncidentKind.QUARANTINED:
        return f"{of} was put into quarantine: {seen_words(told.detail)}"
    if told.kind is IncidentKind.MOVED:
        return f"{of} is not what it was: {seen_words(told.detail)}, in {REPEATS}"
    if told.kind is IncidentKind.LOST:
        at = datetime.fromisoformat(told.detail["last_seen_at"])
        devices = f"{count(len(told.detail['devices']), 'device')} ({listing(list(told.classes))})"
        return f"agent {told.name} was lost with {devices}: silent since {at:%Y-%m-%d %H:%M} UTC"
    return f"no live device takes jobs for {told.name}: {_waiting(told.waiting)}"


def _of(told: Told) -> str:
    return f"device {told.name} ({listing(list(told.classes))})"


def _waiting(waiting: Waiting) -> str:
    if not waiting.n:
        return "jobs wait, none of this project yet"
    jobs = f"{count(waiting.n, 'job')} of this project {'waits' if waiting.n == 1 else 'wait'}"
    return f"{jobs}, the oldest for {duration(waiting.oldest_s)}"


_ENDS: dict[IncidentEnd, str] = {
    IncidentEnd.CALIBRATION: "{of} takes jobs again: a calibration found its control as usual",
    IncidentEnd.ADMINISTRATOR: "{of} takes jobs again: an administrator ended its quarantine",
    IncidentEnd.USUAL: "the control of {of} is as usual again, or what it shows is usual by now",
    IncidentEnd.HEARD: "agent {name} is back",
    IncidentEnd.TAKEN_OVER: "agent {name} is missed no more: it has no device that measures",
    IncidentEnd.FORGOTTEN: "agent {name} is missed no more: it was silent for 30 days",
    IncidentEnd.SERVED: "a live device takes jobs for {name} again",
    IncidentEnd.NOTHING_WAITS: "no job waits for {name} any more",
}


def meaning(told: Told) -> str:
    """Return what follows from it; empty where it is over."""
    if told.ended_by is not None:
        return ""
    if told.kind is IncidentKind.QUARANTINED and is_of_control(told.kind, dict(told.detail)):
        return (
            "It takes no jobs; other devices of its class do. The run that showed it measured nothing and is "
            "measured again."
        )
    return {
        IncidentKind.QUARANTINED: (
            "It takes no jobs; other devices of its class do. The pairs that it measured meanwhile are void."
        ),
        IncidentKind.MOVED: (
            "It goes on measuring: a processor is never put into quarantine. A step in a history that its control "
            "shares is put down to the machine."
        ),
        IncidentKind.LOST: (
            "What it measured is measured again once the lease has run out; other devices of its classes go on."
        ),
        IncidentKind.UNSERVED: f"A job that waits for {duration(told.queue_deadline_s)} is given up as not measured.",
    }[told.kind]


def advice(told: Told) -> str:
    """Return what to do; empty where it is over."""
    if told.ended_by is not None:
        return ""
    release = f"POST /api/v1/{told.object.replace('/', 's/')}/release"
    if told.kind is IncidentKind.QUARANTINED and is_of_control(told.kind, dict(told.detail)):
        return (
            "Calibrations look whether it is over, at once and then ever more rarely. If it stays, look at cooling, "
            f"power, clocks and neighbours; if that is what it is from now on, an administrator says so: {release}."
        )
    return {
        IncidentKind.QUARANTINED: f"Reset or replace it, then have an administrator end the quarantine: {release}.",
        IncidentKind.MOVED: "Look at its host: power source, governor, cooling, other programs.",
        IncidentKind.LOST: "Look at its host: power, network, the agent's log. An agent that is stopped is not missed.",
        IncidentKind.UNSERVED: (
            "Start an agent with such a device; if there is one, the page of workers says why it takes no jobs."
        ),
    }[told.kind]


_NEW = {
    IncidentKind.QUARANTINED: ("device quarantined", "devices quarantined"),
    IncidentKind.MOVED: ("device not what it was", "devices not what they were"),
    IncidentKind.LOST: ("agent lost", "agents lost"),
    IncidentKind.UNSERVED: ("class not served", "classes not served"),
}
_OVER = {
    IncidentKind.QUARANTINED: ("device released", "devices released"),
    IncidentKind.MOVED: ("device as usual again", "devices as usual again"),
    IncidentKind.LOST: ("agent back or missed no more", "agents back or missed no more"),
    IncidentKind.UNSERVED: ("class served, or not waited for", "classes served, or not waited for"),
}
_STILL = {
    IncidentKind.QUARANTINED: ("device still in quarantine", "devices still in quarantine"),
    IncidentKind.MOVED: ("device still not what it was", "devices still not what they were"),
    IncidentKind.LOST: ("agent still lost", "agents still lost"),
    IncidentKind.UNSERVED: ("class still not served", "classes still not served"),
}
_COUNTED = {What.NEW: _NEW, What.SETTLED: _OVER, What.OPEN: _STILL}


def counts_words(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Return `3 devices quarantined, 1 agent lost and 2 devices released`; `counts` are by what is said and kind."""
    return listing(
        [
            count(n, *words)
            for what, its in _COUNTED.items()
            for kind, words in its.items()
            if (n := counts.get(what, {}).get(kind, 0))
        ]
    )


_STATUS = {
    IncidentKind.QUARANTINED: "quarantined",
    IncidentKind.MOVED: "moved",
    IncidentKind.LOST: "lost",
    IncidentKind.UNSERVED: "not served",
}
_ENDED = {
    IncidentEnd.CALIBRATION: "released",
    IncidentEnd.ADMINISTRATOR: "released",
    IncidentEnd.USUAL: "as usual",
    IncidentEnd.HEARD: "back",
    IncidentEnd.TAKEN_OVER: "over",
    IncidentEnd.FORGOTTEN: "over",
    IncidentEnd.SERVED: "served",
    IncidentEnd.NOTHING_WAITS: "over",
}


def status_words(what: What, kind: IncidentKind, ended_by: str = "") -> str:
    """Return how an incident stands, in a word: `quarantined`, `still lost`, `released`."""
    if what is What.SETTLED:
        return _ENDED[IncidentEnd(ended_by)]
    return f"still {_STATUS[kind]}" if what is What.OPEN else _STATUS[kind]
