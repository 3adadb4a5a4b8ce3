"""What of many tests at once is beyond chance: the procedure, and what comes of it over the series of one commit."""

from __future__ import annotations

import math
from statistics import fmean

import numpy as np
import pytest

from app.analysis.chance import FALSE_DISCOVERY_RATE, largest_beyond_chance
from app.analysis.detection.certainty import CERTAIN, CERTAIN_WHERE_PLACED
from app.analysis.detection.incremental import STRIDE, TAIL, examine_tail
from app.analysis.detection.p_values import chosen_p_value
from app.analysis.detection.report import CONFIRMED

SERIES = 200


@pytest.mark.parametrize(
    ("p_values", "tests", "wanted"),
    [
        ([], 1, 0.0),
        ([0.05], 1, 0.05),
        ([0.051], 1, 0.0),
        ([0.01], 5, 0.01),
        ([0.011], 5, 0.0),
        ([0.04, 0.03, 0.01], 3, 0.04),
        ([0.005, 0.5, 0.9], 10, 0.005),
        ([0.01, 0.01, 0.01], 15, 0.01),
        ([0.01, 0.01, 0.01], 16, 0.0),
        ([0.0, 1.0], 1_000_000, 0.0),
    ],
)
def test_largest_p_value_beyond_chance_follows_benjamini_and_hochberg(p_values, tests, wanted):
    assert largest_beyond_chance(p_values, tests) == wanted


def test_more_p_values_and_smaller_ones_never_take_one_back():
    draw = np.random.default_rng(1)
    for _ in range(200):
        p_values = list(draw.uniform(0, 0.02, size=20))
        some = largest_beyond_chance(p_values[:10], SERIES)
        assert largest_beyond_chance(p_values, SERIES) >= some
        assert largest_beyond_chance([p / 2 for p in p_values[:10]], SERIES) >= some / 2


def told(p_values: np.ndarray) -> np.ndarray:
    return p_values <= largest_beyond_chance(p_values.tolist(), len(p_values))


def test_share_of_false_ones_is_kept_and_most_changes_of_a_few_series_are_told():
    """2 000 commits of 200 series each, of which 0, 3 or 20 change by 5 standard errors."""
    draw = np.random.default_rng(2)
    for changed in (0, 3, 20):
        false, found = [], []
        for _ in range(2_000):
            z = np.abs(draw.normal(size=SERIES) + 5.0 * (np.arange(SERIES) < changed))
            is_told = told(np.array([math.erfc(value / math.sqrt(2)) for value in z]))
            false.append(is_told[changed:].sum() / max(1, is_told.sum()))
            found.append(is_told[:changed].mean() if changed else 1.0)
        assert fmean(false) <= FALSE_DISCOVERY_RATE + 0.01
        assert fmean(found) >= 0.9


def changes_at(values: np.ndarray, at: int) -> list[float]:
    """Return the p-values of what an examination finds to begin within two points of a row."""
    points = examine_tail(values, minimum_effect=0.005).change_points
    return [point.p_value for point in points if abs(point.index - at) <= 2]


def test_commit_that_changes_six_of_200_series_is_told_of_those_and_hardly_of_others():
    """Noise of 1 %, changes of 3 %, looked at five commits later: six such commits, and six that change nothing."""
    draw = np.random.default_rng(3)
    false, found, anything = [], 0, 0
    for commit in range(12):
        changed = 6 if commit < 6 else 0
        p_values = np.ones(SERIES)
        for series in range(SERIES):
            values = np.exp(draw.normal(0.0, 0.01, 100))
            values[-5:] *= 1.03 if series < changed else 1.0
            p_values[series] = min(changes_at(values, 95), default=1.0)
        is_told = told(p_values)
        false.append(is_told[changed:].sum() / max(1, is_told.sum()))
        found += int(is_told[:changed].sum())
        anything += bool(is_told.any()) and changed == 0
    assert fmean(false) <= FALSE_DISCOVERY_RATE
    assert anything <= 1
    assert found >= 0.8 * 36


def test_figures_of_the_statistics_page_follow_from_the_constants():
    longest = TAIL + STRIDE
    weakest, surest = chosen_p_value(CERTAIN, longest), chosen_p_value(CONFIRMED, longest)
    assert largest_beyond_chance([weakest], 26) == weakest
    assert largest_beyond_chance([weakest], 27) == 0.0
    least = chosen_p_value(CERTAIN_WHERE_PLACED, longest)
    assert largest_beyond_chance([least], 2) == least
    assert largest_beyond_chance([least], 3) == 0.0
    assert largest_beyond_chance([weakest] * 7, SERIES) == 0.0
    assert largest_beyond_chance([weakest] * 8, SERIES) == weakest
    assert chosen_p_value(4.8, longest) < FALSE_DISCOVERY_RATE / SERIES < chosen_p_value(4.7, longest)
    assert largest_beyond_chance([surest], 7_500) == surest
