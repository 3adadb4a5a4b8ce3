import math

import pytest

from app.analysis.past_noise import MOST_FREEDOM, NO_PAST, NOISIER, PastNoise, past_noise


@pytest.mark.parametrize(("sds", "freedom"), [([], 0), ([0.01], 1), ([0.01] * 2, 2), ([0.01] * 20, 2)])
def test_each_earlier_check_lends_one_degree_of_freedom_up_to_the_most(sds, freedom):
    assert past_noise(sds).freedom == freedom <= MOST_FREEDOM


def test_one_disturbed_check_of_many_says_nothing():
    assert past_noise([0.011, 5.0, 0.009, 0.01, 0.012]) == past_noise([0.011, 0.013, 0.009, 0.01, 0.012])


@pytest.mark.parametrize("sds", [[0.0], [0.0, 0.0, 0.01]])
def test_checks_of_identical_pairs_lend_nothing(sds):
    assert past_noise(sds) == NO_PAST


@pytest.mark.parametrize("sd", [-0.1, math.nan, math.inf])
def test_impossible_deviation_of_an_earlier_check_is_refused(sd):
    with pytest.raises(ValueError, match="earlier check"):
        past_noise([0.01, sd])


def test_past_is_pooled_with_the_pairs_by_degrees_of_freedom():
    s, freedom = PastNoise(2.0, 2.0).moderate(5, 1.0)
    assert (s, freedom) == (pytest.approx(math.sqrt((4 * 1.0 + 2 * 4.0) / 6)), 2.0)


def test_pairs_that_are_as_noisy_as_before_keep_their_deviation_and_gain_freedom():
    assert PastNoise(0.5, 2.0).moderate(4, 0.5) == (pytest.approx(0.5), 2.0)


def test_past_lends_nothing_once_the_pairs_are_clearly_noisier():
    past = PastNoise(1.0, 2.0)
    just, beyond = math.sqrt(NOISIER) * 0.999, math.sqrt(NOISIER) * 1.001
    assert past.moderate(4, just)[1] == 2.0
    assert past.moderate(4, beyond) == (beyond, 0.0)


@pytest.mark.parametrize("sd", [0.0, 1e-9, 3.0])
def test_without_a_past_the_pairs_stand_alone(sd):
    assert NO_PAST.moderate(4, sd) == (sd, 0.0)
