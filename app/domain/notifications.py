"""Notifications: who is told of a project's alerts and of machines, when, and what a message says, as values.

A message is a value without a form: `app/reports/notifications` gives it one for each kind of receiver.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app.domain.errors import DataError
from app.domain.incidents import IncidentKind, is_of_control

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"
"""What a notifier is called: it stands in addresses."""


class NotifierKind(StrEnum):
    """What is told."""

    SLACK = "slack"
    WEBHOOK = "webhook"
    EMAIL = "email"
    GITHUB_ISSUE = "github_issue"


class About(StrEnum):
    """What is told of, by which people choose: of alerts the first two, of incidents of machines the others."""

    CHANGES = "changes"
    CHECKS = "checks"
    FLEET = "fleet"
    """Who can measure: devices in quarantine, agents that were lost, classes that nobody serves."""
    CONTROL = "control"
    """What is measured on: devices whose control workload is off."""


OF_ALERTS = (About.CHANGES, About.CHECKS)
OF_MACHINES = (About.FLEET, About.CONTROL)


class Pace(StrEnum):
    """When somebody is told: at once, or what there was, once a day or a week."""

    AT_ONCE = "at_once"
    DAILY = "daily"
    WEEKLY = "weekly"


class What(StrEnum):
    """What a message says of an alert."""

    NEW = "new"
    AGAIN = "again"
    WORSE = "worse"
    SETTLED = "settled"
    OPEN = "open"


class MessageKind(StrEnum):
    """What a message is."""

    ALERTS = "alerts"
    MACHINES = "machines"
    DIGEST = "digest"
    TEST = "test"
    REPORT = "report"


class SendState(StrEnum):
    """What became of a message: `handed` is told by the forge's own queue."""

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"
    HANDED = "handed"


WEEKLY_REPORT = "weekly_report"
"""A report that a notifier may ask for."""

REPORTS = (WEEKLY_REPORT,)

WORSE_BY = 1.25
"""An alert's largest change has to have grown by a quarter to be told again."""

FEW = 5
"""Alerts, or incidents, of one message that are told singly; beyond these there is a number and a link."""


@dataclass(frozen=True)
class Wishes:
    """What somebody wants to be told of a project's alerts, and of the machines that it is measured on, and when.

    `min_change` and `breaks_through` are shares: 0.05 is 5 %. Hours are those of `zone`. A machine has neither size nor
    owner: `min_change`, `owners` and `breaks_through` are of alerts alone.
    """

    about: tuple[About, ...] = OF_ALERTS
    min_change: float = 0.0
    """Changes that are smaller are not told."""
    owners: tuple[str, ...] = ()
    """Only alerts of these people or teams; empty: of everybody. An alert of which nobody knows whose it is counts."""
    pace: Pace = Pace.AT_ONCE
    hour: int = 9
    weekday: int = 0
    """Of a weekly digest, 0 is Monday."""
    zone: str = "UTC"
    quiet_from: str = ""
    """`HH:MM`; empty: no quiet hours."""
    quiet_until: str = ""
    breaks_through: float | None = None
    """A change at least so large is told in quiet hours, too; None: nothing is."""
    empty_digests: bool = False
    """Whether a digest comes that has nothing to say."""
    reports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise DataError for what cannot be."""
        _require(
            bool(self.about) or bool(self.reports),
            "choose what is told: changes, checks, fleet, control, or a report",
        )
        _require(0 <= self.min_change <= 10, "the smallest change is a share from 0 to 10: 0.05 is 5 %")
        _require(0 <= self.hour <= 23, "the hour is from 0 to 23")
        _require(0 <= self.weekday <= 6, "the day of the week is from 0, Monday, to 6, Sunday")
        _require(
            self.breaks_through is None or 0 < self.breaks_through <= 10,
            "what breaks through is a share above 0, up to 10: 0.2 is 20 %",
        )
        _require(len(self.owners) <= 50 and all(map(_is_name, self.owners)), "owners are up to 50 names")
        _require(set(self.reports) <= set(REPORTS), f"there are the reports {', '.join(REPORTS)}")
        _require(bool(self.quiet_from) == bool(self.quiet_until), "quiet hours have a beginning and an end")
        _require(
            not self.quiet_from or self.quiet_from != self.quiet_until,
            "quiet hours that end when they begin are none: leave both out",
        )
        for text in filter(None, (self.quiet_from, self.quiet_until)):
            _clock(text)
        _zone(self.zone)

    @property
    def of_alerts(self) -> bool:
        """Whether any alert is told."""
        return not set(OF_ALERTS).isdisjoint(self.about)

    @property
    def of_machines(self) -> bool:
        """Whether any incident of a machine is told."""
        return not set(OF_MACHINES).isdisjoint(self.about)

    def wants_incident(self, kind: IncidentKind, detail: dict[str, Any]) -> bool:
        """Say whether an incident of this kind, with what was seen, is told."""
        is_of_fleet = kind is not IncidentKind.MOVED
        return (About.FLEET in self.about and is_of_fleet) or (
            About.CONTROL in self.about and is_of_control(kind, detail)
        )


def wishes_of(document: dict[str, Any]) -> Wishes:
    """Return what somebody wants, from its document; keys that this release does not know are left out."""
    known = {name: value for name, value in document.items() if name in {its.name for its in fields(Wishes)}}
    for name, kind in (("about", About), ("owners", str), ("reports", str)):
        if name in known:
            known[name] = tuple(kind(value) for value in known[name])
    if "pace" in known:
        known["pace"] = Pace(known["pace"])
    return Wishes(**known)


def kept_wishes(document: dict[str, Any]) -> Wishes:
    """Return stored wishes; a zone that the time zone database has dropped since is UTC, and nobody goes untold."""
    try:
        _zone(document.get("zone", "UTC"))
    except DataError:
        document = {**document, "zone": "UTC"}
    return wishes_of(document)


def _require(is_right: bool, otherwise: str) -> None:
    if not is_right:
        raise DataError(otherwise)


def _is_name(text: str) -> bool:
    return 0 < len(text) <= 100 and text.isprintable()


def _clock(text: str) -> time:
    hours, _, minutes = text.partition(":")
    is_form = len(text) == 5 and hours.isdecimal() and minutes.isdecimal() and text.isascii()
    if is_form and int(hours) < 24 and int(minutes) < 60:
        return time(int(hours), int(minutes))
    raise DataError(f"{text!r} is no time of day: right is 22:00")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise DataError(f"there is no time zone {name!r}: right is Europe/Berlin or UTC") from None


def quiet_until(wishes: Wishes, now: datetime) -> datetime | None:
    """Return when the quiet hours end in which `now` lies, None where it lies in none.

    They begin and end by the clock on the wall: in a night in which the clocks change they are an hour longer or
    shorter. A time that there is not in that night is as long after midnight as it would be without the change.
    """
    if not wishes.quiet_from:
        return None
    zone, begin, end = _zone(wishes.zone), _clock(wishes.quiet_from), _clock(wishes.quiet_until)
    today = now.astimezone(zone).date()
    for day in (today - timedelta(days=1), today):
        until = _at(day if begin < end else day + timedelta(days=1), end, zone)
        if _at(day, begin, zone) <= now < until:
            return until
    return None


def next_digest(wishes: Wishes, after: datetime) -> datetime:
    """Return the first time of a digest behind `after`: its hour, of its day of the week where it is weekly."""
    zone = _zone(wishes.zone)
    day = after.astimezone(zone).date()
    while True:
        found = _at(day, time(wishes.hour), zone)
        is_day = wishes.pace is not Pace.WEEKLY or day.weekday() == wishes.weekday
        if is_day and found > after:
            return found
        day += timedelta(days=1)


def _at(day: date, clock: time, zone: ZoneInfo) -> datetime:
    """Return a local time in UTC; of one that there is twice, the first."""
    return datetime.combine(day, clock, zone).astimezone(UTC)


@dataclass(frozen=True)
class AlertItem:
    """What a message says of one alert."""

    alert: int
    what: What
    sentence: str
    """What became worse: `resize[batch=8] latency_p50 +36 % and 4 more`."""
    state: str
    branch: str
    commit: str
    subject: str
    author: str
    n_changes: int
    n_checks: int
    change: float | None
    """The largest change, head/base − 1; None where only checks failed."""
    owners: tuple[str, ...]
    opened_at: str
    url: str
    pull: int | None = None
    pull_url: str = ""
    by: str = ""
    """Who moved it last, and what they said."""
    comment: str = ""


@dataclass(frozen=True)
class MachineItem:
    """What a message says of one incident; `what` is new, settled or open."""

    incident: int
    what: What
    kind: IncidentKind
    name: str
    """The device's hardware id, the agent's name, or the class."""
    classes: tuple[str, ...]
    """The device classes that it concerns."""
    sentence: str
    """What is wrong, with the number that says so; of one that is over, how it was."""
    meaning: str
    """What follows from it."""
    advice: str
    """What to do, where there is something."""
    opened_at: str
    url: str
    closed_at: str = ""
    ended_by: str = ""


@dataclass(frozen=True)
class Message:
    """What is told. `items` are the first few of those that `counts` counts; `url` is where all are.

    `machines` are the first few incidents; `machine_counts` counts them, by what is said and by kind.
    """

    kind: MessageKind
    project: str
    title: str
    url: str
    at: str
    items: tuple[AlertItem, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    since: str = ""
    """Of a digest, what it goes back to."""
    text: str = ""
    """Of a report, what it says in a few lines."""
    html: str = ""
    """Of a report, the page itself, for whoever takes one."""
    letter: str = ""
    """Of a report, what a mail shows of it."""
    report: str = ""
    """Which report it is."""
    machines: tuple[MachineItem, ...] = ()
    machine_counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def left_out(self) -> int:
        """How many alerts are counted and not told singly."""
        return sum(self.counts.values()) - len(self.items)

    @property
    def machines_left_out(self) -> int:
        """How many incidents are counted and not told singly."""
        return sum(n for kinds in self.machine_counts.values() for n in kinds.values()) - len(self.machines)

    def document(self) -> dict[str, Any]:
        """Return it as JSON stores it."""
        return asdict(self)


def message_of(document: dict[str, Any]) -> Message:
    """Return the message of a stored document."""
    known = {name: value for name, value in document.items() if name in {its.name for its in fields(Message)}}
    items = tuple(_item(its) for its in known.pop("items", ()))
    machines = tuple(_machine(its) for its in known.pop("machines", ()))
    return Message(**{**known, "kind": MessageKind(known["kind"])}, items=items, machines=machines)


def _item(document: dict[str, Any]) -> AlertItem:
    return AlertItem(**{**document, "what": What(document["what"]), "owners": tuple(document["owners"])})


def _machine(document: dict[str, Any]) -> MachineItem:
    its = {
        "what": What(document["what"]),
        "kind": IncidentKind(document["kind"]),
        "classes": tuple(document["classes"]),
    }
    return MachineItem(**{**document, **its})


@dataclass(frozen=True)
class Letter:
    """A message in the form that one kind of receiver takes, as it goes out.

    `key` is the same at every try, so that a receiver can leave out what it has already.
    """

    key: str
    title: str
    text: str
    html: str = ""
    body: bytes = b""
    """Of what is posted."""
    page: str = ""
    """A page that is attached, HTML."""
    thread: str = ""
    """The key of the message that this one goes on from; empty: it is the first."""
    taken_by: tuple[str, ...] = ()
    """Of a mail, who has it from an earlier try."""
