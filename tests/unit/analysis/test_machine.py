import math
import random

import pytest

from app.analysis.machine import shared_shift

STEP = math.log(1.10)


def control(level, n=10, sd=0.003, seed=1):
    draw = random.Random(seed)
    return [level * math.exp(draw.gauss(0, sd)) for _ in range(n)]


def test_a_control_that_moves_along_explains_the_change():
    found = shared_shift(STEP, control(0.010), control(0.011))
    assert found.shift == pytest.approx(STEP, abs=0.01)
    assert (found.before_s, found.after_s) == (pytest.approx(0.010, rel=0.01), pytest.approx(0.011, rel=0.01))


def test_a_machine_that_became_faster_explains_a_fall():
    assert shared_shift(-STEP, control(0.011), control(0.010)) is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (control(0.010), control(0.010, seed=2)),  # it stayed
        (control(0.011), control(0.010)),  # it moved the other way
        (control(0.010), control(0.0103, seed=2)),  # by less than half of the change
        ([], control(0.011)),
        (control(0.010), []),
    ],
)
def test_a_control_that_does_not_move_along_explains_nothing(before, after):
    assert shared_shift(STEP, before, after) is None


def test_a_control_as_noisy_as_the_step_explains_nothing():
    assert shared_shift(STEP, control(0.010, sd=0.15), control(0.011, sd=0.15, seed=2)) is None


def test_a_tiny_shift_is_the_controls_own():
    assert shared_shift(0.006, [0.01] * 5, [0.01 * math.exp(0.006)] * 5) is None


def test_one_record_on_either_side_is_enough_where_it_is_exact():
    assert shared_shift(STEP, [0.010], [0.011]) is not None


def test_no_change_needs_no_explanation():
    assert shared_shift(0.0, control(0.010), control(0.011)) is None
