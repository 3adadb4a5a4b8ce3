import math

import pytest

from app.analysis.health import (
    FEWEST_RECORDS,
    LARGEST_DEVIATION,
    LARGEST_Z,
    REPEATS,
    Health,
    HealthState,
    health_of,
    health_of_all,
    keeps_off,
)

VARIED = [100.0, 101.0, 99.0, 100.5, 99.5, 102.0, 98.0, 100.0, 101.0, 99.0]
"""Median 100, median absolute deviation 1: a standard deviation of 1.4826."""


def test_a_probe_within_its_past_is_good():
    health = health_of(VARIED, 101.0)
    assert health.state is HealthState.GOOD
    assert (health.n, health.median) == (10, 100.0)
    assert health.deviation == pytest.approx(0.01)
    assert health.z == pytest.approx(1 / 1.4826)


@pytest.mark.parametrize("now", [106.0, 94.0])
def test_a_probe_that_is_far_off_its_past_either_way_puts_the_device_into_quarantine(now):
    health = health_of(VARIED, now)
    assert abs(health.z) == pytest.approx(6 / 1.4826)
    assert abs(health.z) > LARGEST_Z
    assert health.state is HealthState.QUARANTINED


def test_a_probe_that_is_off_by_five_percent_but_often_is_stays_good():
    wide = [value + 4 * (value - 100.0) for value in VARIED]
    health = health_of(wide, 105.0)
    assert health.deviation > LARGEST_DEVIATION
    assert health.state is HealthState.GOOD


def test_a_probe_of_a_steady_device_may_move_by_two_percent():
    steady = [100 + (value - 100) / 1000 for value in VARIED]
    assert health_of(steady, 101.9).z > LARGEST_Z
    assert health_of(steady, 101.9).state is HealthState.GOOD
    assert health_of(steady, 102.1).state is HealthState.QUARANTINED


def test_a_short_past_says_nothing_but_is_shown():
    health = health_of(VARIED[: FEWEST_RECORDS - 1], 200.0)
    assert health.state is HealthState.UNKNOWN
    assert (health.n, health.median, health.deviation) == (9, 100.0, 1.0)


def test_no_past_is_unknown_without_numbers():
    assert health_of([], 1.0) == Health(HealthState.UNKNOWN, 0)


@pytest.mark.parametrize(
    ("now", "z", "state"),
    [
        (100.0, 0.0, HealthState.GOOD),
        (101.9, math.inf, HealthState.GOOD),
        (102.1, math.inf, HealthState.QUARANTINED),
        (97.9, -math.inf, HealthState.QUARANTINED),
    ],
)
def test_where_the_past_does_not_vary_the_least_deviation_decides(now, z, state):
    health = health_of([100.0] * 8 + [90.0, 120.0], now)
    assert (health.z, health.state) == (z, state)


def test_one_outlier_of_the_past_does_not_hide_a_device_that_changed():
    assert health_of([*VARIED, 1000.0], 110.0).state is HealthState.QUARANTINED


def test_units_do_not_matter():
    in_seconds = health_of([value * 1e-6 for value in VARIED], 106.0 * 1e-6)
    assert in_seconds.state is health_of(VARIED, 106.0).state
    assert in_seconds.z == pytest.approx(health_of(VARIED, 106.0).z)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(value):
    with pytest.raises(ValueError, match="no time"):
        health_of(VARIED, value)
    with pytest.raises(ValueError, match="no time"):
        health_of([*VARIED, value], 100.0)


@pytest.mark.parametrize(
    ("states", "together"),
    [
        ([], HealthState.UNKNOWN),
        (["health_unknown"], HealthState.UNKNOWN),
        (["health_unknown", "good"], HealthState.GOOD),
        (["good", "quarantined", "health_unknown"], HealthState.QUARANTINED),
    ],
)
def test_one_probe_that_is_off_is_enough(states, together):
    assert health_of_all(Health(HealthState(state), 1) for state in states) is together


@pytest.mark.parametrize(
    ("last", "now", "keeps"),
    [
        ([106.0, 106.5], 107.0, True),
        ([94.0, 94.0], 93.0, True),
        ([106.0, 100.0], 107.0, False),
        ([106.0, 106.0], 100.0, False),
        ([94.0, 106.0], 106.0, False),
        ([100.0, 100.0], 100.0, False),
    ],
)
def test_a_processor_keeps_off_when_its_last_three_runs_are_off_to_one_side(last, now, keeps):
    assert len(last) + 1 == REPEATS
    health = keeps_off([*VARIED, *last], now)
    assert (health is not None) is keeps
    if health is not None:
        assert (health.median, health.deviation) == (100.0, pytest.approx(now / 100 - 1))


def test_a_processor_keeps_off_nothing_without_a_past():
    assert keeps_off([], 100.0) is None
    assert keeps_off([106.0, 106.0], 106.0) is None
    assert keeps_off([*VARIED[1:], 106.0, 106.0], 106.0) is None
