"""The yardstick of a change: how much means of neighbouring runs differ when nothing has changed."""

import numpy as np
import pytest

from app.analysis.arrays import running_sums
from app.analysis.detection.certainty import certain_where_placed
from app.analysis.detection.noise import WANDERING, profile_of
from app.analysis.detection.segments import Segments


def profile(y, **options):
    return profile_of(y, 1e-9, np.arange(len(y) + 1.0), **options)


def white(n, seed=0):
    return np.random.default_rng(seed).normal(0, 0.01, n)


def correlated(n, phi, seed=0):
    out = white(n, seed)
    for i in range(1, n):
        out[i] += phi * out[i - 1]
    return out


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.6])
def test_the_correlation_of_neighbours_is_seen(phi):
    assert profile(correlated(4000, phi)).correlation == pytest.approx(phi, abs=0.06)


def test_of_few_runs_no_correlation_is_known():
    assert profile(white(19)).correlation is None
    assert profile(white(20)).correlation is not None


def test_single_runs_are_the_unit():
    assert profile(white(500)).inflation[1] == pytest.approx(1.0)
    assert profile(white(12)).inflation[1] == pytest.approx(1.0)


def test_long_means_of_white_noise_are_believed_to_wander_where_few_windows_tell():
    y = white(300)
    usual, plain = profile(y).inflation, profile(y, wandering=0.0).inflation
    assert (usual >= plain).all()
    assert plain[150] < usual[150] <= plain[150] * (1 + 150 * WANDERING)


@pytest.mark.parametrize("n", [300, 10_000, 100_000])
def test_means_far_longer_than_what_is_measured_still_tell_more_of_white_noise(n):
    inflation = profile(white(n)).inflation
    half, tenth = inflation[n // 2] / (n // 2), inflation[n // 10] / (n // 10)
    assert half < 0.7 * tenth


def test_inflation_never_falls_with_the_length():
    for y in (white(400), correlated(400, 0.5)):
        assert (np.diff(profile(y).inflation[1:]) >= -1e-12).all()


def test_a_boundary_that_was_put_where_nothing_changes_is_none():
    y = white(200) + np.where(np.arange(200) < 100, 0.0, 0.05)
    noise = profile(white(200, seed=1))
    segments = Segments(y, np.ones(200), noise, running_sums(y), running_sums(y * y))
    assert certain_where_placed(segments, [100, 150]) == [100]
