from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.web.times import ago, exact, seconds_between

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=4), "just now"),
        (timedelta(seconds=5), "5 seconds ago"),
        (timedelta(seconds=59.9), "59 seconds ago"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=30), "30 days ago"),
        (timedelta(days=31), "1 month ago"),
        (timedelta(days=364), "11 months ago"),
        (timedelta(days=366), "1 year ago"),
        (timedelta(days=3653), "10 years ago"),
    ],
)
def test_time_is_told_in_the_largest_unit_that_it_fills(before: timedelta, said: str) -> None:
    assert ago(NOW - before, NOW) == said


def test_exact_time_is_in_utc_whatever_its_zone() -> None:
    there = datetime(2026, 11, 21, 14, 28, 3, tzinfo=timezone(timedelta(hours=3)))
    assert exact(there) == "2026-11-21 11:28:03 UTC"


def test_time_between_is_never_negative() -> None:
    assert seconds_between(NOW, NOW + timedelta(minutes=2)) == 120
    assert seconds_between(NOW, NOW - timedelta(minutes=2)) == 0
