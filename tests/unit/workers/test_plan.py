"""The planner: orders and seeds that can be drawn again, and iteration numbers checked by hand."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime

import pytest

from app.analysis.sequential import MIN_PAIRS
from workers.measuring.plan import (
    BLOCKS_TO_FIRST_LOOK,
    PAIRS_PER_BLOCK,
    CasePlan,
    Observation,
    Planner,
    block_slots,
    case_order,
    data_seed,
    default_timeout_s,
    hash_seed,
    plan_case,
    t_case_s,
)
from workers.protocol import Batches, CaseId, CaseMeasurement, Invocation

MS = 1_000_000
ABBA = ["base", "head", "head", "base"]
BAAB = ["head", "base", "base", "head"]


def measured(host_ns, *, k=1, n_warmup=1, first_call_s=0.0, status="ok", params=None, clock="host"):
    return CaseMeasurement(
        benchmark="x",
        clock=clock,
        params=params or {},
        status=status,
        k=k,
        n_warmup=n_warmup,
        first_call_s=first_call_s,
        batches=Batches(host_ns=host_ns),
    )


def invocation(arm, cases, *, startup_s=0.0, void=False, pair_index=0, duration_s=0.0):
    return Invocation(
        arm=arm,
        block=0,
        pair_index=pair_index,
        position=0,
        attempt=1,
        seed=0,
        env_pad=0,
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        t_start_ns=0,
        duration_ns=round(duration_s * 1e9),
        exit_code=0,
        status="ok",
        startup_s=startup_s,
        cases=cases,
        void=void,
        device_s=0.0,
    )


def spread(center_ns, log_half_range, n=30):
    """Return `n` batch times whose logarithms alternate `log_half_range` above and below the center's."""
    return [round(center_ns * math.exp(log_half_range * (-1) ** i)) for i in range(n)]


# --- time per case ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget_s", "n_open", "seconds"),
    [
        (1200, 50, 1.0),  # 20 minutes among 24 invocations of 50 cases
        (1200, 100, 0.5),
        (1200, 1, 2.0),
        (30, 5, 0.25),
        (30, 100, 0.1),
        (1200, 0, 2.0),
    ],
)
def test_a_case_gets_its_share_of_the_device_time_within_limits(budget_s, n_open, seconds):
    assert t_case_s(budget_s, n_open) == pytest.approx(seconds)


# --- order and seeds ----------------------------------------------------------------------------------------


def test_a_block_has_two_pairs_in_one_of_two_orders():
    orders = [[slot.arm for slot in block_slots(1, 2, block)] for block in range(100)]
    assert all(order in (ABBA, BAAB) for order in orders)
    assert 30 < orders.count(ABBA) < 70
    assert [slot.position for slot in block_slots(1, 2, 3)] == [0, 1, 2, 3]
    assert [slot.pair_index for slot in block_slots(1, 2, 3)] == [6, 6, 7, 7]


def test_the_same_order_seed_gives_the_same_block_and_another_one_does_not():
    assert block_slots(1, 2, 3) == block_slots(1, 2, 3)
    assert [block_slots(1, 2, block) for block in range(9)] != [
        block_slots(1, 3, block) for block in range(9)
    ]


def test_both_arms_of_a_pair_share_a_seed_and_each_invocation_draws_its_padding():
    slots = [slot for block in range(50) for slot in block_slots(1, 2, block)]
    assert slots[0].seed == slots[1].seed != slots[2].seed == slots[3].seed
    pads = [slot.env_pad for slot in slots]
    assert len(set(pads)) > 150
    assert min(pads) >= 0
    assert 3500 < max(pads) <= 4095


def test_a_pairs_hash_seed_is_the_first_word_of_the_digest_of_run_and_pair():
    digest = hashlib.sha256(b"17/4").hexdigest()
    assert hash_seed(17, 4) == int(digest[:8], 16)


def test_a_cases_seed_depends_on_run_pair_and_case_and_not_on_the_order_of_params():
    case = CaseId(benchmark="x", params={"a": 1, "b": 2})
    assert data_seed(17, 4, case) == int(hashlib.sha256(b'17/4/x {"a":1,"b":2}').hexdigest()[:8], 16)
    assert data_seed(17, 4, CaseId(benchmark="x", params={"b": 2, "a": 1})) == data_seed(17, 4, case)
    assert data_seed(17, 5, case) != data_seed(17, 4, case)
    assert data_seed(17, 4, CaseId(benchmark="y")) != data_seed(17, 4, case)


def test_case_order_depends_on_the_pair_and_the_cases_but_not_on_how_they_came():
    cases = [CaseId(benchmark=f"b{i}") for i in range(10)]
    order = case_order(5, 0, cases)
    assert sorted(order, key=lambda case: case.key) == cases
    assert case_order(5, 0, reversed(cases)) == order
    assert case_order(5, 1, cases) != order


# --- iterations ---------------------------------------------------------------------------------------------


def test_batches_follow_from_costs_and_variances():
    # S_it² = 0.02² · 30/29 = 4.138e-4; the means lie 0.02 apart: S_inv² = 0.02²/2 − S_it²/30 = 1.862e-4.
    # Medians of 10.0 and 10.2 ms: a batch costs 10.1 ms, an invocation 0.5 + 0.1 + 40 · 0.0101 = 1.004 s.
    # √(1.004 / 0.0101 · 4.138 / 1.862) = 14.86
    observed = [
        Observation("base", 0.5, measured(spread(center, 0.02), n_warmup=41, first_call_s=0.1))
        for center in (10 * MS, 10 * MS * math.exp(0.02))
    ]
    assert plan_case(observed) == CasePlan(k=1, n_warmup=41, n_batches=15)


def test_equal_invocations_get_a_thousand_batches_or_five_seconds_of_them():
    fast = [Observation("base", 1.0, measured(spread(MS, 0.01))) for _ in range(2)]
    slow = [Observation("base", 1.0, measured(spread(50 * MS, 0.0))) for _ in range(2)]
    very_slow = [Observation("base", 1.0, measured([2000 * MS])) for _ in range(2)]
    assert [plan_case(observed).n_batches for observed in (fast, slow, very_slow)] == [1000, 100, 10]


def test_invocations_that_differ_far_more_than_batches_get_the_fewest_batches():
    observed = [Observation("base", 0.0, measured(spread(center, 0.0001))) for center in (MS, 2 * MS)]
    assert plan_case(observed).n_batches == 10


def test_an_effect_of_head_is_no_difference_between_invocations():
    arms = [("base", 10 * MS), ("base", 10 * MS), ("head", 20 * MS), ("head", 20 * MS)]
    observed = [Observation(arm, 1.0, measured(spread(center, 0.01))) for arm, center in arms]
    assert plan_case(observed).n_batches == math.floor(5 / 0.015)


def test_batch_size_and_warm_up_are_the_larger_of_the_arms():
    observed = [
        Observation("base", 0.0, measured([MS] * 30, k=64, n_warmup=500)),
        Observation("head", 0.0, measured([MS] * 30, k=16, n_warmup=900)),
    ]
    assert (plan_case(observed).k, plan_case(observed).n_warmup) == (64, 900)


def test_the_faster_arms_batch_size_does_not_make_the_slower_arms_batch_endless():
    observed = [
        Observation("base", 0.0, measured([MS] * 30, k=1024)),  # 1 us a call
        Observation("head", 0.0, measured([10 * MS] * 30, k=1)),  # 10 ms a call
    ]
    assert plan_case(observed).k == 2  # 20 ms, a fifth of the shortest time that a case can get


def test_single_batches_have_no_variance_and_are_planned_all_the_same():
    assert plan_case([Observation("base", 0.0, measured([MS]))]) == CasePlan(k=1, n_warmup=1, n_batches=1000)


# --- the planner --------------------------------------------------------------------------------------------


def test_a_first_block_leaves_everything_to_the_harness_and_asks_for_thirty_batches():
    case = CaseId(benchmark="x", params={"n": 1})
    (request,) = Planner(run_id=1, order_seed=2, budget_s=1200).requests(0, [case])
    assert (request.benchmark, request.params, request.t_case_s) == ("x", {"n": 1}, 2.0)
    assert (request.k, request.n_warmup, request.n_batches) == (None, None, 30)
    assert request.seed == data_seed(1, 0, case)


def test_after_a_block_its_cases_are_fixed_for_good_and_the_others_are_not():
    planner = Planner(run_id=1, order_seed=2, budget_s=1200)
    planner.learn([invocation("base", [measured([MS] * 30, k=8, n_warmup=100)])])
    planner.learn([invocation("base", [measured([MS] * 30, k=32, n_warmup=900)])])
    requests = {r.benchmark: r for r in planner.requests(2, [CaseId(benchmark="x"), CaseId(benchmark="y")])}
    assert (requests["x"].k, requests["x"].n_warmup, requests["x"].n_batches) == (8, 100, 1000)
    assert requests["y"].k is None


def test_failed_cases_and_void_invocations_teach_nothing():
    planner = Planner(run_id=1, order_seed=2, budget_s=1200)
    planner.learn(
        [
            invocation("base", [measured([], status="failed")]),
            invocation("head", [measured([MS] * 30, k=8)], void=True),
        ]
    )
    assert planner.requests(2, [CaseId(benchmark="x")])[0].k is None


def test_the_start_of_a_process_is_shared_by_its_cases():
    def planned_batches(n_cases):
        invocations = [
            invocation(
                "base", [measured(spread(ns, 0.02), params={"n": n}) for n in range(n_cases)], startup_s=4.0
            )
            for ns in (10 * MS, 10 * MS * math.exp(0.02))
        ]
        planner = Planner(run_id=1, order_seed=2, budget_s=1200)
        planner.learn(invocations)
        return planner.requests(2, [CaseId(benchmark="x", params={"n": 0})])[0].n_batches

    assert planned_batches(1) == pytest.approx(2 * planned_batches(4), abs=1)  # a quarter of the cost


# --- whether another block fits -----------------------------------------------------------------------------

QUICK, SLOW = ([20 * MS] * 50, {"n": 1}), ([2000 * MS] * 4, {"n": 2})  # 1 s and 8 s of batches
QUICK_CASE, SLOW_CASE = CaseId(benchmark="x", params={"n": 1}), CaseId(benchmark="x", params={"n": 2})


def after_a_block(clock="host"):
    """A planner that has seen a block of a quick and a slow case, 10 s each invocation, 40 s in all."""
    planner = Planner(run_id=1, order_seed=2, budget_s=1200)
    cases = [measured(host_ns, params=params, clock=clock) for host_ns, params in (QUICK, SLOW)]
    planner.learn([invocation(arm, cases, duration_s=10.0) for arm in ABBA])
    return planner


def test_a_block_is_begun_only_if_the_last_one_would_fit_into_the_time_left():
    planner, both = after_a_block(), [QUICK_CASE, SLOW_CASE]
    assert planner.fits(2, both, left_s=40.0)
    assert not planner.fits(2, both, left_s=39.0)


def test_blocks_without_which_nothing_could_be_said_are_begun_however_long_they_take():
    planner = after_a_block()
    assert [planner.fits(block, [SLOW_CASE], left_s=0.0) for block in range(3)] == [True, True, False]
    assert BLOCKS_TO_FIRST_LOOK * PAIRS_PER_BLOCK == MIN_PAIRS


def test_settled_cases_make_the_next_block_as_much_shorter_as_they_were_timed():
    assert after_a_block().block_s([QUICK_CASE]) == pytest.approx(4 * (10.0 - 8.0))
    assert after_a_block().block_s([SLOW_CASE]) == pytest.approx(4 * (10.0 - 1.0))


@pytest.mark.parametrize("clock", ["self", "simulated"])
def test_time_that_a_program_says_of_itself_does_not_make_the_next_block_shorter(clock):
    assert after_a_block(clock).block_s([QUICK_CASE]) == pytest.approx(40.0)


# --- time limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known_s", "left_s", "limit_s"),
    [
        ([], 30, 300),
        ([], 700, 700),
        ([], 86400, 1200),
        ([2, 3, 4], 1000, 300),
        ([2, 3, 4], 100, 100),
        ([2, 3, 4], -5, 60),
        ([50, 50], 1000, 500),
        ([50, 50], 10, 150),
    ],
)
def test_an_invocation_may_take_ten_times_what_is_usual_of_what_is_left_but_not_too_little(
    known_s: list[float], left_s: float, limit_s: float
) -> None:
    assert default_timeout_s(known_s, left_s) == limit_s
