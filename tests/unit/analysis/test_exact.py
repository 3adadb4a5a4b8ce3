import math

import pytest

from app.analysis.exact import compare_exact, is_countable
from app.domain.verdicts import Verdict

REGRESSED, IMPROVED, NO_REGRESSION = Verdict.REGRESSED, Verdict.IMPROVED, Verdict.NO_REGRESSION


@pytest.mark.parametrize(
    ("base", "head", "better", "verdict", "change"),
    [
        ([100, 100], [100, 100], "lower", NO_REGRESSION, 0.0),
        ([100, 100], [101, 101], "lower", NO_REGRESSION, 0.01),
        ([100, 100], [103, 103], "lower", REGRESSED, 0.03),
        ([100, 100], [97, 97], "lower", IMPROVED, -0.03),
        ([100, 100], [97, 97], "higher", REGRESSED, -0.03),
        ([100, 100], [103, 103], "higher", IMPROVED, 0.03),
        ([0, 0], [0, 0], "lower", NO_REGRESSION, 0.0),
        ([2, 2], [0, 0], "lower", IMPROVED, -1.0),
        ([2, 2], [0, 0], "higher", REGRESSED, -1.0),
        ([100, 101], [150, 150], "lower", REGRESSED, 150 / 100.5 - 1),
    ],
)
def test_medians_are_compared_against_the_tolerance(base, head, better, verdict, change):
    found = compare_exact(base, head, better, 0.02)
    assert (found.verdict, found.change) == (verdict, pytest.approx(change))
    assert not found.from_zero


@pytest.mark.parametrize(("better", "verdict"), [("lower", REGRESSED), ("higher", IMPROVED)])
def test_change_from_zero_has_a_direction_but_no_number(better, verdict):
    found = compare_exact([0, 0], [1, 1], better, 0.02)
    assert (found.verdict, found.change, found.from_zero) == (verdict, None, True)
    assert math.isinf(found.effect)


def test_change_of_exactly_the_tolerance_is_no_regression():
    tolerance = math.log(8) - math.log(4)
    assert compare_exact([4, 4], [8, 8], "lower", tolerance).verdict is NO_REGRESSION


def test_any_change_counts_without_a_tolerance():
    assert compare_exact([1000, 1000], [1001, 1001], "lower", 0.0).verdict is REGRESSED


@pytest.mark.parametrize("base", [[100, 103], [0, 1]])
def test_base_that_differs_from_itself_is_not_exact(base):
    assert compare_exact(base, [100, 100], "lower", 0.02) is None


@pytest.mark.parametrize("head", [[103, 104], [100, 110], [97.5, 98.5]])
def test_change_within_tolerance_and_spread_together_is_not_exact(head):
    assert compare_exact([100, 101.9], head, "lower", 0.02) is None


def test_counts_that_are_zero_only_at_times_are_not_exact():
    assert compare_exact([0, 0], [0, 1], "lower", 0.02) is None


@pytest.mark.parametrize(
    ("value", "counts"), [(0, True), (7.5, True), (-1, False), (math.nan, False), (math.inf, False)]
)
def test_only_finite_values_from_zero_on_can_be_compared_exactly(value, counts):
    assert is_countable(value) is counts
