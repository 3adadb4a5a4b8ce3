from dataclasses import replace

import numpy as np
import pytest

from benchmarks.detection import stopping
from benchmarks.detection.checks import HISTORY, SCENARIOS, Check, CheckCell, make_check, standard_error
from benchmarks.detection.comparers import COMPARERS, CheckScore, Comparer, score_check
from benchmarks.detection.families import MODELS
from benchmarks.detection.noise import Entry, normal

SEEN = CheckCell("tuning", "usual", True, 0)


@pytest.fixture(scope="module")
def flat_checks() -> list[Check]:
    return [make_check(CheckCell("tuning", "usual", False, copy)) for copy in range(12)]


@pytest.fixture(scope="module")
def changed_checks() -> list[Check]:
    return [make_check(CheckCell("tuning", "usual", True, copy)) for copy in range(10)]


def scores(name: str, checks: list[Check]) -> CheckScore:
    return sum((score_check(check, COMPARERS[name]()) for check in checks), start=CheckScore())


def test_check_has_200_cases_with_the_scenarios_blocks_and_one_to_three_changes():
    check = make_check(SEEN)
    low, high = SCENARIOS["usual"].blocks
    assert check.base.shape == check.head.shape == (200, check.blocks)
    assert low <= check.blocks <= high
    assert check.history.shape == (200, HISTORY)
    assert 1 <= sum(t != "no_regression" for t in check.truth) <= 3
    assert np.all(np.isfinite(check.value) & (check.value > 0))


def test_flat_check_has_no_change():
    assert not make_check(CheckCell("held_out", "hard", False, 0)).effect.any()


def test_columns_of_a_check_say_what_its_matrices_say():
    check = make_check(SEEN)
    rows = (check.benchmark == "case_007") & (check.side == "head") & (check.block == 2)
    assert check.value[rows].tolist() == [check.head[7, 2]]


def test_same_cell_gives_the_same_check():
    assert np.array_equal(make_check(SEEN).value, make_check(SEEN).value)


@pytest.mark.parametrize("family", MODELS)
def test_families_have_checks_of_their_own(family):
    others = [make_check(CheckCell(other, "hard", False, 0, cases=3)) for other in MODELS if other != family]
    one = make_check(CheckCell(family, "hard", False, 0, cases=3))
    assert all(not np.array_equal(one.base, other.base) for other in others)


def test_noise_that_grows_with_the_level_is_larger_in_heads_that_are_slower(monkeypatch):
    growing = Entry(lambda rng, x, sd: replace(normal(rng, x, sd), growth=3.0))
    cell = CheckCell("tuning", "usual", True, 0, cases=4)
    monkeypatch.setitem(MODELS, "tuning", {"plain": Entry(normal)})
    plain = make_check(cell)
    monkeypatch.setitem(MODELS, "tuning", {"growing": growing})
    check = make_check(cell)
    assert np.array_equal(check.base, plain.base)
    assert np.array_equal(check.sd > plain.sd, check.effect > 0)
    assert np.array_equal(check.sd < plain.sd, check.effect < 0)


@pytest.mark.parametrize(
    ("family", "model"), [("tuning", "gaussian"), ("tuning", "ar1"), ("held_out", "moving_average")]
)
def test_standard_error_is_that_of_repeated_draws(family, model):
    x, base, head = np.arange(16), np.arange(0, 16, 2), np.arange(1, 16, 2)
    errors, means = [], []
    for seed in range(1000):
        noise = MODELS[family][model].draw(np.random.default_rng(seed), x, 0.01)
        errors.append(standard_error(noise, base, head))
        means.append(noise.core[head].mean() - noise.core[base].mean())
    assert np.std(means) == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=0.07)


def test_clairvoyant_finds_most_changes_and_its_intervals_cover(changed_checks):
    one = scores("clairvoyant", changed_checks)
    assert one.power > 0.8
    assert one.coverage == pytest.approx(0.95, abs=0.02)


def test_t_test_without_correction_fails_nearly_every_flat_check(flat_checks):
    assert scores("t_test", flat_checks).false_failures > 0.7


@pytest.mark.parametrize("name", ["t_bonferroni", "paired", "mann_whitney"])
def test_corrected_comparer_fails_few_flat_checks(name, flat_checks):
    assert scores(name, flat_checks).false_failures <= 1 / 6


def test_verdict_in_the_wrong_direction_is_not_power():
    check = make_check(SEEN)
    opposite = {"regressed": "improved", "improved": "regressed"}
    wrong = Comparer("wrong", "wrong", lambda c: [opposite.get(t, t) for t in c.truth])
    right = Comparer("right", "right", lambda c: c.truth)
    assert score_check(check, wrong).power == 0
    assert score_check(check, right).power == 1


def test_comparer_that_answers_too_few_verdicts_is_refused():
    with pytest.raises(ValueError, match="0 verdicts for 200 cases"):
        score_check(make_check(SEEN), Comparer("none", "none", lambda _: []))


def test_identical_values_are_no_change_for_the_t_tests():
    check = make_check(CheckCell("tuning", "usual", False, 0, cases=4))
    check.head[:] = check.base[:] = 1.0
    assert COMPARERS["t_bonferroni"]().compare(check) == ["inconclusive"] * 4
    assert COMPARERS["paired"]().compare(check) == ["inconclusive"] * 4


def test_stopping_early_saves_pairs_and_finds_the_slower_cases():
    flat, slower = stopping.run_rule(CheckCell("tuning", "long", False, 0))
    assert flat.cases == slower.cases == 200
    assert 0 < flat.saved < 1
    assert flat.regressed <= 2
    assert slower.regressed > 150
