"""Change points of series with planted truth. Seeds are fixed; figures over many series: benchmarks/detection."""

import numpy as np
import pytest

from app.analysis.detection import examine
from app.analysis.detection.certainty import (
    AT_ONCE,
    CERTAIN,
    CERTAIN_AT_ENDS,
    CERTAIN_AT_ONCE,
    CERTAIN_WHERE_PLACED,
    FEW,
    NEAR_END,
    UNTIL,
    _by_place,
)
from app.analysis.detection.p_values import chosen_p_value
from app.analysis.detection.states import find_states, only_states_changed


def noisy(n, seed=0, cv=0.01):
    return np.exp(np.random.default_rng(seed).normal(0, cv, n))


def indices(values, x=None, **options):
    return [point.index for point in examine(np.asarray(values, dtype=float), x, **options).change_points]


# --- what a change is told with ------------------------------------------------------------------------------------


def test_a_step_is_found_where_it_is_with_its_size_interval_and_p_value():
    values = noisy(200)
    values[120:] *= 1.05
    (point,) = examine(values).change_points
    assert (point.index, point.start, point.end, point.kind, point.standing) == (
        120,
        120,
        120,
        "step",
        "confirmed",
    )
    assert point.change == pytest.approx(0.05, abs=0.005)
    assert point.ci_low < 0.05 < point.ci_high
    assert point.after / point.before - 1 == point.change
    assert point.p_value < 1e-6


def test_a_step_in_the_last_three_points_is_suspected_only():
    values = noisy(100)
    values[-3:] *= 1.08
    (point,) = examine(values).change_points
    assert (point.index, point.standing) == (97, "suspected")


def test_several_steps_are_all_found():
    values = noisy(400, seed=3)
    for at, factor in ((60, 1.04), (180, 0.95), (300, 1.1)):
        values[at:] *= factor
    assert indices(values) == pytest.approx([60, 180, 300], abs=1)


def test_a_ramp_is_one_change_and_says_where_it_slides():
    values = noisy(300, seed=2, cv=0.005)
    values *= np.exp(np.clip((np.arange(300) - 150) / 50, 0, 1) * 0.15)
    (point,) = examine(values).change_points
    assert point.kind == "ramp"
    assert point.start == pytest.approx(150, abs=8)
    assert point.end == pytest.approx(200, abs=8)
    assert point.start < point.index < point.end
    assert point.change == pytest.approx(np.expm1(0.15), abs=0.01)


def test_slides_one_after_the_other_do_not_overlap():
    rng = np.random.default_rng(4)
    for _ in range(150):
        n = int(rng.integers(40, 160))
        turns = np.sort(rng.integers(5, n - 5, 4))
        level = np.interp(np.arange(n), turns, rng.normal(0, 0.2, 4))
        points = examine(np.exp(level + rng.normal(0, 0.004, n))).change_points
        edges = [edge for point in points for edge in (point.start, point.end)]
        assert edges == sorted(edges)


def with_excursions(n, starts, seed=0, length=30):
    """Noise of 1 % with stretches that are slower by 8, 10, 12, … %."""
    values = noisy(n, seed)
    for i, start in enumerate(starts):
        values[start : start + length] *= 1.08 + 0.02 * i
    return values


def test_a_level_that_goes_away_and_comes_back_again_and_again_has_not_changed():
    found = examine(with_excursions(500, [60, 180, 300, 420]))
    assert found.change_points == ()
    assert [(e.start, e.end, e.kind) for e in found.episodes] == [
        (60, 90, "spike"),
        (180, 210, "spike"),
        (300, 330, "spike"),
        (420, 450, "spike"),
    ]
    assert [e.size for e in found.episodes] == pytest.approx([0.08, 0.10, 0.12, 0.14], abs=0.01)
    assert found.noise == pytest.approx(0.01, rel=0.15)


def test_so_it_is_downwards_and_of_values_that_are_not_positive():
    values = with_excursions(500, [60, 180, 300, 420])
    assert indices(1 / values) == []
    found = examine(values - 1)
    assert found.change_points == ()
    assert [e.size for e in found.episodes] == [None, None, None, None]


def test_so_it_has_not_where_it_went_twice_to_the_same_level():
    values = noisy(500)
    values[60:90] *= 1.08
    values[300:330] *= 1.08
    found = examine(values)
    assert found.change_points == ()
    assert [(one.start, one.end) for one in found.episodes] == [(60, 90), (300, 330)]


def test_three_changes_of_different_sizes_that_were_taken_back_are_six_changes():
    assert indices(with_excursions(500, [60, 180, 300])) == [60, 90, 180, 210, 300, 330]


def test_what_stays_away_or_comes_back_only_in_part_is_no_excursion():
    assert len(indices(with_excursions(900, [60, 250, 450, 650], length=70))) == 8
    values = noisy(500)
    for start in (60, 180, 300, 420):
        values[start:] *= 1.1
        values[start + 30 :] /= 1.03
    assert len(indices(values)) == 8


def test_a_step_beside_excursions_and_within_one_is_found_with_its_size():
    for at in (250, 320):
        values = with_excursions(600, [60, 180, 300, 420, 500], seed=1)
        values[at:] *= 1.04
        (point,) = examine(values).change_points
        assert point.index == pytest.approx(at, abs=1)
        assert point.change == pytest.approx(0.04, abs=0.008)


def test_excursions_can_be_taken_as_changes():
    assert len(indices(with_excursions(500, [60, 180, 300, 420]), with_excursions=False)) == 8


def test_a_spike_that_reverts_is_an_episode_and_no_change():
    values = noisy(200)
    values[100:103] *= 1.3
    found = examine(values)
    assert found.change_points == ()
    (spike,) = found.episodes
    assert (spike.start, spike.end, spike.kind) == (100, 103, "spike")
    assert spike.size == pytest.approx(0.3, abs=0.02)


@pytest.mark.parametrize("at", [0, 197])
def test_far_values_at_an_end_have_a_size_from_the_side_that_there_is(at):
    values = noisy(200)
    values[at : at + 2] *= 1.5
    assert all(episode.size == pytest.approx(0.5, abs=0.05) for episode in examine(values).episodes)


def test_noise_that_grows_is_an_episode_and_no_change():
    values = np.exp(np.random.default_rng(1).normal(0, 1, 300) * np.where(np.arange(300) < 150, 0.01, 0.03))
    found = examine(values)
    assert found.change_points == ()
    (episode,) = found.episodes
    assert (episode.kind, episode.start) == ("variance", pytest.approx(150, abs=5))
    assert episode.size == pytest.approx(2, abs=0.8)


# --- what is no change ---------------------------------------------------------------------------------------------

FLAT = {
    "normal": lambda rng, n: rng.normal(0, 0.01, n),
    "heavy tails": lambda rng, n: 0.01 * rng.standard_t(3, n),
    "spikes": lambda rng, n: rng.normal(0, 0.01, n) + (rng.random(n) < 0.03) * rng.uniform(0.2, 1, n),
    "two clock states": lambda rng, n: rng.normal(0, 0.01, n) + 0.06 * (rng.random(n) < 0.4),
    "a pattern of the week": lambda rng, n: (
        rng.normal(0, 0.01, n) + 0.02 * np.sin(np.arange(n) * 2 * np.pi / 7)
    ),
    "a coarse timer": lambda rng, n: np.round(rng.normal(0, 1, n) / 2) * 0.02,
    "correlated": lambda rng, n: correlated(rng, n, 0.5),
    "slow drift": lambda rng, n: rng.normal(0, 0.01, n) + 0.006 * np.sin(np.arange(n) / 16),
}


def correlated(rng, n, phi):
    out = np.zeros(n)
    for i, step in enumerate(rng.normal(0, 0.01, n)):
        out[i] = phi * out[i - 1] + step
    return out


@pytest.mark.parametrize("noise", FLAT)
def test_a_flat_series_raises_next_to_no_alarm(noise):
    rng = np.random.default_rng(11)
    alarms = sum(len(indices(np.exp(FLAT[noise](rng, 250)))) for _ in range(24))
    assert alarms <= 4  # 6 000 points; the goal is 0.5 in 1 000


@pytest.mark.parametrize("noise", [name for name in FLAT if name != "slow drift"])
def test_a_step_of_eight_percent_is_found_in_any_noise(noise):
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(10):
        values = np.exp(FLAT[noise](rng, 250))
        values[140:] *= 1.08
        found += any(abs(at - 140) <= 2 for at in indices(values))
    assert found >= 8


def test_heavy_tails_that_pass_for_two_states_raise_next_to_no_alarm():
    """What changes there is only which of the two states was taken for the lower one."""
    rng, passed, alarms = np.random.default_rng(3), 0, 0
    for _ in range(300):
        size = np.where(rng.random(80) < 0.3, 0.03, 0.004)
        values = np.exp(rng.laplace(0.0, size))
        passed += find_states(np.log(values)) is not None
        alarms += len(examine(values).change_points)
    assert passed >= 5
    # Of 24 000 points; which ones are near the limit depends on the last digit of a processor's exponential.
    assert alarms <= 2


def test_sides_are_taken_where_the_values_do_not_show_the_change():
    y = np.tile([0.0, 0.1, 0.1, 0.0], 25) + np.where(np.arange(100) < 50, 0.0, 0.1)
    lowered = np.where(np.arange(100) < 50, 0.0, 0.1)
    assert not only_states_changed(y, lowered, [50], distance=0.1)
    assert only_states_changed(np.tile([0.0, 0.1, 0.1, 0.0], 25), lowered, [50], distance=0.1)


def test_changes_below_the_minimum_effect_are_none():
    values = noisy(300)
    values[100:] *= 1.02
    values[200:] *= 1.1
    assert len(indices(values)) == 2
    assert indices(values, minimum_effect=0.05) == pytest.approx([200], abs=1)


# --- what must not matter ------------------------------------------------------------------------------------------


@pytest.fixture
def stepped():
    values = noisy(180, seed=7)
    values[70:] *= 1.04
    return values


@pytest.mark.parametrize("factor", [1e-9, 1e9, 3.7])
def test_the_unit_does_not_matter(stepped, factor):
    assert indices(stepped * factor) == indices(stepped)


def test_the_other_direction_of_a_metric_finds_the_same(stepped):
    assert indices(1 / stepped) == indices(stepped)


def test_a_series_read_backwards_changes_at_the_same_place(stepped):
    (forth,), (back,) = indices(stepped), indices(stepped[::-1])
    assert len(stepped) - back == pytest.approx(forth, abs=1)


def test_gaps_in_the_positions_do_not_matter_without_a_pattern(stepped):
    x = np.cumsum(np.random.default_rng(0).integers(1, 5, len(stepped)))
    assert indices(stepped, x) == indices(stepped)


# --- edges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0, 3.0]])
def test_fewer_than_four_values_tell_nothing(values):
    found = examine(np.array(values))
    assert (found.change_points, found.noise) == ((), None)


def test_a_constant_has_no_noise_and_no_change():
    found = examine(np.full(50, 3.5))
    assert (found.change_points, found.noise) == ((), 0.0)


def test_a_constant_that_steps_has_changed():
    assert indices([5.0] * 30 + [6.0] * 30) == [30]


def test_zeros_and_negative_values_are_compared_by_difference():
    values = np.random.default_rng(0).normal(0, 1, 120)
    values[60:] += 8
    (point,) = examine(values).change_points
    assert (point.index, point.change, point.ci_low) == (60, None, None)


def test_one_wild_outlier_changes_nothing():
    values = noisy(100)
    values[40] = 1e12
    assert indices(values) == []


def test_huge_and_tiny_values_in_one_series_overflow_nothing():
    values = np.concatenate((noisy(60) * 1e-300, noisy(60) * 1e300))
    (point,) = examine(values).change_points
    assert point.index == 60
    assert point.p_value == 0 or point.p_value < 1e-9


def test_a_hundred_thousand_points_are_examined():
    values = noisy(100_000)
    values[60_000:] *= 1.02
    assert any(abs(at - 60_000) <= 2 for at in indices(values))


# --- near the ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lengths", "bars"),
    [
        ((200, 100, 200), [CERTAIN, CERTAIN]),
        ((NEAR_END, 100, 200), [CERTAIN_AT_ENDS, CERTAIN]),
        ((200, 100, NEAR_END), [CERTAIN, CERTAIN_AT_ENDS]),
        ((200, 100, AT_ONCE), [CERTAIN, CERTAIN_AT_ONCE]),
        ((200, 100, FEW), [CERTAIN, CERTAIN_AT_ONCE]),
        ((200, 100, FEW - 1), [CERTAIN, CERTAIN_AT_ENDS]),
        ((200, 100, UNTIL), [CERTAIN, CERTAIN_AT_ENDS]),
        ((200, 9, AT_ONCE), [CERTAIN, CERTAIN]),
        ((2, AT_ONCE), [CERTAIN]),
        ((NEAR_END, AT_ONCE), [CERTAIN_AT_ONCE]),
    ],
)
def test_a_change_near_an_end_must_be_surer_but_not_where_some_points_show_it(lengths, bars):
    assert _by_place(np.cumsum([0, *lengths]), correlation=0.0).tolist() == bars


@pytest.mark.parametrize(("correlation", "bar"), [(-0.4, CERTAIN_AT_ONCE), (0.1, 4.0), (0.6, CERTAIN)])
def test_the_newest_points_tell_less_where_neighbours_are_correlated(correlation, bar):
    assert _by_place(np.array([0, 100, 105]), correlation).tolist() == [pytest.approx(bar)]


def test_the_bar_of_the_newest_points_rises_from_one_to_the_other():
    bars = [_by_place(np.array([0, 100, 100 + points]), 0.0)[0] for points in range(AT_ONCE, UNTIL + 1)]
    assert np.diff(bars) == pytest.approx((CERTAIN_AT_ENDS - CERTAIN_AT_ONCE) / (UNTIL - AT_ONCE))


def test_with_too_few_points_to_know_the_correlation_no_bar_is_lower():
    assert _by_place(np.array([0, 12, 18]), None).tolist() == [CERTAIN]


def test_what_is_nearly_certain_has_a_p_value_below_five_percent():
    assert chosen_p_value(CERTAIN_WHERE_PLACED, 10_000) < 0.05
