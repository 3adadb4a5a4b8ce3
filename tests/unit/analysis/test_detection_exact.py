"""Exact series: what changed, at once and without statistics."""

from __future__ import annotations

import math
import sys

import pytest

from app.analysis.detection import exact
from app.analysis.detection.exact import LONGEST_SPIKE, distance, examine_exact

TOLERANCE = math.log(1.02)


def changes(values: list[float]) -> list[tuple[int, float, float]]:
    found = examine_exact(values, TOLERANCE)
    assert found is not None
    return [(point.index, point.before, point.after) for point in found.change_points]


@pytest.mark.parametrize("values", [[], [1.0], [100.0] * 50, [100.0, 101.9, 100.0, 98.1], [0.0] * 9])
def test_what_stays_within_the_tolerance_has_not_changed(values: list[float]):
    assert changes(values) == []


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([100.0, 102.1], [(1, 100.0, 102.1)]),
        ([100.0] * 6 + [90.0] * 7, [(6, 100.0, 90.0)]),
        ([0.0, 0.0, 1.0], [(2, 0.0, 1.0)]),
        ([-1.0, -1.0, 1.0], [(2, -1.0, 1.0)]),
        ([100.0] * 5 + [110.0] * 5 + [100.0] * 5, [(5, 100.0, 110.0), (10, 110.0, 100.0)]),
    ],
)
def test_level_that_differs_by_more_is_a_change_at_its_first_point(values, wanted):
    assert changes(values) == wanted


def test_creep_adds_up_until_it_exceeds_the_tolerance():
    assert [index for index, *_ in changes([100.0, 100.9, 101.8, 102.7, 102.8])] == [3]


@pytest.mark.parametrize("length", range(1, LONGEST_SPIKE + 1))
def test_level_that_comes_back_soon_was_a_spike(length: int):
    found = examine_exact([100.0] * 8 + [150.0] * length + [100.0], TOLERANCE)
    assert found is not None
    assert found.change_points == ()
    assert [(e.start, e.end, e.kind, e.size) for e in found.episodes] == [(8, 8 + length, "spike", 0.5)]


def test_change_has_no_interval_and_is_confirmed_at_once():
    found = examine_exact([100.0, 200.0], TOLERANCE)
    assert found is not None
    (point,) = found.change_points
    assert (point.standing, point.change, point.ci_low, point.ci_high) == ("confirmed", 1.0, None, None)


def test_change_from_zero_has_no_ratio():
    found = examine_exact([0.0, 3.0], TOLERANCE)
    assert found is not None
    assert [point.change for point in found.change_points] == [None]


@pytest.mark.parametrize(("before", "after", "change"), [(1e-300, 2e-300, 1.0), (5e-324, 1.7e308, None)])
def test_ratio_of_extreme_values_is_told_where_it_is_a_number(before, after, change):
    found = examine_exact([before] * 6 + [after] * 6, TOLERANCE)
    assert found is not None
    assert [point.change for point in found.change_points] == [change]


def work_of(n: int) -> int:
    """Return how many lines of the module run for a series of n blocks that spikes and changes as often as it may."""
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        if frame.f_code.co_filename != exact.__file__:
            return None
        lines += event == "line"
        return count

    values = [level for i in range(n) for level in [1.5**i] * 8 + [7.0**i] + [1.5**i] * 8]
    before = sys.gettrace()
    sys.settrace(count)
    try:
        assert len(examine_exact(values, TOLERANCE).change_points) == n - 1
    finally:
        sys.settrace(before)
    return lines


def test_twice_as_long_a_series_is_twice_the_work_however_often_it_changes():
    assert work_of(200) / work_of(100) == pytest.approx(2, rel=0.05)


def test_series_that_varies_all_the_time_is_handed_back():
    assert examine_exact([100.0, 110.0] * 10, TOLERANCE) is None


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (0, 0, 0),
        (2, 2, 0),
        (1, math.e, 1),
        (math.e, 1, 1),
        (0, 1, math.inf),
        (-1, 1, math.inf),
        (-1, -math.e, 1),
    ],
)
def test_distance_is_of_logarithms_and_infinite_across_zero(start, end, wanted):
    assert distance(start, end) == pytest.approx(wanted)
