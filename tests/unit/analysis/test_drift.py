"""What a series lost over months that no confirmed change explains."""

from __future__ import annotations

import math

import pytest

from app.analysis.drift import rest_of
from app.domain.weekly import Level


def level(median: float, *, sd: float = 0.005, n: int = 10) -> Level:
    """Return a week whose points have a noise of so much (as a share)."""
    half = 1.349 * sd * median / 2
    return Level(median, median - half, median + half, n)


def test_a_slow_loss_is_a_drift():
    found = rest_of(level(10.0), level(10.6), "lower", [])
    assert found is not None
    assert found.is_drift
    assert found.rest == pytest.approx(math.log(1.06))


def test_of_a_rate_the_loss_is_downwards():
    assert rest_of(level(10.6), level(10.0), "higher", []).is_drift
    assert not rest_of(level(10.0), level(10.6), "higher", []).is_drift


def test_what_a_confirmed_change_explains_is_no_drift():
    assert not rest_of(level(10.0), level(10.6), "lower", [math.log(1.055)]).is_drift


def test_a_loss_behind_a_confirmed_gain_is_found_though_the_level_is_the_same():
    found = rest_of(level(10.0), level(10.0), "lower", [-math.log(1.06)])
    assert found.is_drift
    assert found.effect == 0


def test_noise_of_few_points_is_no_drift():
    assert not rest_of(level(10.0, sd=0.05, n=5), level(10.6, sd=0.05, n=5), "lower", []).is_drift
    assert rest_of(level(10.0, sd=0.05, n=2_000), level(10.6, sd=0.05, n=2_000), "lower", []).is_drift


def test_less_than_two_percent_is_nothing_to_act_on():
    assert not rest_of(level(10.0, sd=0.0), level(10.19, sd=0.0), "lower", []).is_drift
    assert rest_of(level(10.0, sd=0.0), level(10.21, sd=0.0), "lower", []).is_drift


@pytest.mark.parametrize(
    ("then", "now"), [(level(10, n=2), level(11)), (level(0.0), level(11)), (level(10), level(-1))]
)
def test_weeks_of_few_points_and_levels_that_are_no_ratio_tell_nothing(then, now):
    assert rest_of(then, now, "lower", []) is None


def test_the_error_is_that_of_two_medians():
    found = rest_of(level(10.0, sd=0.01, n=16), level(10.0, sd=0.01, n=16), "lower", [])
    assert found.error == pytest.approx(1.2533 * 0.01 / 4 * math.sqrt(2))
