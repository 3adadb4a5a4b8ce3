"""Our own Student's t and its relatives against scipy's."""

import numpy as np
import pytest
from scipy import special

from app.analysis.student import digamma, quantile, trigamma, upper_tail

FREEDOM = [1.0, 1.5, 2.0, 3.7, 10.0, 41.0, 300.0]


@pytest.mark.parametrize("freedom", FREEDOM)
def test_upper_tail_is_that_of_the_t_distribution(freedom):
    t = np.array([-40.0, -3.0, -0.1, 0.0, 0.1, 1.0, 2.5, 8.0, 60.0])
    expected = special.stdtr(freedom, -t)
    assert upper_tail(t, np.full(len(t), freedom)) == pytest.approx(expected, rel=1e-9)


def test_upper_tail_of_infinity_is_nothing_or_all():
    assert upper_tail(np.array([np.inf, -np.inf]), np.array([4.0, 4.0])).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("p", [0.9, 0.975, 0.999])
def test_quantile_undoes_the_tail(p):
    freedom = np.array(FREEDOM)
    assert quantile(p, freedom) == pytest.approx(special.stdtrit(freedom, p), rel=1e-6)


def test_digamma_and_trigamma_are_scipys():
    x = np.array([0.02, 0.5, 1.0, 3.3, 8.0, 1000.0])
    assert digamma(x) == pytest.approx(special.digamma(x), rel=1e-8)
    assert trigamma(x) == pytest.approx(special.polygamma(1, x), rel=1e-8)
