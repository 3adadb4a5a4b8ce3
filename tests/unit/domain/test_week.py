"""Weeks as ISO 8601 numbers them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from app.domain.errors import UsageError
from app.domain.week import Week, parse_week, week_of


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (datetime(2026, 11, 23, 0, 0, tzinfo=UTC), "2026-W48"),
        (datetime(2026, 11, 22, 23, 59, 59, tzinfo=UTC), "2026-W47"),
        (datetime(2027, 1, 3, 12, 0, tzinfo=UTC), "2026-W53"),
        (datetime(2024, 12, 30, 0, 0, tzinfo=UTC), "2025-W01"),
        (datetime(2026, 11, 23, 0, 30, tzinfo=timezone(timedelta(hours=1))), "2026-W47"),
    ],
)
def test_a_moment_is_in_the_week_of_its_day_in_utc(moment: datetime, name: str) -> None:
    week = week_of(moment)
    assert str(week) == name
    assert moment in week
    assert parse_week(name) == week


def test_a_week_goes_from_monday_to_sunday_and_its_end_is_the_next_ones_start() -> None:
    week = parse_week("2026-w47")
    assert (week.monday, week.sunday) == (date(2026, 11, 16), date(2026, 11, 22))
    assert week.end not in week
    assert week == week_of(week.end).before()
    assert week.before(47) == Week(date(2025, 12, 22))


@pytest.mark.parametrize(
    "text",
    ["2026-W54", "2025-W53", "2026-47", "last week", "", "2026-W00", "0000-W01", "1969-W01", "9999-W52"],
)
def test_what_is_no_week_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="2026-W47"):
        parse_week(text)
