"""Base against head from values: verdicts, multiplicity, and edges. Seeds are fixed."""

import math
import random

import numpy as np
import pytest

from app.analysis.comparison import BenchmarkValues, compare
from app.analysis.comparison.significance import q_values
from app.domain.verdicts import Verdict


def case(base, head, name="case", blocks=True):
    return BenchmarkValues(
        name,
        *(tuple((str(i) if blocks else None, float(v)) for i, v in enumerate(side)) for side in (base, head)),
    )


def measured(change=0.0, n=12, cv=0.01, seed=0, name="case", blocks=True):
    rng = np.random.default_rng(seed)
    base, head = np.exp(rng.normal(0, cv, (2, n)))
    return case(base, head * (1 + change), name, blocks)


@pytest.mark.parametrize(
    ("change", "better", "verdict"),
    [
        (0.05, "lower", Verdict.REGRESSED),
        (-0.05, "lower", Verdict.IMPROVED),
        (0.05, "higher", Verdict.IMPROVED),
        (-0.05, "higher", Verdict.REGRESSED),
        (0.0, "lower", Verdict.NO_REGRESSION),
        (0.0, "higher", Verdict.NO_REGRESSION),
    ],
)
@pytest.mark.parametrize("blocks", [True, False])
def test_a_verdict_follows_the_change_and_the_direction(change, better, verdict, blocks):
    (found,) = compare([measured(change, blocks=blocks)], better=better)
    assert found.verdict is verdict
    assert found.ci_low < found.change < found.ci_high


def test_few_noisy_values_are_inconclusive():
    (found,) = compare([measured(0.02, n=4, cv=0.05)])
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_change_below_the_minimum_effect_is_no_regression():
    changed = measured(0.01, n=40, cv=0.003)
    assert compare([changed])[0].verdict is Verdict.REGRESSED
    assert compare([changed], minimum_effect=0.015)[0].verdict is Verdict.NO_REGRESSION


def test_pairs_that_share_what_the_machine_did_see_through_it():
    rng = np.random.default_rng(1)
    machine = rng.normal(0, 0.1, 12)
    base, head = np.exp(machine + rng.normal(0, 0.005, (2, 12)))
    assert compare([case(base, head * 1.03)])[0].verdict is Verdict.REGRESSED
    assert compare([case(base, head * 1.03, blocks=False)])[0].verdict is Verdict.INCONCLUSIVE


def test_one_wild_value_does_not_hide_a_change():
    rng = np.random.default_rng(2)
    base, head = np.exp(rng.normal(0, 0.01, (2, 20)))
    head = head * 1.05
    base[7] = 50.0
    assert compare([case(base, head)])[0].verdict is Verdict.REGRESSED


def test_the_order_of_values_within_a_side_does_not_matter():
    one = measured(0.03)
    other = BenchmarkValues(one.benchmark, one.base[::-1], one.head[3:] + one.head[:3])
    (first,), (second,) = compare([one]), compare([other])
    assert (first.verdict, first.change) == (second.verdict, pytest.approx(second.change))


def test_swapping_the_sides_mirrors_the_verdict():
    one = measured(0.04)
    (there,), (back,) = compare([one]), compare([BenchmarkValues("case", one.head, one.base)])
    assert (there.verdict, back.verdict) == (Verdict.REGRESSED, Verdict.IMPROVED)
    assert (1 + there.change) * (1 + back.change) == pytest.approx(1)


# --- over a whole check --------------------------------------------------------------------------------------------


def test_checks_without_a_change_fail_in_at_most_one_of_twenty():
    failed = 0
    for seed in range(120):
        check = [measured(n=8, cv=0.02, seed=1000 * seed + i, name=str(i)) for i in range(40)]
        failed += any(found.verdict is Verdict.REGRESSED for found in compare(check))
    assert failed <= 12  # 5 % of 120 is 6; 12 has a probability below 2 %


def test_intervals_cover_the_truth_nineteen_times_in_twenty():
    check = [measured(0.03, n=8, cv=0.02, seed=i, name=str(i)) for i in range(2000)]
    covered = np.mean([found.ci_low <= 0.03 <= found.ci_high for found in compare(check)])
    assert 0.935 <= covered <= 0.965


def test_a_change_among_two_hundred_flat_cases_is_found():
    check = [measured(0.06 if i == 77 else 0, n=10, cv=0.01, seed=i, name=str(i)) for i in range(200)]
    assert [found.benchmark for found in compare(check) if found.verdict is Verdict.REGRESSED] == ["77"]


def test_q_values_rise_with_p_values_and_are_never_below_them():
    p = np.array([0.001, 0.2, 0.01, 0.02, 1.0])
    assert q_values(p) == pytest.approx([0.005, 0.25, 0.025, 0.1 / 3, 1.0])


# --- edges ---------------------------------------------------------------------------------------------------------


def test_nothing_is_compared_with_nothing():
    assert compare([]) == []


@pytest.mark.parametrize(("base", "head"), [([], [1, 2, 3]), ([1, 2, 3], []), ([1], [1]), ([1, 2, 3], [2])])
def test_sides_with_fewer_than_two_values_are_inconclusive(base, head):
    (found,) = compare([case(base, head)])
    assert (found.verdict, found.change, found.p_value) == (Verdict.INCONCLUSIVE, None, 1.0)
    assert found.note == "too few values"


def test_equal_constants_have_not_regressed():
    (found,) = compare([case([3.0] * 5, [3.0] * 5)])
    assert (found.verdict, found.change, found.ci_high, found.p_value) == (
        Verdict.NO_REGRESSION,
        0.0,
        0.0,
        1.0,
    )


@pytest.mark.parametrize("value", [0.1, 1 / 3, -0.7, 1.7e308, 5e-324])
@pytest.mark.parametrize("numbers", [(8, 12), (14, 5), (2, 9)])
def test_equal_constants_of_any_value_and_number_have_not_changed(value, numbers):
    (found,) = compare([case(*([value] * n for n in numbers))])
    assert (found.verdict, found.change, found.p_value) == (Verdict.NO_REGRESSION, 0.0, 1.0)


def test_constants_that_differ_have_changed():
    (found,) = compare([case([100.0] * 6, [101.0] * 6)])
    assert found.verdict is Verdict.REGRESSED


def test_values_that_are_not_positive_are_compared_by_difference():
    rng = np.random.default_rng(0)
    (found,) = compare([case(rng.normal(-10, 0.1, 12), rng.normal(-9, 0.1, 12))])
    assert found.verdict is Verdict.REGRESSED
    assert found.change == pytest.approx(0.1, abs=0.01)


def test_blocks_of_one_side_only_still_count_as_values():
    one = measured(0.05)
    lone = BenchmarkValues("case", one.base, tuple((f"x{block}", value) for block, value in one.head))
    assert compare([lone])[0].verdict is Verdict.REGRESSED


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ([0.0] * 6, [0.0] * 6, Verdict.NO_REGRESSION),
        ([0.0] * 6, [3.0] * 6, Verdict.REGRESSED),
        ([0.0, 0.0, 0.0, 0.0, 1.0, 2.0], [3.0] * 6, Verdict.REGRESSED),
        ([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0], [-5.0, -5.1, -5.2, -5.0, -5.1, -5.2], Verdict.IMPROVED),
        ([5e-324] * 6, [-1.7e308] * 6, Verdict.IMPROVED),
    ],
)
def test_base_around_zero_gives_a_verdict_and_no_change(base, head, verdict):
    (found,) = compare([case(base, head)])
    assert found.verdict is verdict
    assert (found.change, found.ci_low, found.ci_high) == (None, None, None)
    assert found.note == "base is around 0"


def test_ratio_beyond_all_numbers_gives_a_verdict_and_no_change():
    (found,) = compare([case([5e-324] * 6, [1.7e308] * 6)])
    assert (found.verdict, found.change, found.note) == (Verdict.REGRESSED, None, "ratio too large")


@pytest.mark.parametrize(
    ("base", "head", "change"),
    [
        ([1.7e308] * 6, [-1.7e308] * 6, -2.0),
        ([-1.7e308] * 6, [-1.7e308] * 7, 0.0),
        ([1e308] * 6, [1.5e308] * 6, 0.5),
    ],
)
def test_largest_values_are_compared_like_any_others(base, head, change):
    (found,) = compare([case(base, head)])
    assert found.change == pytest.approx(change)
    assert found.note == ""


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(6))
def test_hostile_values_give_numbers_or_a_note_and_no_warning(seed):
    draw = random.Random(seed)
    largest = [1.7e308, -1.7e308, 5e-324, -5e-324, 0.0, 1.0, -1.0, 1e-300, 1e300]

    def side():
        pool = draw.sample(largest, draw.randint(1, 4))
        return draw.choices(pool, k=draw.randint(1, 14))

    cases = [case(side(), side(), str(i), blocks=draw.random() < 0.5) for i in range(60)]
    for found in [*compare(cases), *(compare([one])[0] for one in cases)]:
        assert 0 <= found.p_value <= 1
        assert 0 <= found.q_value <= 1
        assert (found.change is None) == bool(found.note)
        ends = [end for end in (found.ci_low, found.change, found.ci_high) if end is not None]
        assert all(map(math.isfinite, ends))
        assert ends == sorted(ends)
