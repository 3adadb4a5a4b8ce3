"""When devices measure a commit against itself."""

from datetime import UTC, datetime

import pytest

from app.services.device_jobs import night_at


def at(day, hour, minute=30):
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize("hour", [1, 2, 4])
def test_a_night_within_a_day(hour):
    assert night_at(at(5, hour), 1, 5) == (at(5, 1, 0), at(5, 5, 0))


@pytest.mark.parametrize("hour", [0, 5, 12, 23])
def test_by_day_there_is_no_night(hour):
    assert night_at(at(5, hour), 1, 5) is None


@pytest.mark.parametrize("now", [at(5, 22), at(5, 23), at(6, 0), at(6, 3)])
def test_a_night_over_midnight_is_one_night(now):
    assert night_at(now, 22, 4) == (at(5, 22, 0), at(6, 4, 0))


@pytest.mark.parametrize("now", [at(5, 21), at(5, 4), at(5, 12)])
def test_a_night_over_midnight_ends(now):
    assert night_at(now, 22, 4) is None


def test_a_night_until_midnight():
    assert night_at(at(5, 23), 22, 24) == (at(5, 22, 0), at(6, 0, 0))
    assert night_at(at(6, 0), 22, 24) is None


def test_a_night_that_lasts_all_day():
    assert night_at(at(5, 13), 0, 24) == (at(5, 0, 0), at(6, 0, 0))


@pytest.mark.parametrize("hour", [0, 7, 8, 23])
def test_a_night_without_hours_never_is(hour):
    assert night_at(at(5, hour), 7, 7) is None
