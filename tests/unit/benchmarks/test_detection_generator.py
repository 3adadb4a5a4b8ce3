from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest

from benchmarks.detection import oracle
from benchmarks.detection.families import MODELS, stream
from benchmarks.detection.generator import CVS, FAMILIES, LENGTHS, VISIBLE_Z, Cell, cells, corpus, make
from benchmarks.detection.noise import correlated, normal
from benchmarks.detection.online import by_prefixes, delay, delay_by_prefixes, false_alarms
from benchmarks.detection.peers.binary_segmentation import detect
from benchmarks.detection.scoring import Score, score, total
from benchmarks.detection.visibility import change_z, reading, side

FAMILY_PAIRS = list(combinations(FAMILIES, 2))
EVERY_MODEL = [(family, noise) for family in FAMILIES for noise in MODELS[family]]


def plain(kind: str, n: int = 200, cv: float = 0.01, copy: int = 0):
    return make(Cell("tuning", kind, "gaussian", cv, n, copy))


def with_visible_step(count: int):
    made = (plain("steps", copy=copy) for copy in range(100))
    return next(series for series in made if len(series.visible_changes) == count == len(series.changes))


@pytest.mark.parametrize(("family", "noise"), EVERY_MODEL)
def test_every_noise_model_gives_positive_values_in_ascending_positions(family, noise):
    for kind in ("steps", "flat", "ramp", "spike"):
        series = make(Cell(family, kind, noise, 0.03, 250))
        assert len(series.values) == len(series.x) == 250
        assert np.all(np.isfinite(series.values) & (series.values > 0))
        assert np.all(np.diff(series.x) > 0)


@pytest.mark.parametrize(("family", "noise"), EVERY_MODEL)
def test_core_of_every_noise_model_has_about_the_standard_deviation_asked_for(family, noise):
    squares = [np.mean(make(Cell(family, "flat", noise, 0.01, 2000, i)).realised.core ** 2) for i in range(8)]
    # The variance of a model whose variance changes is what it says on average only.
    assert 0.4 < np.sqrt(np.mean(squares)) / 0.01 < 3


@pytest.mark.parametrize(("one", "other"), FAMILY_PAIRS)
def test_families_share_no_noise_model_by_name_or_by_what_it_draws(one, other):
    assert not set(MODELS[one]) & set(MODELS[other])
    drawn = []
    for family in (one, other):
        noises = [
            entry.draw(np.random.default_rng(0), np.arange(60), 1.0) for entry in MODELS[family].values()
        ]
        drawn.append({(noise.core.tobytes(), noise.nuisance.tobytes(), noise.quantum) for noise in noises})
    assert not drawn[0] & drawn[1]


@pytest.mark.parametrize(("one", "other"), FAMILY_PAIRS)
def test_families_share_no_random_stream(one, other):
    assert stream(one, "the same path", 1).random() != stream(other, "the same path", 1).random()
    first = [{stream(family, cell.path, 1).random() for cell in cells(family)} for family in (one, other)]
    assert not first[0] & first[1]


def test_series_of_validation_are_those_of_when_it_was_held_out():
    series = make(Cell("validation", "steps", "three_states", 0.01, 125))
    assert series.changes == (5,)
    assert series.values[:3] == pytest.approx([17.357968107714925, 17.451704568264315, 17.587376817780832])


def test_same_cell_gives_the_same_series_and_another_seed_another():
    first, again, other = (make(Cell("validation", "steps", "t4", 0.01, 125, 0, seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.values, again.values)
    assert first.changes == again.changes
    assert not np.array_equal(first.values, other.values)


def test_corpus_has_one_series_for_every_model_length_and_coefficient_of_variation():
    names = [cell.name for cell in cells("tuning", kinds=("steps",))]
    assert len(names) == len(set(names)) == len(MODELS["tuning"]) * len(CVS) * len(LENGTHS)


def test_changes_of_steps_are_ascending_and_leave_points_on_both_sides():
    for series in corpus("tuning", seed=3, kinds=("steps",), noises=("gaussian",), per_cell=10):
        edges = [0, *series.changes, len(series.values)]
        assert len(series.changes) <= 5
        assert all(b - a >= 3 for a, b in pairwise(edges))
        assert len(series.z) == len(series.changes)


def test_flat_series_and_reverting_spikes_have_no_change():
    assert plain("flat").changes == ()
    spike = plain("spike")
    assert spike.changes == ()
    ((start, end),) = spike.spikes
    assert 1 <= end - start <= 4
    assert spike.level[start - 1] == spike.level[end] == 0 != spike.level[start]


def test_ramp_stays_at_its_new_level_from_its_end_on():
    series = plain("ramp", n=250)
    ((start, end),) = series.ramps
    assert series.level[start - 1] == 0 != series.level[start]
    assert len(set(series.level[end - 1 :])) == 1
    assert abs(series.level[-1]) >= np.log(1.03) * 0.99


def test_gaps_leave_out_positions_and_no_values():
    series = make(Cell("tuning", "flat", "missing_runs", 0.01, 500))
    assert series.x[-1] > 520
    assert len(series.values) == 500


def test_z_of_a_step_is_its_size_over_the_standard_error_of_both_sides():
    series = plain("delay_2", n=125)
    (at,) = series.changes
    step = abs(series.level[at] - series.level[at - 1])
    assert series.z[0] == pytest.approx(step / (0.01 * np.sqrt(1 / at + 1 / (125 - at))))


def test_z_of_correlated_noise_uses_the_long_run_standard_deviation():
    series = make(Cell("tuning", "flat", "ar1", 0.01, 100))
    (phi,) = series.realised.ar
    level = np.where(np.arange(100) >= 50, 0.02, 0.0)
    (z,) = change_z(level, series.realised, (50,))
    assert z == pytest.approx(0.02 / (0.01 * np.sqrt((1 + phi) / (1 - phi)) * np.sqrt(2 / 50)))


@pytest.mark.parametrize(("ar", "ma"), [((), (0.7, 0.4)), ((0.8,), (-0.5,)), ((0.5, 0.2), (0.4,))])
def test_whitening_of_correlated_noise_leaves_its_innovations(ar, ma):
    noise = correlated(np.random.default_rng(1), 20_000, 1.0, ar, ma)
    shares = np.array([-1.0, *noise.whitening])
    left = -np.convolve(noise.core, shares)[len(shares) : 20_000] / noise.scale[0]
    assert left.std() == pytest.approx(1, abs=0.02)
    assert all(abs(np.mean(left[lag:] * left[:-lag])) < 0.03 for lag in range(1, 6))


def test_noise_grows_with_the_level_where_its_model_says_so():
    noise = normal(np.random.default_rng(0), np.arange(3), 0.01)
    level = np.array([0.0, 0.1, -5.0])
    assert noise.under(level) is noise
    grown = replace(noise, growth=2.0).under(level)
    assert grown.scale == pytest.approx(noise.scale * [1, np.exp(0.2), 1 / 4])
    assert grown.core == pytest.approx(noise.core * [1, np.exp(0.2), 1 / 4])


@pytest.mark.parametrize(("family", "noise"), EVERY_MODEL)
def test_error_of_a_clairvoyants_difference_is_what_visibility_takes_it_for(family, noise):
    errors = []
    for copy in range(80):
        series = make(Cell(family, "flat", noise, 0.01, 100, copy))
        seen = np.log(series.values / series.base) - series.realised.nuisance
        weights = series.realised.long_run_sd**-2.0
        left, right = (np.average(seen[half], weights=weights[half]) for half in (slice(50), slice(50, 100)))
        variances = [1 / side(series.level, series.realised, *ends)[1] for ends in ((0, 50), (50, 100))]
        errors.append((right - left) / np.sqrt(sum(variances)))
    # Few draws of a law with very heavy tails have less than its standard deviation.
    assert 0.6 < np.std(errors) < 1.3
    assert abs(np.mean(errors)) < 0.4


def test_reading_of_a_coarse_timer_hides_a_step_within_one_of_its_units():
    assert reading(0.02, 0.0005, 0.1)[0] == reading(0.0, 0.0005, 0.1)[0]
    assert reading(0.06, 0.0005, 0.1)[0] == pytest.approx(np.log(1.1))


def test_hidden_changes_are_not_visible():
    series = make(Cell("tuning", "delay_2", "gaussian", 0.03, 125))
    assert series.z[0] < VISIBLE_Z
    assert series.visible == (False,)
    assert series.visible_changes == ()


@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_finds_most_of_what_is_visible_and_little_else(family):
    scores = total(score(s, oracle.detect(s)) for s in corpus(family, kinds=("steps",), lengths=(125, 250)))
    assert scores.hits > 100
    assert 0.9 < scores.f1 < 1


@pytest.mark.parametrize("family", FAMILIES)
def test_oracle_sees_no_change_where_it_is_told_of_one_that_did_not_happen(family):
    asked = alarms = 0
    for series in corpus(family, kinds=("flat",), lengths=(125,), cvs=(0.01,), per_cell=8):
        (_, left), (_, right) = (side(series.level, series.realised, *ends) for ends in ((0, 60), (60, 125)))
        size = VISIBLE_Z * np.sqrt(1 / left + 1 / right)
        told = replace(series, changes=(60,), level=np.where(np.arange(125) >= 60, size, 0.0))
        asked, alarms = asked + 1, alarms + len(oracle.detect(told))
    assert asked > 100
    assert alarms <= 1


def test_oracle_places_a_change_in_strongly_correlated_noise_where_it_is():
    series = make(Cell("validation", "delay_5", "strong_ar1", 0.003, 125))
    assert oracle.detect(series) == list(series.changes)


def test_alarm_within_two_points_is_a_hit_and_farther_is_a_miss_and_a_false_alarm():
    series = with_visible_step(1)
    (at,) = series.changes
    assert score(series, [at + 2]) == Score(hits=1, points=200)
    assert score(series, [at - 3]) == Score(misses=1, false_alarms=1, points=200)


def test_second_alarm_for_one_change_is_false():
    series = with_visible_step(1)
    (at,) = series.changes
    assert score(series, [at, at + 1]) == Score(hits=1, false_alarms=1, points=200)


def test_alarm_at_a_change_that_nobody_sees_counts_neither_way():
    series = make(Cell("tuning", "delay_2", "gaussian", 0.03, 125))
    (at,) = series.changes
    assert score(series, [at + 1]) == Score(points=125)
    assert score(series, [at + 3]).false_alarms == 1


def test_ramp_is_found_once_by_a_staircase_of_four_alarms_and_the_fifth_is_false():
    series = plain("ramp", n=500)
    ((start, end),) = series.ramps
    inside = np.linspace(start, end, 5).astype(int).tolist()
    assert score(series, inside[:4]) == Score(ramps=1, ramps_found=1, points=500)
    assert score(series, inside).false_alarms == 1
    assert score(series, [start - 3]) == Score(ramps=1, false_alarms=1, points=500)


def test_alarms_at_a_reverting_spike_are_counted_apart():
    series = plain("spike")
    ((start, end),) = series.spikes
    assert score(series, [start, end]) == Score(spikes=1, spike_alarms=2, points=200)
    assert score(series, [end + 3]).false_alarms == 1


def test_scores_add_up_and_f1_is_the_harmonic_mean():
    both = Score(hits=3, misses=1, points=10) + Score(hits=1, false_alarms=2, points=30)
    assert (both.precision, both.recall) == (4 / 6, 4 / 5)
    assert both.f1 == pytest.approx(2 / (6 / 4 + 5 / 4))
    assert both.false_per_1000 == 50


def test_binary_segmentation_finds_a_clear_step():
    series = make(Cell("tuning", "delay_5", "gaussian", 0.003, 125))
    assert detect(series.values) == list(series.changes)


def test_online_by_prefixes_alarms_once_for_a_change_whose_index_wanders():
    wandering = by_prefixes(lambda values: [50 + len(values) % 3] if len(values) > 60 else [])
    assert wandering(np.ones(100)) == [(60, 51)]


def test_delay_counts_the_first_point_of_the_new_level_as_one():
    series = make(Cell("tuning", "delay_5", "gaussian", 0.003, 125))
    (at,) = series.changes
    assert delay(series, [(at - 1, 3), (at, at)]) == 1
    assert delay(series, [(at - 1, 3), (at + 4, at + 1), (at + 9, at)]) == 5
    assert delay(series, [(at + 4, 3)]) == float("inf")


def test_delay_by_prefixes_equals_the_delay_of_all_prefixes():
    for copy in range(5):
        series = make(Cell("tuning", "delay_5", "gaussian", 0.01, 125, copy))
        assert delay_by_prefixes(series, detect) == delay(series, by_prefixes(detect)(series.values))


def test_alarms_of_a_flat_series_are_all_false():
    assert false_alarms(plain("flat"), [(40, 38), (90, 80)]) == 2
