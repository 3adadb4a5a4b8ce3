import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.past_noise import PastNoise
from app.analysis.sequential import (
    CHANGED,
    MAX_PAIRS,
    SequentialRule,
    g_from_history,
    half_width,
    log_e_value,
    running_moments,
)
from app.domain.verdicts import Verdict

effects_of_a_case = st.lists(st.floats(-1, 1), min_size=2, max_size=40)


@pytest.mark.parametrize(
    ("n", "g", "alpha", "in_standard_errors"),
    [(6, 1, 0.01, 18.080), (4, 25, 0.01, 11.586), (8, 4, 0.01, 5.6586)],
)
def test_half_width_has_its_reference_values(n, g, alpha, in_standard_errors):
    assert half_width(n, 1.0, g, alpha) * math.sqrt(n) == pytest.approx(in_standard_errors, rel=5e-5)


def test_half_width_is_infinite_while_the_pairs_cannot_exclude_anything():
    assert half_width(4, 1.0, 1, 0.01) == math.inf
    assert half_width(4, 0.0, 1, 0.01) == math.inf


@pytest.mark.parametrize(("n", "alpha"), [(2, 1e-300), (4, 5e-324), (6, 1e-200)])
def test_half_width_for_a_tiny_alpha_is_infinite_and_raises_nothing(n, alpha):
    assert half_width(n, 1.0, 4, alpha) == math.inf


@pytest.mark.parametrize("alpha", [0.05, 1e-300])
def test_half_width_of_a_billion_pairs_is_small_and_positive(alpha):
    assert 0 < half_width(10**9, 1.0, 25, alpha) < 0.01


def test_half_width_shrinks_with_pairs_and_grows_with_confidence():
    widths = [half_width(n, 1.0, 4, 0.01) for n in range(6, MAX_PAIRS + 1, 2)]
    assert widths == sorted(widths, reverse=True)
    assert half_width(20, 1.0, 4, 0.001) > half_width(20, 1.0, 4, 0.01) > half_width(20, 1.0, 4, 0.05)


@given(
    n=st.integers(2, 200),
    mean=st.floats(-10, 10),
    s=st.floats(1e-6, 10),
    g=st.floats(1, 25),
    alpha=st.floats(1e-6, 0.5),
    past=st.sampled_from([0.0, 1.0, 2.0, 30.0]),
)
def test_e_value_reaches_one_over_alpha_exactly_when_the_interval_excludes_zero(n, mean, s, g, alpha, past):
    excess = abs(mean) - half_width(n, s, g, alpha, past)
    evidence = log_e_value(n, mean, s, g, past) + math.log(alpha)
    assert (excess > 0) == (evidence > 0) or evidence == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("past", [0.0, 2.0, 7.5])
def test_e_value_is_the_likelihood_ratio_mixed_over_effect_and_deviation(past):
    n, mean, sd, past_sd, g = 6, 0.9, 0.8, 1.1, 4.0
    sigma = np.geomspace(1e-2, 1e2, 601)[:, None]
    squares = (n - 1) * sd**2 + past * past_sd**2
    effect = np.linspace(-20, 20, 2_001)[None, :]
    prior = np.exp(-(effect**2) / (2 * g)) / math.sqrt(2 * math.pi * g)

    def likelihood(delta: np.ndarray) -> np.ndarray:
        return sigma ** -(n + past) * np.exp(-(squares + n * (mean - delta * sigma) ** 2) / (2 * sigma**2))

    # d sigma / sigma is even in the logarithm of sigma, and so is the grid.
    mixed = (likelihood(effect) * prior).sum() * (effect[0, 1] - effect[0, 0])
    s = math.sqrt(squares / (n - 1 + past))
    expected = math.log(mixed / likelihood(np.zeros((1, 1))).sum())
    assert log_e_value(n, mean, s, g, past) == pytest.approx(expected, rel=1e-6)


def test_past_of_a_case_narrows_its_interval_at_the_same_deviation():
    widths = [half_width(4, 1.0, 25, 5e-5, past) for past in (0.0, 1.0, 2.0, 10.0)]
    assert widths[0] == math.inf
    assert widths[1:] == sorted(widths[1:], reverse=True)


def test_e_value_of_identical_effects_is_the_largest_or_the_smallest_that_pairs_can_give():
    log_a = math.log(1 + 6 * 4)
    assert log_e_value(6, 0.1, 0.0, 4) == pytest.approx(2.5 * log_a)
    assert log_e_value(6, -0.1, 0.0, 4) == log_e_value(6, 1e300, 1e-300, 4) == log_e_value(6, 0.1, 0.0, 4)
    assert log_e_value(6, 0.0, 0.0, 4) == pytest.approx(-0.5 * log_a)


@pytest.mark.parametrize(
    ("sigma", "g"),
    [(None, 4.0), (0.02, 1.0), (0.05, 1.0), (0.01, 4.0), (0.001, 25.0), (0.0, 25.0), (1e-320, 25.0)],
)
def test_prior_follows_the_history_within_its_bounds(sigma, g):
    assert g_from_history(sigma, tau=0.02) == pytest.approx(g)


@pytest.mark.parametrize("sigma", [-0.1, math.nan])
def test_prior_of_an_impossible_history_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma_hist"):
        g_from_history(sigma, tau=0.02)


def test_moments_agree_with_their_definition():
    values = [0.1, -0.2, 0.05, 0.3]
    *_, last = running_moments(values)
    mean = sum(values) / 4
    assert last.mean == pytest.approx(mean)
    assert last.sd == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / 3))


def test_moments_of_two_values_have_a_deviation_and_of_one_have_none():
    assert [moments.sd for moments in running_moments([0.0, 1.0])] == [0.0, pytest.approx(math.sqrt(0.5))]


def test_moments_of_identical_values_have_no_deviation_at_all():
    assert {moments.sd for moments in running_moments([0.1] * 50)} == {0.0}


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_moments_refuse_what_is_not_finite_and_say_which(value):
    with pytest.raises(ValueError, match="value 2"):
        list(running_moments([0.0, value]))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha_pass": 1.0}, "alpha"),
        ({"m": 0}, "shares alpha"),
        ({"tau0": 0.03, "tau": 0.02}, "at most the tolerance"),
        ({"tau0": 0.0, "tau": 0.0}, "at most the tolerance"),
        ({"tau0": -0.1}, "minimum effect"),
        ({"g": 0.0}, "g 0.0"),
        ({"s_floor": -1.0}, "s_floor"),
        ({"alpha": math.nan}, "alpha"),
        ({"past": PastNoise(-1.0, 2.0)}, "earlier checks"),
        ({"past": PastNoise(1.0, math.nan)}, "earlier checks"),
    ],
)
def test_numbers_that_make_no_rule_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        SequentialRule(**fields)


@pytest.mark.parametrize(
    ("effect", "sd", "verdict"),
    [
        (0.4, 0.01, Verdict.REGRESSED),
        (0.03, 0.004, Verdict.REGRESSED),
        (0.0, 0.005, Verdict.NO_REGRESSION),
        (0.004, 0.001, Verdict.NO_REGRESSION),
        (-0.4, 0.01, Verdict.IMPROVED),
        (-0.1, 0.01, Verdict.IMPROVED),
        (0.02, 0.02, None),
        (0.0, 0.5, None),
    ],
)
def test_effects_of_a_clear_size_get_their_verdict(effect, sd, verdict):
    effects = [effect + sd, effect - sd] * 4
    assert SequentialRule().decide(effects).verdict is verdict


@pytest.mark.parametrize("n", [0, 1])
def test_no_look_falls_before_the_first_whole_block(n):
    assert SequentialRule().decide([0.1] * n) is None


@pytest.mark.parametrize("effect", [-0.5, 0.0, 0.5])
def test_two_pairs_are_looked_at_but_never_judged(effect):
    look = SequentialRule(g=1e9).decide([effect, effect])
    assert (look.half, look.half_pass) == (0.0, 0.0)
    assert (look.n, look.verdict, look.final) == (2, None, Verdict.INCONCLUSIVE)


def test_pair_of_an_unfinished_block_is_not_looked_at():
    effects = [0.0, 0.03, 0.01, -0.02, 0.9]
    assert SequentialRule().decide(effects) == SequentialRule().decide(effects[:4])


def test_identical_effects_have_the_point_as_their_interval():
    look = SequentialRule().decide([0.1] * 6)
    assert (look.verdict, look.low, look.high) == (Verdict.REGRESSED, look.mean, look.mean)


def test_identical_zero_effects_are_no_regression():
    assert SequentialRule().decide([0.0] * 4).verdict is Verdict.NO_REGRESSION


def test_timer_floor_keeps_identical_effects_open():
    look = SequentialRule(s_floor=0.1).decide([0.01] * 6)
    assert (look.verdict, look.sd, look.s) == (None, 0.0, 0.1)


def test_more_metrics_ask_for_more_pairs():
    effects = [0.05 + sd for sd in (0.01, -0.01) * 20]
    needed = [SequentialRule(m=m).decide(effects).n for m in (1, 20, 200)]
    assert needed == sorted(set(needed))


def test_verdict_of_the_first_look_stands_whatever_comes_later():
    effects = [0.4, 0.41, 0.39, 0.4, 0.4, 0.4]
    settled = SequentialRule().decide(effects)
    assert settled.verdict is Verdict.REGRESSED
    assert SequentialRule().decide(effects + [-0.9] * 60) == settled


def test_improvement_in_sight_stays_open_although_a_regression_is_excluded():
    look = SequentialRule().decide([-0.1, -0.11, -0.09, -0.1])
    assert (look.verdict, look.passes) == (None, True)


def test_improvement_must_lie_beyond_the_minimum_effect_with_its_whole_interval():
    look = SequentialRule().decide([-0.02] * 4 + [-0.0295, -0.0105])
    assert -0.005 < look.high < 0
    assert look.verdict is None


def test_improvement_in_sight_ends_as_no_regression_when_pairs_run_out():
    assert SequentialRule().decide([-0.1, -0.11, -0.09, -0.1]).final is Verdict.NO_REGRESSION


def test_open_case_could_hide_what_its_upper_end_says():
    look = SequentialRule().decide([0.05, -0.05] * 4)
    assert look.final is Verdict.INCONCLUSIVE
    assert look.could_hide == look.hi_pass == look.mean + half_width(8, look.sd, 4.0, 0.05)


def test_open_case_with_too_few_pairs_could_hide_anything():
    assert SequentialRule(g=1.0).decide([0.05, -0.05] * 2).could_hide is None


def test_nothing_worse_is_hidden_below_zero():
    assert SequentialRule().decide([-0.1, -0.11, -0.09, -0.1]).could_hide == 0.0


@given(effects_of_a_case, st.sampled_from([1.0, 4.0, 25.0]))
def test_reversing_the_direction_mirrors_the_interval(effects, g):
    rule = SequentialRule(g=g)
    look = list(rule.looks(effects))[-1]
    mirrored = list(rule.looks([-effect for effect in effects]))[-1]
    assert (mirrored.low, mirrored.high) == (-look.high, -look.low)
    assert mirrored.log_e == look.log_e


@given(effects_of_a_case, st.sampled_from([0.125, 2.0, 64.0]))
def test_rule_with_all_its_thresholds_scales_with_the_effects(effects, factor):
    verdict = SequentialRule(tau0=0.25, tau=0.5).decide(effects).verdict
    scaled = SequentialRule(tau0=0.25 * factor, tau=0.5 * factor).decide([factor * e for e in effects])
    assert scaled.verdict is verdict


def test_past_moderates_the_deviation_that_is_used_and_not_the_one_that_is_told():
    look = SequentialRule(past=PastNoise(0.02, 2.0)).decide([0.01, -0.01] * 2)
    assert (look.past, look.sd) == (2.0, pytest.approx(0.01 * math.sqrt(4 / 3)))
    assert look.s == pytest.approx(math.sqrt((4 * 0.01**2 + 2 * 0.02**2) / 5))


def test_past_is_forgotten_at_looks_at_clearly_noisier_pairs():
    effects = [0.1, -0.1] * 4
    assert SequentialRule(past=PastNoise(0.02, 2.0)).decide(effects) == SequentialRule().decide(effects)


@given(effects_of_a_case)
def test_past_without_freedom_changes_nothing(effects):
    assert SequentialRule(past=PastNoise(0.01, 0.0)).settle(effects) == SequentialRule().settle(effects)


@given(effects_of_a_case, st.integers(0, 60))
def test_looks_from_the_newest_known_one_on_are_those_of_all_looks(effects, known):
    rule = SequentialRule(past=PastNoise(0.5, 2.0))
    every = list(rule.looks(effects))
    some = list(rule.looks(effects, known))
    assert some == [look for look in every if look.n >= min(known, every[-1].n)]


@given(effects_of_a_case, st.sampled_from([0.0, 0.005, 0.3]), st.sampled_from([1.0, 4.0, 25.0]))
def test_evidence_beyond_the_minimum_reaches_its_bound_exactly_with_a_verdict_of_change(effects, tau0, g):
    rule = SequentialRule(tau0=tau0, tau=0.5, g=g, m=7)
    for look in rule.looks(effects):
        excess = look.log_e_beyond(tau0) - math.log(rule.m / rule.alpha)
        assert (look.verdict in CHANGED) == (excess > 0) or excess == pytest.approx(0, abs=1e-6)


def test_one_of_many_that_changed_is_judged_at_the_level_that_they_share():
    rule, effects = SequentialRule(m=200), [0.05, 0.06, 0.05, 0.045, 0.06, 0.055]
    (look,) = rule.settle(effects, known=6)
    assert look.verdict is None
    assert rule.as_one_of(1, look) == look
    together = rule.as_one_of(200, look)
    assert (together.verdict, together.alpha) == (Verdict.REGRESSED, rule.alpha)
    assert together.low > rule.tau0 > look.low


def test_metric_that_did_not_change_keeps_its_level_among_those_that_did():
    rule = SequentialRule(m=200)
    look = rule.decide([0.004, -0.004] * 8)
    assert look.verdict is Verdict.NO_REGRESSION
    assert rule.as_one_of(200, look) == look
