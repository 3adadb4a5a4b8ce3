import math
import random

import pytest

from app.analysis.machine import FEWEST_AFTER, FEWEST_BEFORE, Placed, came_with, has_drifted, shared_shift

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


@pytest.mark.parametrize(("before", "after"), [(FEWEST_BEFORE - 1, 5), (10, FEWEST_AFTER - 1)])
def test_too_few_records_do_not_say_how_much_the_control_moves_of_itself(before, after):
    assert shared_shift(STEP, [0.010] * before, [0.011] * after) is None
    assert shared_shift(STEP, [0.010] * FEWEST_BEFORE, [0.011] * FEWEST_AFTER) is not None


@pytest.mark.parametrize("sd", [0.003, 0.01, 0.02])
def test_a_quiet_control_is_seldom_taken_for_a_cause(sd):
    shares = [
        shared_shift(0.05, control(0.010, 10, sd, seed=i), control(0.010, 2, sd, seed=10_000 + i)) is not None
        for i in range(1_000)
    ]
    assert sum(shares) <= 30


def test_no_change_needs_no_explanation():
    assert shared_shift(0.0, control(0.010), control(0.011)) is None


OLD, NEW = 10.0, 11.0
SPLIT = [Placed(False, False, OLD)] * 8 + [Placed(True, True, NEW)] * 3


def bridge(value):
    """A commit of before that was measured on the new machine."""
    return Placed(False, True, value)


def test_a_change_between_two_epochs_came_with_the_machine():
    assert came_with(SPLIT, OLD, NEW)


def test_an_older_commit_that_is_slow_on_the_new_machine_too_blames_the_machine():
    assert came_with([*SPLIT, bridge(10.9)], OLD, NEW)


def test_an_older_commit_that_is_as_quick_on_the_new_machine_as_before_blames_the_code():
    assert not came_with([*SPLIT, bridge(10.1)], OLD, NEW)


def test_a_newer_commit_that_is_slow_on_the_old_machine_too_blames_the_code():
    assert not came_with([*SPLIT, Placed(True, False, 11.1)], OLD, NEW)


def test_the_commit_itself_quick_on_the_old_machine_and_slow_on_the_new_one_blames_the_machine():
    assert came_with([*SPLIT, Placed(True, False, 10.0)], OLD, NEW)


def test_an_epoch_in_the_midst_of_a_level_explains_nothing():
    assert not came_with([*SPLIT, *[bridge(OLD)] * 4], OLD, NEW)
    assert not came_with([*SPLIT, *[Placed(True, False, NEW)] * 4], OLD, NEW)


@pytest.mark.parametrize("side", [False, True])
def test_an_epoch_before_or_after_all_of_them_explains_nothing(side):
    points = [Placed(False, side, OLD), Placed(True, side, NEW)]
    assert not came_with(points, OLD, NEW)


def test_as_many_for_the_code_as_for_the_machine_explain_nothing():
    assert not came_with([*SPLIT, bridge(10.1), bridge(10.9)], OLD, NEW)


@pytest.mark.parametrize(
    ("end", "drifted"),
    [
        ({"gemm": 1.0, "triad": 2.0}, False),
        ({"gemm": 1.019, "triad": 1.97}, False),
        ({"gemm": 1.021, "triad": 2.0}, True),
        ({"gemm": 1.0, "triad": 1.95}, True),
        ({"h2d": 7.0}, False),
        ({}, False),
    ],
)
def test_a_run_has_drifted_where_a_probe_of_both_its_ends_moved_by_over_two_percent(end, drifted):
    assert has_drifted({"gemm": 1.0, "triad": 2.0}, end) is drifted
