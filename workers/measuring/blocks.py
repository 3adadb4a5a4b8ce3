"""The measured part of a run: blocks of ABBA or BAAB while the service has open cases.

A pair is posted when both its invocations are done: only then is it known whether something else than the code
disturbed it. Nothing is posted while a process is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol

from workers.arms.prepare import PreparedArm
from workers.errors import JobError
from workers.host.clock import Clock
from workers.lease.tenure import Tenure
from workers.measuring.invocation import Taken, key_of
from workers.measuring.launching import Launcher
from workers.measuring.pace import Pace
from workers.measuring.plan import Planner, Slot
from workers.measuring.settling import Settling
from workers.measuring.watching import Watch, Watched
from workers.protocol import Arm, CaseId, CaseMeasurement, ControlResult, Invocation, OpenCases, Phase

MAX_HEAD_ONLY_BLOCKS = 2
MAX_LOGS = 1_000_000
"""Of all cases of an invocation together; the service takes documents of a few megabytes."""

Post = Callable[[Invocation], OpenCases]


class ShortControl(Protocol):
    """The control workload's short probe."""

    def probe(self, pair: int) -> ControlResult:
        """Run it before a pair and return what it showed."""

    def deviation(self, result: ControlResult) -> float | None:
        """Return how far a result is off the run's median of those before it, as a share; None where unknown."""


@dataclass(frozen=True)
class _Done:
    """One invocation that has ended, and what was seen beside it."""

    slot: Slot
    taken: Taken
    flags: list[str]
    watched: Watched
    device_s: float


@dataclass(frozen=True)
class BlockMeans:
    """What blocks are measured with."""

    tenure: Tenure
    planner: Planner
    launcher: Launcher
    settling: Settling
    watch: Watch
    control: ShortControl
    pace: Pace
    clock: Clock
    arms: Mapping[Arm, PreparedArm]
    post: Post
    fingerprint_hash: str


class Blocks:
    """Measures block after block of one run."""

    def __init__(self, means: BlockMeans) -> None:
        self._means = means
        self._job = means.tenure.lease.job
        self._probe: ControlResult | None = None
        """The control before the block, until an invocation has taken it along."""

    def measure(self, answer: OpenCases) -> tuple[OpenCases, str]:
        """Measure while the service has open cases and a block of them fits into the device time.

        Returns:
            The service's last answer, and, where it leaves cases open for which the time is short, a sentence on that.

        Raises:
            JobError: a device's mode was changed meanwhile; what was measured is of two machines.
        """
        means, budget_s = self._means, self._job.budget_s
        block = head_only_blocks = 0
        while answer.open and head_only_blocks < MAX_HEAD_ONLY_BLOCKS:
            left_s = max(0.0, budget_s - means.tenure.device_s)
            if not means.planner.fits(block, answer.open, left_s):
                return answer, _shortage(means.planner.block_s(answer.open), left_s, budget_s)
            means.tenure.enter(Phase.MEASURING, f"block {block + 1}, {len(answer.open)} cases open")
            head_only_blocks += not _of_both_arms(answer)
            answer = self._measure_block(block, answer)
            block += 1
        return answer, ""

    def _measure_block(self, block: int, asked: OpenCases) -> OpenCases:
        """Measure one block of the cases that were open before it; return what is open after it."""
        both = _of_both_arms(asked)
        slots = [slot for slot in self._means.planner.slots(block) if both or slot.arm == "head"]
        taken: list[Invocation] = []
        answer = asked
        before = self._probe_if_due(slots[0].pair_index)
        for _, pair in groupby(slots, key=lambda slot: slot.pair_index):
            done = [self._carry_out(slot, asked, both) for slot in pair]
            for invocation in self._invocations(block, done, before, is_last=done[-1].slot is slots[-1]):
                taken.append(invocation)
                answer = self._means.post(invocation)
            self._check_mode(done)
            if not answer.open:
                break
        self._means.planner.learn(taken)
        return answer

    def _probe_if_due(self, pair: int) -> float | None:
        """Run the short control probe, if it is time for one; return how far it is off the run's earlier ones."""
        if not self._means.pace.wants_probe(self._means.clock.now()):
            return None
        # The heat of what was measured is not the machine's.
        self._means.settling.wait(self._means.tenure.over, is_start=False)
        self._probe = self._run_probe(pair)
        return self._means.control.deviation(self._probe)

    def _run_probe(self, pair: int) -> ControlResult:
        result = self._means.watch.beside(lambda: self._means.control.probe(pair))
        self._means.pace.note_probe(self._means.clock.now(), result.duration_s)
        return result

    def _carry_out(self, slot: Slot, asked: OpenCases, both: Sequence[CaseId]) -> _Done:
        """Measure one invocation, with its devices watched."""
        means = self._means
        wanted = {case.key for case in (asked.open if slot.arm == "head" else both)}
        # Drawn for all open cases, so that the order and the time of each are the same in both arms.
        drawn = means.planner.requests(slot.pair_index, asked.open)
        requests = [case for case in drawn if key_of(case) in wanted]
        flags = means.settling.wait(means.tenure.over)
        means.tenure.check()
        means.watch.begin(slot.arm, slot.pair_index)
        try:
            arm = means.arms[slot.arm]
            taken = means.launcher.invoke(
                arm, slot.pair_index, requests, hash_seed=slot.seed, padding=slot.env_pad
            )
        finally:
            watched = means.watch.end(slot.arm)
        return _Done(slot, taken, flags, watched, means.tenure.device_s)

    def _invocations(
        self, block: int, done: Sequence[_Done], before: float | None, *, is_last: bool
    ) -> list[Invocation]:
        """Return a pair's invocations as they are posted; each that made it void says why."""
        deviation = self._deviation(done, before)
        return [self._invocation(block, one, deviation, is_last=is_last and one is done[-1]) for one in done]

    def _deviation(self, done: Sequence[_Done], before: float | None) -> float | None:
        """Return how far the control beside a pair is off, where a soft gate asks: after it, else before its block.

        The probe waits until the devices are as warm as before, so that the heat of the code itself is gone.
        """
        if not any(one.watched.needs_control for one in done):
            return None
        self._means.settling.wait(self._means.tenure.over, is_start=False)
        after = self._means.control.deviation(self._run_probe(done[-1].slot.pair_index))
        return before if after is None else after

    def _invocation(self, block: int, one: _Done, deviation: float | None, *, is_last: bool) -> Invocation:
        slot, taken, ended = one.slot, one.taken, one.taken.ended
        void_reason = one.watched.void_reason(deviation)
        probe, self._probe = self._probe, None
        return Invocation(
            arm=slot.arm,
            block=block,
            pair_index=slot.pair_index,
            position=slot.position,
            attempt=self._means.tenure.lease.attempt,
            seed=slot.seed,
            env_pad=slot.env_pad,
            started_at=ended.started_at,
            t_start_ns=ended.t_start_ns,
            duration_ns=taken.duration_ns,
            exit_code=ended.exit_code,
            status=ended.status,
            reason=ended.reason,
            log_tail="" if ended.ok else ended.output.tail(),
            startup_s=taken.startup_s,
            mem_peak_rss_b=taken.mem_peak_rss_b,
            timer_resolution_s=taken.timer_resolution_s,
            cases=with_bounded_logs(one.watched.with_energy(taken.cases)),
            void=void_reason is not None,
            void_reason=void_reason,
            gates=one.watched.gates,
            flags=one.flags,
            telemetry=one.watched.summaries,
            ticks=one.watched.packed,
            control=probe,
            control_deviation=deviation,
            fingerprint_hash=self._means.fingerprint_hash,
            harness_version=taken.harness_version,
            device_s=one.device_s,
            block_complete=is_last,
        )

    def _check_mode(self, done: Sequence[_Done]) -> None:
        changed = next((one.watched.changed_mode for one in done if one.watched.changed_mode), None)
        if changed:
            raise JobError("mode_changed", f"the device's mode changed during the run: {changed}")


def with_bounded_logs(cases: Sequence[CaseMeasurement], limit: int = MAX_LOGS) -> list[CaseMeasurement]:
    """Return the cases with their logs, in order, as long as those are not longer than `limit` together."""
    kept = []
    for case in cases:
        limit -= len(case.log_tail)
        kept.append(case if limit >= 0 else case.model_copy(update={"log_tail": ""}))
    return kept


def _shortage(block_s: float, left_s: float, budget_s: float) -> str:
    return (
        f"a block takes about {block_s:.3g} s, and {left_s:.3g} of {budget_s:.5g} s of device time are left"
    )


def _of_both_arms(answer: OpenCases) -> list[CaseId]:
    """Return the open cases that are measured on base, too."""
    head_only = {case.key for case in answer.head_only}
    return [case for case in answer.open if case.key not in head_only]
