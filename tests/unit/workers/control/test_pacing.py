from statistics import stdev

import pytest

from workers.control.pacing import FULL, SHORT, Pace, timed

PACE = Pace(warm_s=0.5, batch_s=0.1, enough_s=2.0, least=3, longest_s=10.0)


class Scripted:
    """A probe whose runs take no time and say how long they took."""

    def __init__(self, step_s, first_s=0.0):
        self.asked = []
        self._step_s = step_s
        self._first_s = first_s

    def __call__(self, k):
        self.asked.append(k)
        return k * self._step_s(len(self.asked)) + (self._first_s if len(self.asked) == 1 else 0.0)


def test_a_batch_has_the_smallest_power_of_two_of_iterations_that_lasts_long_enough():
    run = Scripted(lambda _: 0.03)
    timing = timed(run, PACE)
    assert timing.seconds == pytest.approx(0.03)
    assert run.asked[-1] == 4
    assert run.asked[:4] == [1, 1, 2, 4]


def test_a_slow_first_run_neither_warms_up_nor_counts():
    run = Scripted(lambda _: 0.03, first_s=100.0)
    timing = timed(run, PACE)
    assert timing.cv == pytest.approx(0.0, abs=1e-9)
    assert run.asked[-1] == 4


def test_batches_go_on_until_there_are_enough_of_both_number_and_time():
    assert timed(Scripted(lambda _: 0.1), PACE).n == 20
    assert timed(Scripted(lambda _: 1.5), PACE).n == 3


def test_a_slow_device_is_not_waited_for_beyond_the_limit():
    assert timed(Scripted(lambda _: 6.0), PACE).n == 2


def test_a_single_batch_has_no_spread():
    timing = timed(Scripted(lambda _: 100.0), PACE)
    assert (timing.seconds, timing.cv, timing.n) == (100.0, None, 1)


def test_the_result_is_the_median_of_the_batches_and_their_spread_beside_it():
    batches = [0.2, 0.9, 0.4]
    run = Scripted(lambda call: 1.0 if call <= 2 else batches[(call - 3) % 3])
    timing = timed(run, Pace(warm_s=0.5, batch_s=0.1, enough_s=0.0, least=3, longest_s=10.0))
    assert (timing.seconds, timing.n) == (0.4, 3)
    assert timing.cv == pytest.approx(stdev(batches) / 0.5)


def test_the_full_kit_has_thirty_batches_and_the_short_one_ends_within_half_a_second():
    assert FULL.least == 30
    for step_s in (1e-7, 1e-3, 0.02, 0.2):
        assert timed(Scripted(lambda _, step_s=step_s: step_s), FULL).n >= 30
    run = Scripted(lambda _: 1e-3)
    timed(run, SHORT)
    assert sum(run.asked) * 1e-3 < 0.5


def test_several_devices_share_the_time_and_keep_the_batches():
    shared = FULL.shared_by(4)
    assert (shared.least, shared.batch_s) == (FULL.least, FULL.batch_s)
    assert (shared.warm_s, shared.enough_s, shared.longest_s) == (
        FULL.warm_s / 4,
        FULL.enough_s / 4,
        FULL.longest_s / 4,
    )
