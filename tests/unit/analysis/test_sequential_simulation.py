"""What the rule promises, on seeded normal noise; the figures in `docs/statistics.md` are checked here."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from app.analysis.sequential import ALPHA, Decision, SequentialRule
from app.domain.verdicts import Verdict

TRIALS = 20_000
PAGE = Path(__file__).parents[3] / "docs" / "statistics.md"
NEVER_PASS = 1e-300
"""A level at which the interval of `no_regression` stays infinite."""


def simulate(
    rule: SequentialRule, effect: float, sd: float, *, pairs: int, trials: int = TRIALS
) -> list[Decision]:
    """Return the decision of every trial."""
    effects = np.random.default_rng(20_260_131).normal(effect, sd, (trials, pairs))
    return [rule.decide(trial) for trial in effects.tolist()]


def shares(decisions: list[Decision]) -> dict[Verdict, float]:
    counts = Counter(decision.final for decision in decisions)
    return {verdict: counts[verdict] / len(decisions) for verdict in Verdict}


def mean_pairs(decisions: list[Decision]) -> float:
    return sum(decision.n for decision in decisions) / len(decisions)


def printed_figures() -> list[tuple[float, ...]]:
    """Rows of the page's table: effect, mean pairs, shares of regressed, no_regression, improved."""
    table = PAGE.read_text(encoding="utf-8").partition("\n| true effect |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([−0-9.]+) \|(.+)\|$", table, re.MULTILINE)
    return [
        tuple(float(cell.replace("−", "-")) for cell in (effect, *rest.split("|"))) for effect, rest in rows
    ]


def test_rule_that_looks_up_to_60_pairs_keeps_its_false_alarms_below_alpha():
    rule = SequentialRule(tau0=0.0, g=1.0, alpha_pass=NEVER_PASS)
    found = shares(simulate(rule, 0.0, 1.0, pairs=60))
    false_alarms = found[Verdict.REGRESSED] + found[Verdict.IMPROVED]
    assert found[Verdict.NO_REGRESSION] == 0
    assert 0.002 < false_alarms <= ALPHA


@pytest.mark.parametrize(("effect", "pairs", "regressed", "unchanged", "improved"), printed_figures())
def test_rule_decides_as_fast_and_as_well_as_the_page_says(effect, pairs, regressed, unchanged, improved):
    decisions = simulate(SequentialRule(), effect, 0.01, pairs=32)
    found = shares(decisions)
    assert mean_pairs(decisions) == pytest.approx(pairs, abs=0.11)
    assert found[Verdict.REGRESSED] == pytest.approx(regressed, abs=0.002)
    assert found[Verdict.NO_REGRESSION] == pytest.approx(unchanged, abs=0.011)
    assert found[Verdict.IMPROVED] == pytest.approx(improved, abs=0.011)


def test_page_has_the_figures_of_no_change_the_minimum_effect_and_the_tolerance():
    assert {0.0, 0.005, 0.02} <= {row[0] for row in printed_figures()}


def test_tolerance_is_found_with_power_098_and_the_minimum_effect_hardly_ever():
    at_tolerance = shares(simulate(SequentialRule(), 0.02, 0.01, pairs=32))
    at_minimum = shares(simulate(SequentialRule(), 0.005, 0.01, pairs=32))
    assert at_tolerance[Verdict.REGRESSED] >= 0.98
    assert at_minimum[Verdict.REGRESSED] <= 0.002


def test_regression_of_the_tolerance_is_missed_no_more_often_than_its_level_allows():
    found = shares(simulate(SequentialRule(alpha=1e-12), 0.02, 0.01, pairs=32))
    assert 0 < found[Verdict.NO_REGRESSION] <= 0.025


@pytest.mark.parametrize("sd", [0.01, 0.02])
def test_check_of_200_metrics_still_finds_the_tolerance_in_96_pairs(sd):
    found = shares(simulate(SequentialRule(m=200), 0.02, sd, pairs=96, trials=2_000))
    assert found[Verdict.REGRESSED] >= 0.95


def test_interval_covers_the_true_effect_at_all_looks_together():
    rule, true_effect = SequentialRule(alpha=0.05, g=4.0), 0.3
    effects = np.random.default_rng(5).normal(true_effect, 1.0, (3_000, 60)).tolist()
    missed = [
        any(not look.low <= true_effect <= look.high for look in rule.looks(trial)) for trial in effects
    ]
    assert 0.005 < sum(missed) / len(missed) <= 0.05


def test_wrong_prior_costs_pairs_but_not_validity():
    for g in (1.0, 25.0):
        rule = SequentialRule(tau0=0.0, g=g, alpha_pass=NEVER_PASS)
        found = shares(simulate(rule, 0.0, 1.0, pairs=40, trials=5_000))
        assert found[Verdict.REGRESSED] + found[Verdict.IMPROVED] <= ALPHA
