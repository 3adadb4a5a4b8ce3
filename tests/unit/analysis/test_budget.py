import pytest

from app.analysis.budget import MAX_BUDGET_PAIRS, BudgetState, Limit, judge_budget, judge_exact_budget
from app.analysis.sequential import SequentialRule

MAX_50, MIN_50 = Limit(50.0), Limit(50.0, is_minimum=True)


def around(level: float, n: int, spread: float = 0.01) -> list[float]:
    """`n` values that lie `spread` above and below `level` in turn."""
    return [level * (1 + spread * (-1) ** i) for i in range(n)]


@pytest.mark.parametrize(
    ("limit", "base", "head", "state"),
    [
        (MAX_50, 40, 60, BudgetState.BROKEN),
        (MAX_50, 40, 45, BudgetState.KEPT),
        (MAX_50, 55, 60, BudgetState.ALREADY_BROKEN),
        (MAX_50, 55, 45, BudgetState.KEPT),
        (MIN_50, 60, 40, BudgetState.BROKEN),
        (MIN_50, 60, 55, BudgetState.KEPT),
        (MIN_50, 45, 40, BudgetState.ALREADY_BROKEN),
        (Limit(0.0), 40, 60, BudgetState.ALREADY_BROKEN),
        (Limit(0.0, is_minimum=True), 40, 60, BudgetState.KEPT),
    ],
)
def test_level_far_from_the_limit_is_decided(limit, base, head, state):
    assert judge_budget(around(base, 6), around(head, 6), [limit], SequentialRule(), start=4) is state


def test_median_beyond_the_limit_alone_does_not_break_it():
    head = [49.0, 52.0, 51.0, 49.5, 50.5, 51.5]
    assert judge_budget(around(45, 6), head, [MAX_50], SequentialRule(), start=4) is None


def test_budget_is_broken_only_at_the_level_of_the_gate():
    head = around(51.32, 6)
    for alpha, state in ((0.05, BudgetState.BROKEN), (0.01, None)):
        assert judge_budget(around(45, 6), head, [MAX_50], SequentialRule(alpha=alpha), start=4) is state
    shared = SequentialRule(alpha=0.05, m=5)
    assert judge_budget(around(45, 6), head, [MAX_50], shared, start=4) is None


def test_pair_of_an_unfinished_block_is_not_looked_at():
    assert judge_budget(around(40, 5), around(60, 5), [MAX_50], SequentialRule(), start=4) is None


def test_budget_near_its_limit_is_given_up_after_enough_pairs():
    head = around(50.1, MAX_BUDGET_PAIRS, 0.03)
    base = around(45, MAX_BUDGET_PAIRS)
    undecided = judge_budget(base, head, [MAX_50], SequentialRule(), start=4)
    earlier = judge_budget(base[:-2], head[:-2], [MAX_50], SequentialRule(), start=4)
    assert (undecided, earlier) == (BudgetState.UNDECIDED, None)


@pytest.mark.parametrize("n", [0, 2, 3])
def test_fewer_than_four_pairs_decide_nothing(n):
    assert judge_budget(around(40, n), around(500, n, 0.0), [MAX_50], SequentialRule(), start=2) is None


def test_pairs_before_the_relative_verdict_are_not_looked_at():
    assert judge_budget(around(40, 8), around(60, 8), [MAX_50], SequentialRule(), start=10) is None


def test_pairs_after_the_answer_do_not_change_it():
    head = around(60, 6) + around(10, 30)
    assert judge_budget(around(40, 36), head, [MAX_50], SequentialRule(), start=4) is BudgetState.BROKEN


def test_timer_floor_counts_for_budgets_too():
    coarse = SequentialRule(s_floor=0.5)
    assert judge_budget([45.0] * 6, [51.0] * 6, [MAX_50], coarse, start=4) is None


@pytest.mark.parametrize(
    ("base", "limits", "state"),
    [
        (55, [Limit(70.0), MIN_50], BudgetState.KEPT),
        (55, [Limit(57.0), MIN_50], BudgetState.BROKEN),
        (55, [MAX_50, MIN_50], BudgetState.ALREADY_BROKEN),
        (55, [MAX_50, Limit(70.0, is_minimum=True)], BudgetState.ALREADY_BROKEN),
        (65, [MAX_50, Limit(63.0, is_minimum=True)], BudgetState.BROKEN),
        (65, [Limit(70.0), Limit(59.8, is_minimum=True)], None),
    ],
)
def test_gravest_of_two_limits_decides_and_an_open_one_keeps_it_open(base, limits, state):
    assert judge_budget(around(base, 8), around(60, 8), limits, SequentialRule(), start=8) is state


@pytest.mark.parametrize(
    ("base", "head", "state"),
    [
        ([0, 0], [0, 0], BudgetState.KEPT),
        ([0, 0], [3, 3], BudgetState.BROKEN),
        ([4, 4], [3, 3], BudgetState.ALREADY_BROKEN),
        ([2, 2], [2, 2], BudgetState.KEPT),
    ],
)
def test_exact_budget_is_judged_by_medians_and_the_limit_itself_is_kept(base, head, state):
    assert judge_exact_budget(base, head, [Limit(2)]) is state
