"""What the rule promises of whole checks, on seeded noise; the figures in `docs/statistics.md` are checked here."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from app.analysis.discoveries import count_discoveries
from app.analysis.past_noise import PastNoise
from app.analysis.sequential import ALPHA, SequentialRule
from app.domain.verdicts import Verdict
from tests.unit.analysis import trials

PAGE = (Path(__file__).parents[3] / "docs" / "statistics.md").read_text(encoding="utf-8")
NEVER_PASS = 1e-300
"""A level at which the interval of `no_regression` stays infinite."""
SIGNS = {Verdict.REGRESSED: 1, Verdict.IMPROVED: -1, Verdict.NO_REGRESSION: 2, None: 0}


def printed(head: str) -> list[list[float]]:
    """Rows of the page's table whose head line begins so; cells may hold several numbers."""
    rows = PAGE[PAGE.index(f"\n| {head} |") :].split("\n\n")[0].splitlines()[3:]
    return [[float(number) for number in re.findall(r"[0-9.]+", row)] for row in rows]


def flat(m: int, g: float, **fields: object) -> SequentialRule:
    """The rule as it is held against noise alone: everything but zero is a false verdict."""
    return SequentialRule(m=m, g=g, tau0=0.0, alpha_pass=NEVER_PASS, **fields)


def test_trials_end_as_the_rule_and_its_discoveries_end_them():
    rule = SequentialRule(m=12, past=PastNoise(0.01, 2.0), g=4.0)
    rng = np.random.default_rng(8)
    effects = rng.normal(rng.choice([0, 0.03, -0.04], (40, 12, 1)), 0.012, (40, 12, 24))
    fast = trials.simulate(rule, effects)
    for check, verdicts, pairs in zip(effects, fast.verdict, fast.pairs, strict=True):
        assert one_by_one(rule, check) == list(zip(verdicts, pairs, strict=True))


def one_by_one(rule: SequentialRule, check: trials.Array) -> list[tuple[int, int]]:
    """The same check by the code that the service runs."""
    last = {}
    found, still_open = 0, list(range(len(check)))
    for n in range(4, check.shape[1] + 1, 2):
        last |= {case: rule.settle(check[case, :n].tolist(), known=n)[-1] for case in still_open}
        log_e = [last[case].log_e_beyond(rule.tau0) for case in still_open]
        found = count_discoveries(log_e, alpha=rule.alpha, m=rule.m, settled=found)
        last |= {case: rule.as_one_of(max(found, 1), last[case]) for case in still_open}
        still_open = [case for case in still_open if last[case].verdict is None]
    return [(SIGNS[last[case].verdict], last[case].n) for case in range(len(check))]


# --- metrics that change together ----------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, 1.0])
def test_check_without_a_change_keeps_alpha_however_its_metrics_hang_together(share):
    effects = 0.01 * trials.common(share)(np.random.default_rng(21), (2_000, 50, 32))
    assert trials.simulate(flat(50, 4.0), effects).false_verdict() <= ALPHA


@pytest.mark.parametrize("changed", [1, 10, 50, 100])
def test_share_of_false_ones_among_what_is_reported_stays_below_alpha(changed):
    effect = np.where(np.arange(200) < changed, 0.05, 0.0)
    noise = 0.01 * trials.normal(np.random.default_rng(22), (100, 200, 24))
    out = trials.simulate(flat(200, 4.0), effect[:, None] + noise)
    assert (out.verdict[:, :changed] == 1).mean() > 0.99
    assert out.false_share(effect) <= ALPHA


def test_metric_at_the_minimum_effect_is_hardly_ever_called_changed_among_many_that_are():
    effect = np.where(np.arange(200) < 100, 0.05, 0.005)
    noise = 0.01 * trials.normal(np.random.default_rng(23), (100, 200, 32))
    out = trials.simulate(SequentialRule(m=200), effect[:, None] + noise)
    called = np.abs(out.verdict) == 1
    assert (called[:, 100:].sum(1) / called.sum(1)).mean() <= ALPHA


@pytest.mark.parametrize(("changed", "alone", "together"), printed("changed"))
def test_cases_that_change_together_take_as_few_pairs_as_the_page_says(changed, alone, together):
    count = int(changed)
    effect = np.where(np.arange(200) < count, 0.05, 0.0)
    noise = 0.01 * trials.normal(np.random.default_rng(24), (max(40, 400 // count), 200, 48))
    for is_together, pairs in ((False, alone), (True, together)):
        out = trials.simulate(SequentialRule(m=200), effect[:, None] + noise, together=is_together)
        assert out.pairs[:, :count].mean() == pytest.approx(pairs, abs=0.25)


# --- what earlier checks lend --------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", printed("M | g | 1"), ids=str)
def test_day_that_is_noisier_than_all_before_keeps_alpha(row):
    m, g, *percent = row
    rule = flat(int(m), g, past=PastNoise(1.0, 2.0))
    checks, pairs = {1: (20_000, 60), 20: (2_000, 32), 200: (300, 16)}[m]
    for ratio, told in zip((1, 1.5, 2, 4), percent, strict=True):
        noise = ratio * trials.normal(np.random.default_rng(25), (checks, int(m), pairs))
        false = trials.simulate(rule, noise).false_verdict()
        doubt = 3.5 * math.sqrt(told / 100 / checks) + 1 / checks
        assert told <= 100 * ALPHA
        assert false == pytest.approx(told / 100, abs=doubt)


@pytest.mark.parametrize("earlier", [1, 3, 10])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.3, 0.6])
def test_noise_that_differs_from_check_to_check_keeps_alpha(spread, earlier):
    rng, shape = np.random.default_rng(26), (20_000, 1)

    def sd() -> trials.Array:
        return np.exp(spread * rng.standard_normal(shape))

    past = trials.earlier_sd(rng, trials.normal, sd, shape, checks=earlier)
    noise = sd()[:, :, None] * trials.normal(rng, (*shape, 48))
    rule = flat(1, 4.0, past=PastNoise(1.0, min(2.0, earlier)))
    assert trials.simulate(rule, noise, past_sd=past).false_verdict() <= ALPHA


@pytest.mark.parametrize("draw", [trials.student, trials.spiky], ids=["t3", "spikes"])
@pytest.mark.parametrize("ratio", [1, 4])
def test_outliers_before_and_now_keep_alpha(draw, ratio):
    rng, shape = np.random.default_rng(27), (20_000, 1)
    past = trials.earlier_sd(rng, draw, lambda: np.ones(shape), shape, checks=3)
    rule = flat(1, 4.0, past=PastNoise(1.0, 2.0))
    noise = ratio * draw(rng, (*shape, 60))
    assert trials.simulate(rule, noise, past_sd=past).false_verdict() <= ALPHA


def test_earlier_checks_make_nothing_worse_of_noise_that_hangs_together_in_time():
    rng, shape = np.random.default_rng(28), (4_000, 1)
    past = trials.earlier_sd(rng, trials.correlated, lambda: np.ones(shape), shape, checks=3)
    noise = trials.correlated(rng, (*shape, 96))
    alone = trials.simulate(flat(1, 4.0), noise).false_verdict()
    lent = trials.simulate(flat(1, 4.0, past=PastNoise(1.0, 2.0)), noise, past_sd=past).false_verdict()
    assert alone == pytest.approx(0.16, abs=0.02)
    assert lent == pytest.approx(alone, abs=0.02)


def test_past_that_holds_saves_pairs_and_loses_no_power():
    effects = 0.02 + 0.01 * trials.normal(np.random.default_rng(29), (4_000, 1, 32))
    alone = trials.simulate(SequentialRule(), effects)
    lent = trials.simulate(SequentialRule(past=PastNoise(0.01, 2.0)), effects)
    assert (lent.verdict == 1).mean() >= 0.98
    assert lent.pairs.mean() < alone.pairs.mean() - 0.3


@pytest.mark.parametrize(("sd", "g"), [(0.01, 4.0), (0.02, 1.0)])
def test_one_changed_case_of_200_is_found_in_96_pairs_with_a_past_as_without(sd, g):
    effects = 0.02 + sd * trials.normal(np.random.default_rng(31), (2_000, 1, 96))
    for past in (PastNoise(), PastNoise(sd, 2.0)):
        found = trials.simulate(SequentialRule(m=200, g=g, past=past), effects).verdict == 1
        assert found.mean() >= 0.95


def test_interval_with_a_past_covers_the_true_effect_at_all_looks_together():
    rule, true_effect = SequentialRule(alpha=0.05, g=4.0, past=PastNoise(1.0, 2.0)), 0.3
    effects = np.random.default_rng(30).normal(true_effect, 1.0, (2_000, 40)).tolist()
    missed = [
        any(not look.low <= true_effect <= look.high for look in rule.looks(trial)) for trial in effects
    ]
    assert 0.002 < sum(missed) / len(missed) <= 0.05
