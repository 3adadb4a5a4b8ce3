"""Quiet hours and digests by the clock on the wall, also in nights in which it changes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.domain.errors import DataError
from app.domain.incidents import IncidentKind
from app.domain.notifications import (
    About,
    MachineItem,
    Message,
    MessageKind,
    Pace,
    What,
    Wishes,
    kept_wishes,
    message_of,
    next_digest,
    quiet_until,
    wishes_of,
)

BERLIN = {"zone": "Europe/Berlin", "quiet_from": "22:00", "quiet_until": "07:00"}
NIGHT = {"zone": "Europe/Berlin", "quiet_from": "01:30", "quiet_until": "02:30"}
NOON = {"zone": "UTC", "quiet_from": "12:00", "quiet_until": "13:00"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("hours", "now", "until"),
    [
        (BERLIN, "2026-07-01T19:59", None),
        (BERLIN, "2026-07-01T20:00", "2026-07-02T05:00"),
        (BERLIN, "2026-07-02T04:59", "2026-07-02T05:00"),
        (BERLIN, "2026-07-02T05:00", None),
        (BERLIN, "2026-01-10T21:00", "2026-01-11T06:00"),
        # The clock goes from 2 to 3 on 29 March: the night is an hour shorter.
        (BERLIN, "2026-03-28T21:00", "2026-03-29T05:00"),
        (BERLIN, "2026-03-29T05:00", None),
        # And from 3 to 2 on 25 October: it is an hour longer.
        (BERLIN, "2026-10-24T20:00", "2026-10-25T06:00"),
        (BERLIN, "2026-10-25T05:30", "2026-10-25T06:00"),
        # 2:30 is not on the clock on 29 March: as long after midnight as it would be is 3:30.
        (NIGHT, "2026-03-29T00:30", "2026-03-29T01:30"),
        (NIGHT, "2026-03-29T01:30", None),
        # 2:30 comes twice on 25 October: the first time counts.
        (NIGHT, "2026-10-25T00:00", "2026-10-25T00:30"),
        (NIGHT, "2026-10-25T01:00", None),
        (NOON, "2026-07-01T12:30", "2026-07-01T13:00"),
        (NOON, "2026-07-01T13:00", None),
        (
            {"zone": "Asia/Kolkata", "quiet_from": "22:00", "quiet_until": "06:00"},
            "2026-07-01T17:00",
            "2026-07-02T00:30",
        ),
        ({}, "2026-07-01T12:30", None),
    ],
)
def test_quiet_hours_end_by_the_clock_on_the_wall(hours: dict[str, str], now: str, until: str | None) -> None:
    assert quiet_until(Wishes(**hours), at(now)) == (at(until) if until else None)


@pytest.mark.parametrize(
    ("wishes", "after", "expected"),
    [
        ({"pace": Pace.DAILY, "hour": 9}, "2026-07-01T08:00", "2026-07-01T09:00"),
        ({"pace": Pace.DAILY, "hour": 9}, "2026-07-01T09:00", "2026-07-02T09:00"),
        ({"pace": Pace.DAILY, "hour": 9, "zone": "Europe/Berlin"}, "2026-03-28T12:00", "2026-03-29T07:00"),
        ({"pace": Pace.DAILY, "hour": 2, "zone": "Europe/Berlin"}, "2026-03-28T12:00", "2026-03-29T01:00"),
        ({"pace": Pace.DAILY, "hour": 2, "zone": "Europe/Berlin"}, "2026-10-24T12:00", "2026-10-25T00:00"),
        ({"pace": Pace.DAILY, "hour": 2, "zone": "Europe/Berlin"}, "2026-10-25T00:00", "2026-10-26T01:00"),
        ({"pace": Pace.WEEKLY, "hour": 8, "weekday": 0}, "2026-11-23T07:59", "2026-11-23T08:00"),
        ({"pace": Pace.WEEKLY, "hour": 8, "weekday": 0}, "2026-11-23T08:00", "2026-11-30T08:00"),
        (
            {"pace": Pace.WEEKLY, "hour": 8, "weekday": 6, "zone": "Pacific/Auckland"},
            "2026-11-23T08:00",
            "2026-11-28T19:00",
        ),
    ],
)
def test_digest_comes_at_its_hour_once(wishes: dict[str, object], after: str, expected: str) -> None:
    assert next_digest(Wishes(**wishes), at(after)) == at(expected)


@pytest.mark.parametrize(
    "wrong",
    [
        {"zone": "Europe/Bonn"},
        {"zone": "../etc/passwd"},
        {"quiet_from": "22:00"},
        {"quiet_from": "22:00", "quiet_until": "22:00"},
        {"quiet_from": "24:00", "quiet_until": "07:00"},
        {"quiet_from": "9:00", "quiet_until": "07:00"},
        {"hour": 24},
        {"weekday": 7},
        {"min_change": -0.1},
        {"min_change": float("nan")},
        {"breaks_through": 11},
        {"breaks_through": 0.0},
        {"about": ()},
        {"owners": ("a\nb",)},
        {"reports": ("monthly",)},
    ],
)
def test_wish_that_cannot_be_is_refused_in_words(wrong: dict[str, object]) -> None:
    with pytest.raises(DataError) as raised:
        Wishes(**wrong)
    assert len(str(raised.value)) > 20


def test_what_another_release_stored_besides_is_left_out() -> None:
    assert wishes_of({"about": ["checks"], "pace": "daily", "phase": "full moon"}).pace is Pace.DAILY
    message = Message(MessageKind.TEST, "p", "t", "u", "2026-07-01T00:00:00+00:00", counts={"new": 1})
    assert message_of(message.document() | {"colour": "red"}) == message


BY_CONTROL = {"probe": "triad", "seconds": 2.0, "usual_s": 1.0, "deviation": 1.0}
BY_MEMORY = {"ecc_uncorrected": 1}


@pytest.mark.parametrize(
    ("kind", "detail", "told"),
    [
        (IncidentKind.QUARANTINED, BY_CONTROL, {About.FLEET, About.CONTROL}),
        (IncidentKind.QUARANTINED, BY_MEMORY, {About.FLEET}),
        (IncidentKind.MOVED, BY_CONTROL, {About.CONTROL}),
        (IncidentKind.LOST, {}, {About.FLEET}),
        (IncidentKind.UNSERVED, {}, {About.FLEET}),
    ],
)
def test_fleet_is_what_cannot_measure_and_control_what_is_not_what_it_was(
    kind: IncidentKind, detail: dict[str, object], told: set[About]
) -> None:
    assert {about for about in About if Wishes(about=(about,)).wants_incident(kind, detail)} == told


def test_who_says_nothing_or_said_so_before_is_told_of_alerts_alone() -> None:
    for wishes in (Wishes(), wishes_of({}), kept_wishes({"about": ["changes", "checks"], "min_change": 0.1})):
        assert wishes.of_alerts
        assert not wishes.of_machines


def test_message_of_machines_is_read_as_it_was_stored() -> None:
    item = MachineItem(
        incident=7,
        what=What.NEW,
        kind=IncidentKind.LOST,
        name="edge-3",
        classes=("h100", "l4"),
        sentence="agent edge-3 was lost",
        meaning="",
        advice="",
        opened_at="2026-11-23T14:02:11+00:00",
        url="http://r/workers#worker-4",
    )
    counts = {"new": {"lost": 100}}
    message = Message(MessageKind.MACHINES, "p", "t", "u", "a", machines=(item,), machine_counts=counts)
    assert message_of(message.document()) == message
    assert message.machines_left_out == 99
    assert message.left_out == 0
