"""The run procedure: one lease from its devices' locks to the last answer of the service.

    lock the devices → read the fingerprint → prepare both arms → list → prime → tell the service what there is
    → blocks of ABBA or BAAB while cases are open → clean up

The service judges after every block; the worker plans, measures and reports. Nothing is posted while a process
is measured, but for heartbeats.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workers.arms.benchmark_files import benchmark_names
from workers.arms.checkout import Git, Mirror, bundle_digest
from workers.arms.environments import Environments, find_uv
from workers.arms.listing import Listing, has_cold_metric, primed
from workers.arms.prepare import Preparation, PreparedArm
from workers.arms.workspace import Workspace, remove_tree
from workers.config import Config
from workers.devices.group import DeviceGroup
from workers.errors import JobError
from workers.host.clock import Clock
from workers.host.fingerprint import machine_hash
from workers.lease.client import Patience, ServiceClient
from workers.lease.spool import Spool
from workers.lease.tenure import End, Tenure
from workers.measuring.benchmarks import BenchmarkSuite
from workers.measuring.commands import CommandSuite
from workers.measuring.invocation import Start, Suite, Taken, key_of
from workers.measuring.plan import CaseRequest, Planner, Slot, default_timeout_s, first_word
from workers.measuring.process_environment import measured_variables, set_up_variables
from workers.measuring.settling import Settling
from workers.programs.cgroups import Cgroups
from workers.programs.runner import Runner
from workers.protocol import (
    Arm,
    CaseId,
    CaseListing,
    CaseMeasurement,
    Finish,
    Invocation,
    OpenCases,
    Phase,
    Prepared,
)

MAX_HEAD_ONLY_BLOCKS = 2
PRIMING_PAIR = -1
MIB = 1024**2
MIN_FREE_B = 256 * MIB
MAX_LOGS = 1_000_000
"""Of all cases of an invocation together; the service takes documents of a few megabytes."""


@dataclass(frozen=True)
class Means:
    """What an agent has to measure with."""

    client: ServiceClient
    spool: Spool
    config: Config
    clock: Clock
    cgroups: Cgroups


def measure(tenure: Tenure, devices: DeviceGroup, means: Means) -> Finish:
    """Carry out a lease on its devices and return how it ended.

    Raises:
        InUseError: another agent of this host is measuring on one of the devices.
        JobError: the job cannot go on here.
        LeaseEndedError: the lease was over before the job was.
        ServiceError: the service refused something that it should have taken.
    """
    check_disk(means.config.data_dir)
    with Workspace(means.config.work_dir, tenure.lease.run_id) as workspace, devices.locked() as locks:
        return _Run(tenure, devices, means, workspace, locks).carry_out()


class _Run:
    """One run of one job."""

    def __init__(
        self,
        tenure: Tenure,
        devices: DeviceGroup,
        means: Means,
        workspace: Workspace,
        locks: tuple[int, ...],
    ) -> None:
        self._tenure = tenure
        self._devices = devices
        self._means = means
        self._workspace = workspace
        self._locks = locks
        self._job = tenure.lease.job
        self._runner = Runner(tenure, means.cgroups)
        self._git = Git(self._runner)
        self._patience = Patience(over=tenure.over)
        self._order_seed = order_seed(tenure.lease.lease_id)
        self._planner = Planner(
            run_id=tenure.lease.run_id, order_seed=self._order_seed, budget_s=self._job.budget_s
        )
        self._suites: dict[Arm, Suite] = {}
        self._arms: dict[Arm, PreparedArm] = {}
        self._durations_s: dict[Arm, list[float]] = {"base": [], "head": []}
        self._settling = Settling(devices, means.clock, longest_s=means.config.longest_settle_s)
        self._fingerprint_hash = ""
        self._is_cold = False
        """Whether invocations start with empty caches: known once both arms are primed."""

    def carry_out(self) -> Finish:
        fingerprint = self._devices.fingerprint()
        self._fingerprint_hash = machine_hash(fingerprint)
        self._tenure.enter(Phase.PREPARING)
        # The full control kit runs here, and again at the end, once `workers.control` has one.
        environments = self._environments()
        try:
            reports = self._prepare(environments)
            message = Prepared(
                arms=[self._arms[arm].report(cases) for arm, cases in reports.items()],
                fingerprint=fingerprint,
                machine_hash=self._fingerprint_hash,
                order_seed=self._order_seed,
                device_s=self._tenure.device_s,
            )
            answer = self._means.client.prepared(self._tenure.lease.lease_id, message, self._patience)
            answer, shortage = self._measure_blocks(answer)
            self._tenure.enter(Phase.FINISHING)
            return self._finish(answer, shortage)
        finally:
            environments.release()

    def _finish(self, answer: OpenCases, shortage: str) -> Finish:
        if answer.stop == End.CANCELLED:
            return Finish(outcome="cancelled", reason=End.CANCELLED, device_s=self._tenure.device_s)
        if shortage:
            reason = "device_time_left"
            return Finish(outcome="ok", reason=reason, message=shortage, device_s=self._tenure.device_s)
        arms = self._arms.values()
        if any(arm.is_usable for arm in arms):
            return Finish(outcome="ok", device_s=self._tenure.device_s)
        error = next(arm.error for arm in arms if arm.error is not None)
        return Finish(
            outcome="bench_failed",
            reason=error.status,
            message=error.reason,
            log_tail=error.log_tail,
            device_s=self._tenure.device_s,
        )

    # --- before pair 1 ---

    def _environments(self) -> Environments:
        config = self._means.config
        variables = set_up_variables(self._workspace.new_home(), config.packages_dir)
        return Environments(
            config.environments_dir,
            self._git,
            self._runner,
            variables,
            packages=config.packages_dir,
            max_gb=config.environments_max_gb,
            uv=find_uv(),
        )

    def _prepare(self, environments: Environments) -> dict[Arm, list[CaseListing]]:
        """Prepare, list and prime both arms; return the cases of each."""
        preparation = Preparation(self._job, self._git, self._mirror(), environments, self._tenure.enter)
        arms = preparation.arms(self._workspace.checkout)
        self._arms = {arm.arm: arm for arm in arms}
        if self._job.suite.command is None:
            preparation.same_files(arms, self._list_cases)
            preparation.list_all(arms, self._list_cases)
        self._tenure.enter(Phase.PRIMING)
        reports = {arm.arm: self._prime(arm, arms) for arm in arms}
        self._is_cold = any(has_cold_metric(cases) for cases in reports.values())
        return reports

    def _mirror(self) -> Mirror:
        source, folder = self._job.source, self._means.config.mirrors_dir
        if source.kind == "git":
            return Mirror(self._git, folder, source.location)
        bundle = self._workspace.path / "bundle"
        self._means.client.download_bundle(bundle_digest(source), bundle, self._patience)
        return Mirror(self._git, folder, str(bundle), name=f"bundles of {self._job.project}")

    def _list_cases(self, arm: PreparedArm, files: list[str]) -> Listing:
        suite, begun = BenchmarkSuite(self._runner, files, self._devices.addresses), self._means.clock.now()
        listing = suite.list_cases(self._start(arm, PRIMING_PAIR, hash_seed=0, padding=0))
        self._tenure.device_s += self._means.clock.now() - begun
        return listing

    def _prime(self, arm: PreparedArm, arms: Sequence[PreparedArm]) -> list[CaseListing]:
        """Run an arm once, unmeasured, so that its caches are full and its metrics known; return its cases."""
        if not arm.is_usable:
            return []
        other = next((other.listing for other in arms if other is not arm), None)
        listed = arm.listing.reported(other)
        self._suites[arm.arm] = self._suite(arm)
        cases = [
            CaseId(benchmark=case.benchmark, params=case.params) for case in listed if case.failure is None
        ]
        if listed and not cases:
            return listed
        requests = self._planner.requests(PRIMING_PAIR, cases)
        return primed(listed, self._invoke(arm, PRIMING_PAIR, requests, hash_seed=0, padding=0).cases)

    def _suite(self, arm: PreparedArm) -> Suite:
        if self._job.suite.command is not None:
            return CommandSuite(self._runner, self._job.suite)
        return BenchmarkSuite(self._runner, benchmark_names(arm.files), self._devices.addresses)

    # --- blocks ---

    def _measure_blocks(self, answer: OpenCases) -> tuple[OpenCases, str]:
        """Measure while the service has open cases and a block of them fits into the device time.

        Returns:
            The service's last answer, and, where it leaves cases open for which the time is short, a sentence on that.
        """
        block = head_only_blocks = 0
        while answer.open and head_only_blocks < MAX_HEAD_ONLY_BLOCKS:
            left_s = max(0.0, self._job.budget_s - self._tenure.device_s)
            if not self._planner.fits(block, answer.open, left_s):
                return answer, _shortage(self._planner.block_s(answer.open), left_s, self._job.budget_s)
            self._tenure.enter(Phase.MEASURING, f"block {block + 1}, {len(answer.open)} cases open")
            # The short control probe runs here, once per block, once `workers.control` has one; until then every
            # invocation is flagged `control_unavailable`.
            head_only_blocks += not _of_both_arms(answer)
            answer = self._measure_block(block, answer)
            block += 1
        return answer, ""

    def _measure_block(self, block: int, asked: OpenCases) -> OpenCases:
        """Measure one block of the cases that were open before it; return what is open after it."""
        both = _of_both_arms(asked)
        slots = [slot for slot in self._planner.slots(block) if both or slot.arm == "head"]
        taken: list[Invocation] = []
        answer = asked
        for slot in slots:
            cases = asked.open if slot.arm == "head" else both
            taken.append(self._invocation(block, slot, asked, cases, is_last=slot is slots[-1]))
            answer = self._post(taken[-1])
            if not answer.open:
                break
        self._planner.learn(taken)
        return answer

    def _invocation(
        self, block: int, slot: Slot, asked: OpenCases, cases: Sequence[CaseId], *, is_last: bool
    ) -> Invocation:
        wanted = {case.key for case in cases}
        # Drawn for all open cases, so that the order and the time of each are the same in both arms.
        requests = [
            case for case in self._planner.requests(slot.pair_index, asked.open) if key_of(case) in wanted
        ]
        flags = ["control_unavailable", *self._settle()]
        arm = self._arms[slot.arm]
        taken = self._invoke(arm, slot.pair_index, requests, hash_seed=slot.seed, padding=slot.env_pad)
        ended = taken.ended
        return Invocation(
            arm=slot.arm,
            block=block,
            pair_index=slot.pair_index,
            position=slot.position,
            attempt=self._tenure.lease.attempt,
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
            cases=with_bounded_logs(taken.cases),
            flags=flags,
            telemetry_summary=self._devices.telemetry(),
            fingerprint_hash=self._fingerprint_hash,
            harness_version=taken.harness_version,
            device_s=self._tenure.device_s,
            block_complete=is_last,
        )

    def _settle(self) -> list[str]:
        """Wait for the devices, which begins the telemetry of an invocation; return the flags for what was not so."""
        flags = self._settling.wait(self._tenure.over)
        self._tenure.check()
        return flags

    def _post(self, invocation: Invocation) -> OpenCases:
        """Put an invocation on disk, then post it; nothing is being measured meanwhile."""
        lease = self._tenure.lease
        entry = self._means.spool.put(lease.lease_id, invocation.key(lease.run_id), invocation)
        return self._means.spool.post(entry, self._means.client, self._patience)

    # --- one invocation ---

    def _invoke(
        self, arm: PreparedArm, pair: int, requests: Sequence[CaseRequest], *, hash_seed: int, padding: int
    ) -> Taken:
        start = self._start(arm, pair, hash_seed=hash_seed, padding=padding)
        taken = self._suites[arm.arm].invoke(start, requests)
        remove_tree(start.home)
        duration_s = taken.duration_ns / 1e9
        self._tenure.device_s += duration_s
        self._durations_s[arm.arm].append(duration_s)
        return taken

    def _start(self, arm: PreparedArm, pair: int, *, hash_seed: int, padding: int) -> Start:
        assert arm.environment is not None
        home, primed_caches = self._workspace.new_home(), self._workspace.caches(arm.arm)
        variables = measured_variables(
            home=home,
            checkout=arm.checkout,
            environment=arm.environment,
            suite=self._job.suite.env,
            caches=self._devices.cache_env(home / "caches" if self._is_cold else primed_caches),
            visible=self._devices.visible_env(),
            hash_seed=hash_seed,
            padding=padding,
        )
        simulation = self._devices.simulation()
        return Start(
            env=variables,
            home=home,
            checkout=arm.checkout,
            python=arm.environment.python,
            timeout_s=self._timeout_s(),
            locks=self._locks,
            simulate=None if simulation is None else {"arm": arm.arm, "pair": pair, "devices": simulation},
        )

    def _timeout_s(self) -> float:
        """Return how long an invocation may take [s]: the suite's word, else what is usual and is left allows."""
        if self._job.suite.timeout_s is not None:
            return self._job.suite.timeout_s
        known = self._durations_s["base"] or self._durations_s["head"]
        left_s = self._job.budget_s - self._tenure.device_s
        return default_timeout_s(known, left_s)


def order_seed(lease_id: str) -> int:
    """Return the seed of all orders of a run; the lease's id is random enough, and makes them repeatable."""
    return first_word(lease_id)


def check_disk(folder: Path, needed_b: int = MIN_FREE_B) -> None:
    """Raise `JobError` if there is not enough room to begin with."""
    folder.mkdir(parents=True, exist_ok=True)
    free_b = shutil.disk_usage(folder).free
    if free_b < needed_b:
        raise JobError(
            "disk_full", f"{folder} has {free_b // MIB} MiB free; a run needs {needed_b // MIB} MiB"
        )


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
