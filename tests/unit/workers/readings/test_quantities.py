import pytest

from workers.readings.quantities import quantity, valid_time, whole


@pytest.mark.parametrize("number", [10**400, -(10**400), "9" * 400, "1e308", float("inf"), float("nan")])
def test_a_number_beyond_all_that_a_device_can_tell_is_none(number):
    assert quantity(number, unit="GHz") is None
    assert whole(number, unit="GHz") is None


def test_a_large_number_is_itself():
    assert quantity(2**63, unit="B") == 2.0**63


def test_a_time_that_no_clock_shows_is_none():
    assert valid_time("2026-02-28T23:59:59.5") == "2026-02-28T23:59:59.5"
    assert [valid_time(text) for text in ("2026-02-30T00:00:00", "2026-01-01T24:61:00", "soon")] == [None] * 3
