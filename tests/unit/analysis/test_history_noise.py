"""The noise of a history, and the smallest step that it shows."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.analysis.detection.incremental import examine_tail
from app.analysis.history_noise import STEP_POINTS, sd_between_neighbours, smallest_step


@pytest.mark.parametrize(("share", "least", "most"), [(1.0, 0.8, 1.0), (0.5, 0.0, 0.3)])
def test_smallest_step_of_a_history_is_found_by_ten_points_and_half_of_it_hardly_ever(share, least, most):
    draw, sd, before, trials = np.random.default_rng(20_261_122), 0.02, 50, 60
    step, found = 1 + share * smallest_step(sd * math.sqrt(2)), 0
    for _ in range(trials):
        values = np.exp(draw.normal(0, sd, before + STEP_POINTS))
        values[before:] *= step
        changes = examine_tail(values, 0, minimum_effect=0.005).change_points
        found += any(abs(change.index - before) <= 3 for change in changes)
    assert least <= found / trials <= most


def test_noise_between_neighbours_is_that_of_pairs_whatever_the_level_does():
    values = np.exp(np.random.default_rng(3).normal(0, 0.01, 2_000))
    values[700:] *= 2
    values[::100] *= 5
    assert sd_between_neighbours(values.tolist()) == pytest.approx(0.01 * math.sqrt(2), rel=0.08)


def test_noise_of_few_points_or_of_no_ratios_is_not_known():
    assert sd_between_neighbours([1.0] * 7) is None
    assert sd_between_neighbours([0.0] * 20) is None
    assert sd_between_neighbours([1.0] * 20) == 0.0


def test_noise_that_shows_in_few_points_is_not_none():
    assert sd_between_neighbours([1.0] * 15 + [1.1] * 5) > 0
