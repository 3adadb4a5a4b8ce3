"""Plans what the invocations of one job do: order of arms and cases, seeds, and how long each case is timed.

Pure: everything follows from the run's id, the stored `order_seed` and what the first block measured, so that
a plan can be drawn again from the records. It takes no measurement and gives no verdict.

The best number of iterations per invocation is that of Kalibera and Jones, "Rigorous benchmarking in
reasonable time" (ISMM 2013): the more an invocation costs, and the less invocations differ, the more
iterations are worth it.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median, variance

from workers.protocol import Arm, CaseId, CaseMeasurement, Invocation, Params

FIRST_BATCHES = 30
"""Batches of a case in each invocation of its first block."""

MIN_BATCHES, MAX_BATCHES = 10, 1000
MAX_TIMED_S = 5.0
"""Timed seconds per invocation where invocations do not differ, so that no number of batches is too many."""

MIN_T_CASE_S, MAX_T_CASE_S = 0.1, 2.0
EXPECTED_INVOCATIONS = 24
"""Among how many invocations a case's share of the device time is divided."""

MAX_BATCH_S = MIN_T_CASE_S / 4
"""The slower arm's batch of several calls stays under this, so that every invocation gets some batches."""

LONGEST_PRIMING_S = 1200.0
SHORTEST_TIMEOUT_S = 300.0
SHORTEST_LAST_TIMEOUT_S = 60.0
"""Of an invocation while less than `SHORTEST_TIMEOUT_S` of device time is left."""
MEDIANS_ALLOWED, LAST_MEDIANS_ALLOWED = 10, 3

MAX_ENV_PAD = 4095
PAIRS_PER_BLOCK = 2

BLOCKS_TO_FIRST_LOOK = 2
"""Without so many blocks nothing could be said of a metric that varies, so they are measured however long they take."""


def t_case_s(budget_s: float, n_open: int) -> float:
    """Return the time of a case in an invocation [s], if `n_open` cases share `budget_s` of device time."""
    share = budget_s / (EXPECTED_INVOCATIONS * max(1, n_open))
    return min(max(share, MIN_T_CASE_S), MAX_T_CASE_S)


def default_timeout_s(known_s: Sequence[float], left_s: float) -> float:
    """Return how long an invocation may take [s] where the suite does not say.

    Ten times what is usual, at least five minutes; but no longer than the device time that is left, except for three
    times what is usual, at least a minute. The first invocations, of which nothing is known, have all of the device
    time, five minutes at least and twenty at most: they may compile.

    Args:
        known_s: how long earlier invocations took [s].
        left_s: device time that is left to the job [s].
    """
    if not known_s:
        return min(LONGEST_PRIMING_S, max(SHORTEST_TIMEOUT_S, left_s))
    usual_s = median(known_s)
    wanted_s = max(SHORTEST_TIMEOUT_S, MEDIANS_ALLOWED * usual_s)
    return max(SHORTEST_LAST_TIMEOUT_S, LAST_MEDIANS_ALLOWED * usual_s, min(left_s, wanted_s))


# --- order and seeds ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Slot:
    """One invocation of a block: which arm at which place, and what its process is started with."""

    position: int
    pair_index: int
    arm: Arm
    seed: int
    """For PYTHONHASHSEED; both arms of a pair have the same."""
    env_pad: int
    """Length of the padding variable in its environment [B]: it moves the stack, so layout is drawn anew."""


def block_slots(run_id: int, order_seed: int, block: int) -> tuple[Slot, ...]:
    """Return the four invocations of block `block` (from 0), in the order ABBA or BAAB; A is base.

    Its pairs have the indices 2·block and 2·block + 1.
    """
    draw = _generator("block", order_seed, block)
    order: tuple[Arm, ...] = draw.choice((("base", "head", "head", "base"), ("head", "base", "base", "head")))
    slots = []
    for position, arm in enumerate(order):
        pair = PAIRS_PER_BLOCK * block + position // 2
        slots.append(Slot(position, pair, arm, hash_seed(run_id, pair), draw.randint(0, MAX_ENV_PAD)))
    return tuple(slots)


def case_order(order_seed: int, pair_index: int, cases: Iterable[CaseId]) -> list[CaseId]:
    """Return the cases in the order drawn for a pair: it depends on which they are, not on how they came."""
    ordered = sorted(cases, key=lambda case: case.key)
    _generator("cases", order_seed, pair_index).shuffle(ordered)
    return ordered


def hash_seed(run_id: int, pair_index: int) -> int:
    """Return the PYTHONHASHSEED of a pair, in [0, 2**32)."""
    return first_word(f"{run_id}/{pair_index}")


def data_seed(run_id: int, pair_index: int, case: CaseId) -> int:
    """Return the seed of a case's data in a pair, in [0, 2**32)."""
    return first_word(f"{run_id}/{pair_index}/{case.key}")


def first_word(text: str) -> int:
    """Return the first 32 bits of a text's SHA-256: a seed that anybody can draw again."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _generator(purpose: str, order_seed: int, index: int) -> random.Random:
    """Return a generator for one purpose and index: no draw depends on how many came before it."""
    return random.Random(f"{purpose}/{order_seed}/{index}")


# --- iterations ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CasePlan:
    """How a case is timed in an invocation; with None the harness finds out."""

    k: int | None = None
    n_warmup: int | None = None
    n_batches: int = FIRST_BATCHES


@dataclass(frozen=True)
class CaseRequest:
    """One case of a request to the harness."""

    benchmark: str
    params: Params
    seed: int
    k: int | None
    n_warmup: int | None
    n_batches: int
    t_case_s: float
    least_s: float = 0.0


@dataclass(frozen=True)
class Observation:
    """What one invocation showed of one case, as far as planning needs it."""

    arm: Arm
    startup_s: float
    """The case's share of the time before the first call."""
    measured: CaseMeasurement

    @property
    def batch_s(self) -> float:
        """Median time of a batch, without what other programs took of it."""
        return median(self.measured.batches.net_ns) / 1e9

    @property
    def call_s(self) -> float:
        """Median time of a call."""
        return self.batch_s / self.measured.k

    @property
    def fixed_s(self) -> float:
        """What the invocation cost before the timed part."""
        first_call_s = self.measured.first_call_s or 0.0
        return self.startup_s + first_call_s + max(0, self.measured.n_warmup - 1) * self.call_s

    @property
    def spent_s(self) -> float:
        """What the invocation would surely not have cost without the case; 0 where no clock of ours timed it."""
        if self.measured.clock in ("self", "simulated") or not self.measured.batches.host_ns:
            return 0.0
        return self.fixed_s - self.startup_s + self.measured.batches.total_s

    @property
    def logs(self) -> list[float]:
        """Logarithms of the batches' times per call [ln ns]."""
        return [math.log(ns / self.measured.k) for ns in self.measured.batches.net_ns]


def plan_case(observed: Sequence[Observation]) -> CasePlan:
    """Return how to time a case from now on, after its first block.

    Args:
        observed: at least one; both arms where both could be measured, each with at least one batch.
    """
    k = max(observation.measured.k for observation in observed)
    while k > 1 and k * max(observation.call_s for observation in observed) > MAX_BATCH_S:
        k //= 2
    n_warmup = max(observation.measured.n_warmup for observation in observed)
    return CasePlan(k, n_warmup, n_batches(observed, k))


def n_batches(observed: Sequence[Observation], k: int) -> int:
    """Return how many batches of `k` calls an invocation of this case is best used for, from 10 to 1000."""
    invocation_s = fmean(observation.fixed_s for observation in observed)
    batch_s = k * fmean(observation.call_s for observation in observed)
    within, between = _variances(observed)
    if between == 0:
        return _clip(math.floor(MAX_TIMED_S / batch_s))
    return _clip(math.ceil(math.sqrt(invocation_s / batch_s * within / between)))


def _clip(batches: int) -> int:
    return min(max(batches, MIN_BATCHES), MAX_BATCHES)


def _variances(observed: Sequence[Observation]) -> tuple[float, float]:
    """Return S_it² and S_inv² of ln(batch): within invocations, and between those of an arm beyond that."""
    repeated = [observation.logs for observation in observed if len(observation.logs) > 1]
    if not repeated:
        return 0.0, 0.0
    within = fmean(variance(logs) for logs in repeated)
    explained = fmean(variance(logs) / len(logs) for logs in repeated)
    return within, max(0.0, _variance_of_means(observed) - explained)


def _variance_of_means(observed: Sequence[Observation]) -> float:
    """Return the variance of invocation means within an arm, so that an effect of head does not enter."""
    means: dict[Arm, list[float]] = {}
    for observation in observed:
        means.setdefault(observation.arm, []).append(fmean(observation.logs))
    repeated = [of_arm for of_arm in means.values() if len(of_arm) > 1]
    return fmean(variance(of_arm) for of_arm in repeated) if repeated else 0.0


class Planner:
    """Plans one job; a case keeps the plan that follows from the first block that measured it."""

    def __init__(self, *, run_id: int, order_seed: int, budget_s: float, least_s: float = 0.0) -> None:
        """Name the run, its seed, its device time, and how long each case is to be timed at least [s]."""
        self._least_s = least_s
        self._run_id = run_id
        self._order_seed = order_seed
        self._budget_s = budget_s
        self._plans: dict[str, CasePlan] = {}
        self._last_block: list[Invocation] = []

    def slots(self, block: int) -> tuple[Slot, ...]:
        """Return the invocations of a block, in order."""
        return block_slots(self._run_id, self._order_seed, block)

    def requests(self, pair_index: int, open_cases: Sequence[CaseId]) -> list[CaseRequest]:
        """Return what the harness is asked for in both invocations of a pair."""
        seconds = t_case_s(self._budget_s, len(open_cases))
        ordered = case_order(self._order_seed, pair_index, open_cases)
        return [self._request(case, pair_index, seconds) for case in ordered]

    def _request(self, case: CaseId, pair_index: int, seconds: float) -> CaseRequest:
        plan = self._plans.get(case.key, CasePlan())
        seed = data_seed(self._run_id, pair_index, case)
        return CaseRequest(
            benchmark=case.benchmark,
            params=dict(case.params),
            seed=seed,
            k=plan.k,
            n_warmup=plan.n_warmup,
            n_batches=plan.n_batches,
            t_case_s=seconds,
            least_s=self._least_s,
        )

    def fits(self, block: int, open_cases: Iterable[CaseId], left_s: float) -> bool:
        """Tell whether a block is worth beginning with so much device time left [s].

        The blocks up to the first look always are.
        """
        return block < BLOCKS_TO_FIRST_LOOK or self.block_s(open_cases) <= left_s

    def block_s(self, open_cases: Iterable[CaseId]) -> float:
        """Return about how long a block of these cases takes [s], going by the last one; 0 before any."""
        wanted = {case.key for case in open_cases}
        settled = [
            Observation(invocation.arm, 0.0, measured)
            for invocation in self._last_block
            for measured in invocation.cases
            if measured.case.key not in wanted
        ]
        whole_s = sum(invocation.duration_ns for invocation in self._last_block) / 1e9
        return whole_s - sum(case.spent_s for case in settled)

    def learn(self, invocations: Sequence[Invocation]) -> None:
        """Fix the plans of the cases that these invocations, all of one block, are the first to measure.

        Void invocations and cases without a batch teach nothing.
        """
        self._last_block = list(invocations)
        observed: dict[str, list[Observation]] = {}
        for invocation in invocations:
            share = (invocation.startup_s or 0.0) / max(1, len(invocation.cases))
            for measured in [] if invocation.void else invocation.cases:
                if measured.status == "ok" and measured.batches.host_ns:
                    observation = Observation(invocation.arm, share, measured)
                    observed.setdefault(measured.case.key, []).append(observation)
        for key, observations in observed.items():
            self._plans.setdefault(key, plan_case(observations))
