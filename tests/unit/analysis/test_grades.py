import math

import numpy as np
import pytest

from app.analysis.grades import (
    LARGEST_SD,
    PAIRS,
    POWER,
    grade_of_device,
    smallest_effect,
)
from app.analysis.judge import GRADE_A_SD, GRADE_B_SD
from app.analysis.sequential import TOLERANCE, SequentialRule, g_from_history
from app.domain.verdicts import Verdict
from tests.unit.analysis.trials import simulate

TRIALS = 40_000
SURE = 0.004
"""Three standard errors of a share of 0.95 among so many trials, and a little."""
NEVER_PASS = 1e-300
"""A level at which the interval of `no_regression` stays infinite."""


def rule_for(sd):
    return SequentialRule(tau0=0.0, g=g_from_history(sd, TOLERANCE), alpha_pass=NEVER_PASS)


def power(change, sd, trials=TRIALS):
    """The share of simulated runs of 32 pairs in which the rule finds a change."""
    effects = np.random.default_rng(20_260_131).normal(math.log1p(change), sd, (trials, 1, PAIRS))
    return float((simulate(rule_for(sd), effects, together=False).verdict == 1).mean())


@pytest.mark.parametrize(("change", "sd"), LARGEST_SD.items())
def test_a_change_is_found_with_the_largest_deviation_told_and_not_with_a_much_larger_one(change, sd):
    assert power(change, sd) >= POWER - SURE
    assert power(change, 1.02 * sd) < POWER


def test_the_power_is_that_of_the_rule_itself():
    change, sd = 0.01, LARGEST_SD[0.01]
    effects = np.random.default_rng(7).normal(math.log1p(change), sd, (2000, PAIRS)).tolist()
    found = [rule_for(sd).decide(trial).verdict is Verdict.REGRESSED for trial in effects]
    assert sum(found) / len(found) == pytest.approx(POWER, abs=0.015)


@pytest.mark.parametrize(
    ("sigma_pair", "change"),
    [
        (0.0, 0.0025),
        (0.00228, 0.0025),
        (0.00229, 0.005),
        (0.0046, 0.005),
        (0.005, 0.01),
        (0.01, 0.02),
        (0.0198, 0.02),
        (0.02, 0.03),
        (0.04, 0.05),
        (0.09, 0.1),
        (0.0954, 0.1),
        (0.0955, None),
        (math.inf, None),
    ],
)
def test_the_smallest_change_that_would_be_found_follows_from_the_deviation(sigma_pair, change):
    assert smallest_effect(sigma_pair) == change


@pytest.mark.parametrize("sigma_pair", [-0.001, math.nan])
def test_what_is_no_deviation_is_refused(sigma_pair):
    with pytest.raises(ValueError, match="standard deviation"):
        smallest_effect(sigma_pair)


@pytest.mark.parametrize(
    ("sigma_pair", "exclusive", "clocks_locked", "grade"),
    [
        (GRADE_A_SD, True, True, "A"),
        (GRADE_A_SD, True, False, "B"),
        (GRADE_A_SD, False, True, "C"),
        (GRADE_A_SD + 1e-6, True, True, "B"),
        (GRADE_B_SD, True, False, "B"),
        (GRADE_B_SD, False, False, "C"),
        (GRADE_B_SD + 1e-6, True, True, "C"),
        (None, True, True, None),
        (None, False, True, "C"),
    ],
)
def test_a_device_is_graded_by_its_noise_and_by_what_is_done_about_it(
    sigma_pair, exclusive, clocks_locked, grade
):
    assert grade_of_device(sigma_pair, exclusive=exclusive, clocks_locked=clocks_locked) == grade
