"""Exact series: what changed, at once and without statistics."""

from __future__ import annotations

import math

import pytest

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
