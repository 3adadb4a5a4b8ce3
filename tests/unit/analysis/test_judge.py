import math
from dataclasses import replace
from random import Random

import pytest

from app.analysis.judge import (
    Judgement,
    MetricPlan,
    Pair,
    case_settled,
    examine,
    grade_of,
    judge_case,
    levels_of,
)
from app.domain.verdicts import Verdict

LATENCY = MetricPlan("latency_p50", "s", "lower")
RATE = MetricPlan("tokens_per_s", "tokens/s", "higher")
MEMORY = MetricPlan("peak_memory", "B", "lower", kind="exact")


def pairs_of(base: list[float | None], head: list[float | None], **fields: object) -> list[Pair]:
    """Pairs in order, two a block."""
    return [Pair(i, i // 2, b, h, **fields) for i, (b, h) in enumerate(zip(base, head, strict=True))]


def drawn(n: int, change: float, sd: float = 0.01, base: float = 0.01, seed: int = 1) -> list[Pair]:
    """`n` pairs with head `change` away from base and log-normal noise of `sd` on each pair."""
    draw = Random(seed)
    return pairs_of([base] * n, [base * (1 + change) * math.exp(draw.gauss(0, sd)) for _ in range(n)])


def voided(pairs: list[Pair], indices: set[int], **fields: object) -> list[Pair]:
    return [
        p._replace(void=True, void_reason="host", **fields) if p.pair_index in indices else p for p in pairs
    ]


# --- sampled metrics ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "change", "verdict", "worse"),
    [
        (LATENCY, 0.5, Verdict.REGRESSED, True),
        (LATENCY, -0.5, Verdict.IMPROVED, False),
        (RATE, 0.5, Verdict.IMPROVED, False),
        (RATE, -0.5, Verdict.REGRESSED, True),
    ],
)
def test_large_change_is_settled_with_its_raw_change_inside_its_interval(plan, change, verdict, worse):
    judged = judge_case(plan, drawn(8, change), m=4)
    assert (judged.verdict, judged.worse) == (verdict, worse)
    assert judged.ci_low < judged.change < judged.ci_high
    assert judged.change == pytest.approx(change, abs=0.02)
    assert judged.ci_level == pytest.approx(1 - 0.01 / 4)
    assert judged.log_e > math.log(400)


def test_equal_commits_are_no_regression_after_few_pairs():
    judged = judge_case(LATENCY, drawn(20, 0.0))
    assert judged.verdict is Verdict.NO_REGRESSION
    assert judged.n_pairs <= 10


def test_identical_values_are_no_regression():
    judged = judge_case(LATENCY, pairs_of([0.01] * 4, [0.01] * 4))
    assert (judged.verdict, judged.change, judged.worse, judged.sigma_pair) == (
        Verdict.NO_REGRESSION,
        0,
        False,
        0,
    )


@pytest.mark.parametrize("factor", [1e-6, 1e9])
@pytest.mark.parametrize("change", [-0.3, 0.0, 0.3])
def test_judgement_does_not_depend_on_the_unit(factor, change):
    def judged(scale: float) -> tuple[object, ...]:
        it = judge_case(LATENCY, drawn(12, change, base=scale))
        return (
            it.verdict,
            it.n_pairs,
            *(round(x, 9) for x in (it.change, it.ci_low, it.ci_high, it.sigma_pair)),
        )

    assert judged(factor) == judged(1.0)


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.02, 0.3])
def test_rate_and_its_reciprocal_time_get_the_same_verdict(change):
    times = drawn(16, change)
    rates = [pair._replace(base=1 / pair.base, head=1 / pair.head) for pair in times]
    as_time, as_rate = judge_case(LATENCY, times), judge_case(RATE, rates)
    assert (as_rate.verdict, as_rate.worse, as_rate.n_pairs) == (
        as_time.verdict,
        as_time.worse,
        as_time.n_pairs,
    )
    assert 1 + as_rate.ci_low == pytest.approx(1 / (1 + as_time.ci_high))


def test_interval_is_absent_while_it_is_unbounded():
    judged = judge_case(LATENCY, drawn(2, 0.1))
    assert (judged.verdict, judged.ci_low, judged.ci_high) == (None, None, None)
    assert judged.change == pytest.approx(0.1, abs=0.02)


def test_every_block_is_a_look_until_the_verdict():
    judged = judge_case(LATENCY, drawn(20, 0.5))
    assert [look.n_pairs for look in judged.looks] == list(range(2, judged.n_pairs + 1, 2))
    last = judged.looks[-1]
    assert (last.change, last.low, last.high) == (judged.change, judged.ci_low, judged.ci_high)


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.05])
def test_judgement_once_settled_is_the_same_with_any_pairs_after_it(change):
    pairs = drawn(96, change)
    first = next(it for it in (judge_case(LATENCY, pairs[:n]) for n in range(97)) if it.verdict is not None)
    later = voided(drawn(96, 9.0), set(range(0, 96, 2)))[first.n_pairs :]
    assert judge_case(LATENCY, pairs) == first
    assert judge_case(LATENCY, pairs[: first.n_pairs] + later, exhausted=True) == first


def test_order_in_which_pairs_arrive_does_not_matter():
    pairs = drawn(10, 0.03)
    assert judge_case(LATENCY, reversed(pairs)) == judge_case(LATENCY, pairs)


@pytest.mark.parametrize("n", [0, 1])
def test_case_without_a_whole_block_has_no_numbers_yet(n):
    judged = judge_case(LATENCY, drawn(n, 0.5))
    assert (judged.verdict, judged.n_pairs, judged.change, judged.looks) == (None, n, None, ())


@pytest.mark.parametrize("n", [0, 1, 2])
def test_exhausted_case_with_hardly_any_pairs_could_hide_anything(n):
    judged = judge_case(LATENCY, drawn(n, 0.5), exhausted=True)
    assert (judged.verdict, judged.could_hide) == (Verdict.INCONCLUSIVE, None)


def test_exhausted_case_of_96_noisy_pairs_says_what_it_could_hide():
    pairs = drawn(96, 0.05, sd=0.5)
    assert judge_case(LATENCY, pairs).verdict is None
    judged = judge_case(LATENCY, pairs, exhausted=True)
    assert (judged.verdict, judged.n_pairs) == (Verdict.INCONCLUSIVE, 96)
    assert math.log1p(judged.change) < judged.could_hide < 0.5


def test_improvement_still_in_sight_is_no_regression_when_exhausted():
    pairs = pairs_of([1.0] * 4, [0.9, 0.89, 0.91, 0.9])
    assert judge_case(LATENCY, pairs).verdict is None
    assert judge_case(LATENCY, pairs, exhausted=True).verdict is Verdict.NO_REGRESSION


@pytest.mark.parametrize("change", [0.0, 0.5])
def test_only_an_inconclusive_case_has_something_to_hide(change):
    assert [judge_case(LATENCY, drawn(n, change)).could_hide for n in (4, 20)] == [None, None]


def test_level_of_no_regression_can_be_set():
    pairs = drawn(6, 0.0, sd=0.004)
    assert judge_case(LATENCY, pairs).verdict is Verdict.NO_REGRESSION
    assert judge_case(LATENCY, pairs, alpha_pass=1e-9).verdict is None


def test_timer_that_resolves_too_little_keeps_a_case_open():
    plan = replace(LATENCY, timer_floor=0.2)
    assert judge_case(plan, drawn(8, 0.05)).verdict is None


def test_values_are_summed_up_by_the_medians_that_the_verdict_saw():
    judged = judge_case(LATENCY, pairs_of([1, 2, 3, 4], [10, 20, 30, 40]))
    assert (judged.base_median, judged.head_median) == (2.5, 25)


@pytest.mark.parametrize("plan", [LATENCY, RATE])
def test_change_is_the_ratio_of_the_geometric_means_of_the_pairs_that_were_judged(plan):
    pairs = voided(drawn(40, 0.001, sd=0.03, seed=3), {1, 5})
    judged = judge_case(plan, pairs, exhausted=True)
    levels = levels_of(pairs, judged.kind, judged.n_pairs)
    assert levels.head_geomean / levels.base_geomean - 1 == pytest.approx(judged.change, abs=1e-12)
    assert (levels.base_median, levels.head_median) == (judged.base_median, judged.head_median)


def test_levels_are_of_the_pairs_before_the_verdict_only():
    pairs = pairs_of([1, 1, 1, 1], [2, 2, 50, 50])
    assert levels_of(pairs, "sampled", 2) == pytest.approx((1, 2, 1, 2))
    assert levels_of(pairs, "exact", 2) == (1, 2, None, None)
    assert levels_of([], "sampled", None) == (None, None, None, None)


@pytest.mark.parametrize(("plan", "sign"), [(LATENCY, 1), (RATE, -1)])
def test_look_tells_the_bound_that_no_regression_rests_on(plan, sign):
    judged = judge_case(plan, drawn(4, 0.0, sd=0.001), m=100)
    (last,) = judged.looks[-1:]
    assert (judged.verdict, last.low, last.high) == (Verdict.NO_REGRESSION, None, None)
    assert 0 < sign * (last.bound_pass - last.change) < 0.02


def test_look_has_no_bound_while_nothing_is_excluded():
    assert judge_case(LATENCY, drawn(2, 0.0)).looks[0].bound_pass is None


# --- metrics that change together ------------------------------------------------------------------


def test_metric_that_changed_with_many_needs_fewer_pairs_and_says_at_which_level():
    pairs = drawn(6, 0.05)
    assert judge_case(LATENCY, pairs, m=200).verdict is None
    judged = judge_case(LATENCY, pairs, m=200, found=100)
    assert (judged.verdict, judged.n_pairs) == (Verdict.REGRESSED, 6)
    assert judged.ci_level == pytest.approx(1 - 0.01 * 100 / 200)
    assert (judged.looks[-1].low, judged.looks[-1].high) == (judged.ci_low, judged.ci_high)
    assert math.expm1(0.005) < judged.ci_low


def test_metric_that_did_not_change_keeps_its_own_level_whatever_the_others_do():
    pairs = drawn(12, 0.0)
    assert judge_case(LATENCY, pairs, m=200, found=199) == judge_case(LATENCY, pairs, m=200)


def test_only_the_newest_look_profits_from_the_others():
    pairs = drawn(6, 0.05) + [
        pair._replace(pair_index=6 + i, block=3 + i // 2, head=0.0102 - 0.0004 * (i % 2))
        for i, pair in enumerate(drawn(10, 0.0))
    ]
    assert judge_case(LATENCY, pairs[:6], m=200, found=200).verdict is Verdict.REGRESSED
    assert judge_case(LATENCY, pairs, m=200, found=200).n_pairs > 6


def test_recomputed_verdict_is_the_one_that_was_stored():
    pairs = drawn(40, 0.04)
    stored = judge_case(LATENCY, pairs[:8], m=50, found=30)
    assert stored.verdict is Verdict.REGRESSED
    assert judge_case(LATENCY, pairs[:8], m=50).verdict is None
    found = round((1 - stored.ci_level) * 50 / 0.01)
    assert judge_case(LATENCY, pairs[: stored.n_pairs], m=50, found=found) == stored


@pytest.mark.parametrize(
    "plan",
    [
        replace(LATENCY, gating=False),
        replace(LATENCY, budget_max=1.0),
        replace(LATENCY, budget_min=1e-9),
        replace(LATENCY, kind="exact", tau=10.0),
    ],
    ids=["exploratory", "budget", "budget_min", "exact"],
)
def test_metric_that_is_judged_otherwise_neither_lends_nor_takes_evidence(plan):
    pairs = drawn(6, 0.05)
    assert examine(plan, pairs, m=200).log_e == -math.inf
    assert judge_case(plan, pairs, m=200, found=200) == judge_case(plan, pairs, m=200)


def test_evidence_that_is_lent_is_of_the_newest_look_and_grows_with_the_change():
    small, large = (examine(LATENCY, drawn(8, change), m=200).log_e for change in (0.03, 0.05))
    assert 0 < small < large < math.inf
    assert examine(LATENCY, drawn(8, 0.0001), m=200).log_e == -math.inf


def test_metric_settled_at_an_earlier_look_lends_nothing_to_the_others():
    pairs = drawn(8, 0.0, sd=0.001)
    assert judge_case(LATENCY, pairs, m=200).n_pairs < 8
    assert examine(LATENCY, pairs, m=200).log_e == -math.inf


def test_bad_environment_lends_no_evidence_and_takes_none():
    pairs = drawn(12, 0.04)
    assert judge_case(LATENCY, pairs[:8], m=200).verdict is None
    assert judge_case(LATENCY, pairs[:8], m=200, found=200).verdict is Verdict.REGRESSED
    disturbed = voided(pairs, {8, 9, 10, 11})
    assert examine(LATENCY, disturbed, m=200).log_e == -math.inf
    assert judge_case(LATENCY, disturbed, m=200, found=200).reason == "invalid_environment"


# --- what is known -----------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [-0.3, 0.0, 0.02, 0.3])
@pytest.mark.parametrize(
    "plan", [LATENCY, replace(LATENCY, budget_max=0.0101), replace(LATENCY, gating=False)]
)
def test_judging_block_by_block_what_is_new_gives_what_judging_all_at_once_gives(plan, change):
    pairs, looks = drawn(40, change, sd=0.02), []
    for n in range(2, 41, 2):
        judged = judge_case(plan, pairs[:n], known=looks[-1].n_pairs if looks else 0)
        at_once = judge_case(plan, pairs[:n])
        looks = [look for look in looks if look.n_pairs < judged.looks[0].n_pairs] + list(judged.looks)
        assert replace(judged, looks=()) == replace(at_once, looks=())
        assert tuple(looks) == at_once.looks
        if judged.verdict is not None:
            break


def test_past_of_a_case_is_part_of_its_plan():
    plan = replace(LATENCY, past_sd=0.01, past_freedom=2.0, g=25.0)
    pairs = drawn(4, 0.5)
    assert judge_case(replace(plan, past_freedom=0.0), pairs, m=200).verdict is None
    assert judge_case(plan, pairs, m=200).verdict is Verdict.REGRESSED


# --- pairs that do not count ----------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_invalid_value_voids_its_pair_and_is_flagged(value):
    pairs = drawn(10, 0.0, sd=0.03)
    pairs[1] = pairs[1]._replace(head=value)
    judged = judge_case(LATENCY, pairs)
    assert (judged.n_void, judged.flags) == (1, ("invalid_value",))
    assert judged.n_pairs == 8


def test_metric_of_invalid_values_only_is_not_measured():
    judged = judge_case(LATENCY, pairs_of([1.0] * 4, [0.0] * 4))
    assert (judged.verdict, judged.reason) == (Verdict.NOT_MEASURED, "invalid_value")


def test_void_pairs_are_left_out_of_the_numbers():
    pairs = drawn(10, 0.0, sd=0.03)
    wild = pairs[3]._replace(head=99.0)
    judged = judge_case(LATENCY, voided([*pairs[:3], wild, *pairs[4:]], {3}))
    assert judged.n_void == 1
    assert judged.change == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize("exhausted", [False, True])
def test_environment_that_voids_too_many_pairs_ends_the_case_whatever_follows(exhausted):
    judged = judge_case(LATENCY, voided(drawn(16, 0.5), {1, 3, 5}), exhausted=exhausted)
    assert (judged.verdict, judged.reason, judged.n_void) == (Verdict.NOT_MEASURED, "invalid_environment", 3)


def test_verdict_before_the_environment_went_bad_stands():
    judged = judge_case(LATENCY, voided(drawn(16, 0.5), set(range(8, 16))))
    assert (judged.verdict, judged.n_void) == (Verdict.REGRESSED, 0)


def test_gates_that_hit_one_arm_end_the_case():
    pairs = voided(drawn(32, 0.0, sd=0.5), set(range(3, 32, 4)), void_arm="head")
    judged = judge_case(LATENCY, pairs)
    assert (judged.verdict, judged.reason) == (Verdict.NOT_MEASURED, "gate_asymmetry")


def test_pairs_lost_to_a_failure_are_no_void_but_a_flag():
    pairs = drawn(6, 0.5)
    pairs[2] = pairs[2]._replace(head=None, head_failed=True)
    pairs[3] = pairs[3]._replace(base=None, base_failed=True)
    judged = judge_case(LATENCY, pairs)
    assert (judged.n_pairs, judged.n_void, judged.flags) == (4, 0, ("base_failed", "head_failed"))


def test_metric_that_an_arm_did_not_report_is_flagged():
    judged = judge_case(LATENCY, pairs_of([1.0, 1.0], [None, 1.0]))
    assert (judged.n_pairs, judged.flags) == (1, ("value_missing",))


def test_voids_late_in_a_run_do_not_change_what_counted_before_them():
    pairs = drawn(12, 0.0, sd=0.05)
    late = [*pairs, pairs[0]._replace(pair_index=12, block=6, void=True, void_reason="host")]
    before, after = judge_case(LATENCY, pairs), judge_case(LATENCY, late)
    assert replace(after, n_void=0) == before


# --- grade ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sigma", "locked", "grade"),
    [
        (0.005, True, "A"),
        (0.005, False, "B"),
        (0.006, True, "B"),
        (0.02, False, "B"),
        (0.021, True, "C"),
        (None, True, None),
    ],
)
def test_grade_follows_the_noise_of_the_pairs_and_is_never_a_without_locked_clocks(sigma, locked, grade):
    assert grade_of(sigma, clocks_locked=locked) == grade


def test_sampled_metric_is_graded_by_its_own_pairs():
    pairs = drawn(8, 0.0, sd=0.001)
    assert judge_case(LATENCY, pairs).grade == "B"
    assert judge_case(LATENCY, pairs, clocks_locked=True).grade == "A"


# --- metrics outside the gate ---------------------------------------------------------------------


def test_metric_outside_the_gate_gets_its_verdict_only_at_the_end_and_from_all_pairs():
    plan = replace(LATENCY, gating=False)
    pairs = drawn(20, 0.5)
    running = judge_case(plan, pairs, m=200)
    ended = judge_case(plan, pairs, m=200, exhausted=True)
    assert (running.verdict, running.n_pairs, running.exploratory) == (None, 20, True)
    assert (ended.verdict, ended.n_pairs) == (Verdict.REGRESSED, 20)
    assert ended.ci_level == pytest.approx(0.99)


def test_exact_metric_outside_the_gate_gets_its_verdict_only_at_the_end():
    plan = replace(MEMORY, gating=False)
    pairs = pairs_of([100] * 4, [200] * 4)
    assert judge_case(plan, pairs).verdict is None
    ended = judge_case(plan, pairs, exhausted=True)
    assert (ended.verdict, ended.n_pairs) == (Verdict.REGRESSED, 4)


def test_bad_environment_reaches_a_metric_outside_the_gate_at_the_end():
    pairs = voided(drawn(4, 0.0), {0, 1, 2})
    plan = replace(LATENCY, gating=False)
    assert judge_case(plan, pairs).verdict is None
    assert judge_case(plan, pairs, exhausted=True).reason == "invalid_environment"


# --- exact metrics --------------------------------------------------------------------------------


def test_exact_metric_is_settled_by_the_first_block_without_noise_numbers():
    judged = judge_case(MEMORY, pairs_of([100] * 6, [110] * 6), m=50)
    assert (judged.verdict, judged.n_pairs, judged.kind) == (Verdict.REGRESSED, 2, "exact")
    assert judged.change == judged.ci_low == judged.ci_high == pytest.approx(0.1)
    assert (judged.ci_level, judged.sigma_pair, judged.grade, judged.log_e) == (None, None, None, None)


@pytest.mark.parametrize(("exhausted", "verdict"), [(False, None), (True, Verdict.INCONCLUSIVE)])
def test_exact_metric_needs_two_values_of_each_arm(exhausted, verdict):
    judged = judge_case(MEMORY, pairs_of([100], [200]), exhausted=exhausted)
    assert (judged.verdict, judged.n_pairs) == (verdict, 1)


def test_count_that_stays_zero_is_no_regression():
    plan = MetricPlan("recompiles", "1", "lower", kind="exact")
    judged = judge_case(plan, pairs_of([0, 0], [0, 0]))
    assert (judged.verdict, judged.change, judged.worse, judged.flags) == (
        Verdict.NO_REGRESSION,
        0.0,
        False,
        (),
    )


def test_count_that_leaves_zero_is_worse_without_a_number():
    plan = MetricPlan("recompiles", "1", "lower", kind="exact")
    judged = judge_case(plan, pairs_of([0, 0], [3, 3]))
    assert (judged.verdict, judged.change, judged.ci_high, judged.worse) == (
        Verdict.REGRESSED,
        None,
        None,
        True,
    )
    assert judged.flags == ("from_zero",)


def test_exact_metric_that_varies_is_sampled():
    judged = judge_case(MEMORY, pairs_of([100, 110, 105, 102, 108, 101], [200, 222, 208, 205, 215, 203]))
    assert (judged.verdict, judged.kind, judged.flags) == (Verdict.REGRESSED, "sampled", ("kind_sampled",))
    assert judged.sigma_pair > 0


def test_exact_metric_that_varies_must_still_be_worse_by_more_than_its_tolerance():
    base = [100, 103, 100, 103, 100, 103, 100, 103]
    grown = judge_case(MEMORY, pairs_of(base, [value * 1.016 for value in base]))
    assert (grown.kind, grown.verdict) == ("sampled", Verdict.NO_REGRESSION)
    assert grown.change == pytest.approx(0.016)


def test_exact_metric_in_a_bad_environment_is_not_measured():
    judged = judge_case(MEMORY, voided(pairs_of([1] * 4, [1] * 4), {0, 1, 2}))
    assert (judged.verdict, judged.reason) == (Verdict.NOT_MEASURED, "invalid_environment")


@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_exact_value_that_cannot_be_compared_voids_its_pair(value):
    judged = judge_case(MEMORY, pairs_of([100, 100, 100], [value, 100, 100]))
    assert (judged.verdict, judged.n_void, judged.flags) == (Verdict.NO_REGRESSION, 1, ("invalid_value",))


# --- budgets --------------------------------------------------------------------------------------


def with_budget(maximum: float) -> MetricPlan:
    return replace(LATENCY, budget_max=maximum)


def test_broken_budget_regresses_a_metric_that_hardly_changed():
    pairs = pairs_of([0.0495, 0.0496] * 4, [0.0501, 0.0502] * 4)
    assert judge_case(LATENCY, pairs).verdict is Verdict.NO_REGRESSION
    judged = judge_case(with_budget(0.050), pairs)
    assert (judged.verdict, judged.flags) == (Verdict.REGRESSED, ("budget",))


def test_budget_that_base_breaks_too_is_flagged_and_leaves_the_relative_verdict():
    flat, slower = drawn(12, 0.0, base=0.06), drawn(12, 0.5, base=0.06)
    assert judge_case(with_budget(0.05), flat).verdict is Verdict.NO_REGRESSION
    assert judge_case(with_budget(0.05), slower).verdict is Verdict.REGRESSED
    for pairs in (flat, slower):
        assert judge_case(with_budget(0.05), pairs).flags == ("already_broken",)


def test_kept_budget_leaves_no_trace():
    pairs = drawn(12, 0.0)
    assert judge_case(with_budget(0.02), pairs) == judge_case(LATENCY, pairs)


def test_budget_near_its_limit_keeps_the_case_open_and_then_is_given_up():
    pairs = drawn(20, 0.0, base=0.05, sd=0.02)
    pairs = [pair._replace(base=0.0499) for pair in pairs]
    plan = with_budget(0.05)
    settled = judge_case(LATENCY, pairs)
    waiting = judge_case(plan, pairs[: settled.n_pairs])
    given_up = judge_case(plan, pairs)
    assert settled.verdict is Verdict.NO_REGRESSION
    assert waiting.verdict is None
    assert given_up == replace(settled, flags=("budget_undecided",))
    assert judge_case(plan, pairs[: settled.n_pairs], exhausted=True) == given_up


def test_regression_does_not_wait_for_its_budget():
    pairs = pairs_of([0.04] * 6, [0.047, 0.053, 0.048, 0.052, 0.049, 0.051])
    judged = judge_case(with_budget(0.05), pairs)
    assert (judged.verdict, judged.flags) == (Verdict.REGRESSED, ("budget_undecided",))


def test_inconclusive_case_beyond_its_budget_is_regressed():
    pairs = pairs_of([0.01, 0.045, 0.02, 0.04, 0.015, 0.045], [0.10, 0.101, 0.102, 0.10, 0.101, 0.102])
    plan = replace(with_budget(0.05), tau0=0.5, tau=0.6)
    assert judge_case(replace(plan, budget_max=None), pairs, exhausted=True).verdict is Verdict.INCONCLUSIVE
    judged = judge_case(plan, pairs, exhausted=True)
    assert (judged.verdict, judged.flags) == (Verdict.REGRESSED, ("budget",))


def test_budget_says_nothing_where_nothing_could_be_measured():
    pairs = pairs_of(
        [0.01, 0.045, 0.02, 0.04, 0.015, 0.045] * 2, [0.10, 0.101, 0.102, 0.10, 0.101, 0.102] * 2
    )
    plan = replace(with_budget(0.05), tau0=0.5, tau=0.6)
    judged = judge_case(plan, voided(pairs, set(range(6, 12))))
    assert (judged.verdict, judged.reason, judged.flags) == (Verdict.NOT_MEASURED, "invalid_environment", ())


def test_exact_budget_is_judged_with_the_first_block():
    pairs = pairs_of([100, 100], [101, 101])
    judged = judge_case(replace(MEMORY, budget_max=100.5), pairs)
    assert (judged.verdict, judged.flags) == (Verdict.REGRESSED, ("budget",))


def test_minimum_budget_holds_a_rate_up():
    pairs = pairs_of([101.0, 101.1] * 4, [99.5, 99.6] * 4)
    judged = judge_case(replace(RATE, budget_min=100.0), pairs)
    assert (judged.verdict, judged.flags) == (Verdict.REGRESSED, ("budget",))


# --- cases ----------------------------------------------------------------------------------------


def judgement(verdict: Verdict | None, *, gating: bool = True, n_pairs: int = 0) -> Judgement:
    return Judgement("m", "s", "lower", "sampled", gating, verdict, n_pairs=n_pairs)


DONE, OPEN = judgement(Verdict.NO_REGRESSION), judgement(None, n_pairs=50)


@pytest.mark.parametrize(
    ("judgements", "settled"),
    [
        ([DONE, DONE], True),
        ([DONE, OPEN], False),
        ([DONE, judgement(None, gating=False)], True),
        ([OPEN, judgement(None, gating=False)], False),
        ([judgement(None, gating=False, n_pairs=4)], True),
        ([judgement(None, gating=False, n_pairs=4), judgement(None, gating=False, n_pairs=2)], False),
        ([judgement(Verdict.NOT_MEASURED, gating=False)], True),
    ],
)
def test_case_is_settled_with_its_gating_metrics(judgements, settled):
    assert case_settled(judgements) is settled
