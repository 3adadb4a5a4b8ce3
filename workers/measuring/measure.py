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
from workers.arms.strange_environments import StrangeEnvironments
from workers.arms.workspace import Workspace
from workers.config import Config
from workers.devices.group import DeviceGroup
from workers.errors import JobError
from workers.host.clock import Clock
from workers.host.fingerprint import machine_hash
from workers.host.load import HostLoad
from workers.lease.client import Patience, ServiceClient
from workers.lease.spool import Spool
from workers.lease.tenure import End, Tenure
from workers.measuring.benchmarks import BenchmarkSuite
from workers.measuring.blocks import BlockMeans, Blocks
from workers.measuring.commands import CommandSuite
from workers.measuring.control import Control
from workers.measuring.invocation import Suite
from workers.measuring.launching import Launcher
from workers.measuring.pace import Pace
from workers.measuring.plan import Planner, first_word
from workers.measuring.process_environment import common_variables, set_up_variables
from workers.measuring.sampling import NoHost
from workers.measuring.settling import Settling
from workers.measuring.watching import Watch
from workers.programs.cgroups import Cgroups
from workers.programs.runner import Runner
from workers.programs.sandbox.bubblewrap import Sandbox
from workers.programs.sandbox.probe import Isolation
from workers.protocol import (
    Arm,
    CaseId,
    CaseListing,
    ControlResult,
    Finish,
    Invocation,
    JobSpec,
    OpenCases,
    Phase,
    Prepared,
)

PRIMING_PAIR = -1
FIRST_PROBE, LAST_PROBE = 0, 1_000_000
"""Pairs that the control at the ends of a run is for, as scripted devices see it."""
MIB = 1024**2
MIN_FREE_B = 256 * MIB


@dataclass(frozen=True)
class Means:
    """What an agent has to measure with."""

    client: ServiceClient
    spool: Spool
    config: Config
    clock: Clock
    cgroups: Cgroups
    isolation: Isolation


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
        run = _Run(tenure, devices, means, workspace, locks)
        return run.calibrate() if tenure.lease.job.purpose == "calibrate" else run.carry_out()


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
            run_id=tenure.lease.run_id,
            order_seed=self._order_seed,
            budget_s=self._job.budget_s,
            least_s=self._job.suite.least_timed_s,
        )
        self._sandbox = sandbox_for(self._job, means.isolation)
        self._launcher = Launcher(tenure, devices, workspace, locks, self._sandbox)
        self._arms: dict[Arm, PreparedArm] = {}
        self._control = Control(
            self._runner, tenure, devices, workspace, locks, means.config.data_dir / "control"
        )
        self._pace = Pace(means.config.data_dir / "control", self._job.budget_s)
        host = HostLoad() if devices.devices[0].feels_host else NoHost()
        self._watch = Watch(devices, host, foreign_cpu=means.config.foreign_cpu, steal=means.config.steal)

    def calibrate(self) -> Finish:
        """Run the control workload alone: it says whether the devices are what they were."""
        self._tenure.enter(Phase.MEASURING, "the control workload alone")
        control = self._watch.beside(self._control.full)
        return Finish(outcome="ok", control=control, device_s=self._tenure.device_s)

    def carry_out(self) -> Finish:
        fingerprint = self._devices.fingerprint()
        self._tenure.enter(Phase.PREPARING)
        control = self._control_at_start(machine_hash(fingerprint))
        environments = self._environments()
        try:
            reports = self._prepare(environments)
            message = Prepared(
                arms=[self._arms[arm].report(cases) for arm, cases in reports.items()],
                fingerprint=fingerprint,
                machine_hash=machine_hash(fingerprint),
                machines=self._devices.machines(),
                order_seed=self._order_seed,
                device_s=self._tenure.device_s,
                control=control,
                idle=self._watch.idle,
            )
            answer = self._means.client.prepared(self._tenure.lease.lease_id, message, self._patience)
            answer, shortage = self._blocks(machine_hash(fingerprint)).measure(answer)
            self._tenure.enter(Phase.FINISHING)
            finish = self._finish(answer, shortage)
            if finish.outcome != "ok":
                return finish
            last = self._watch.beside(lambda: self._control.probe(LAST_PROBE))
            return finish.model_copy(update={"control": last})
        finally:
            environments.release()

    def _control_at_start(self, marker: str) -> ControlResult:
        """Run the full control kit where it is due, else the short probe; either says how healthy the devices are."""
        marker = " ".join([marker, *(device.hardware_id for device in self._devices.devices)])
        if not self._pace.wants_full(marker):
            return self._watch.beside(lambda: self._control.probe(FIRST_PROBE))
        result = self._watch.beside(self._control.full)
        self._pace.note_full(marker)
        return result

    def _blocks(self, fingerprint_hash: str) -> Blocks:
        settling = Settling(self._devices, self._means.clock, longest_s=self._means.config.longest_settle_s)
        return Blocks(
            BlockMeans(
                tenure=self._tenure,
                planner=self._planner,
                launcher=self._launcher,
                settling=settling,
                watch=self._watch,
                control=self._control,
                pace=self._pace,
                clock=self._means.clock,
                arms=self._arms,
                post=self._post,
                fingerprint_hash=fingerprint_hash,
            )
        )

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
        strange = self._strange(environments)
        preparation = Preparation(
            self._job, self._git, self._mirror(), environments, self._tenure.enter, strange
        )
        arms = preparation.arms(self._workspace.checkout)
        self._arms = {arm.arm: arm for arm in arms}
        if self._sandbox is not None:
            self._sandbox.give(*(arm.checkout for arm in arms))
        if self._job.suite.command is None:
            preparation.same_files(arms, self._list_cases)
            preparation.list_all(arms, self._list_cases)
        self._tenure.enter(Phase.PRIMING)
        reports = {arm.arm: self._prime(arm, arms) for arm in arms}
        self._launcher.is_cold = any(has_cold_metric(cases) for cases in reports.values())
        return reports

    def _strange(self, environments: Environments) -> StrangeEnvironments | None:
        """Return what makes the environment of a stranger's head; None where both commits are trusted."""
        if self._sandbox is None:
            return None
        new_home = self._workspace.new_home
        return StrangeEnvironments(
            environments, self._runner, self._sandbox, new_home, common_variables, uv=find_uv()
        )

    def _mirror(self) -> Mirror:
        source, folder = self._job.source, self._means.config.mirrors_dir
        if source.kind == "git":
            return Mirror(self._git, folder, source.location)
        bundle = self._workspace.path / "bundle"
        self._means.client.download_bundle(bundle_digest(source), bundle, self._patience)
        return Mirror(self._git, folder, str(bundle), name=f"bundles of {self._job.project}")

    def _list_cases(self, arm: PreparedArm, files: list[str]) -> Listing:
        suite, begun = BenchmarkSuite(self._runner, files, self._devices.addresses), self._means.clock.now()
        listing = suite.list_cases(self._launcher.start(arm, PRIMING_PAIR, hash_seed=0, padding=0))
        self._tenure.device_s += self._means.clock.now() - begun
        return listing

    def _prime(self, arm: PreparedArm, arms: Sequence[PreparedArm]) -> list[CaseListing]:
        """Run an arm once, unmeasured, so that its caches are full and its metrics known; return its cases."""
        if not arm.is_usable:
            return []
        other = next((other.listing for other in arms if other is not arm), None)
        listed = arm.listing.reported(other)
        self._launcher.suites[arm.arm] = self._suite(arm)
        cases = [
            CaseId(benchmark=case.benchmark, params=case.params) for case in listed if case.failure is None
        ]
        if listed and not cases:
            return listed
        requests = self._planner.requests(PRIMING_PAIR, cases)
        return primed(
            listed, self._launcher.invoke(arm, PRIMING_PAIR, requests, hash_seed=0, padding=0).cases
        )

    def _suite(self, arm: PreparedArm) -> Suite:
        if self._job.suite.command is not None:
            return CommandSuite(self._runner, self._job.suite)
        return BenchmarkSuite(self._runner, benchmark_names(arm.files), self._devices.addresses)

    # --- what is said to the service ---

    def _post(self, invocation: Invocation) -> OpenCases:
        """Put an invocation on disk, then post it; nothing is being measured meanwhile."""
        lease = self._tenure.lease
        entry = self._means.spool.put(lease.lease_id, invocation.key(lease.run_id), invocation)
        return self._means.spool.post(entry, self._means.client, self._patience)


def sandbox_for(job: JobSpec, isolation: Isolation) -> Sandbox | None:
    """Return the sandbox that a job's code has to run in; None where it needs none.

    Raises:
        JobError: it needs more than this agent can give.
    """
    if job.sandbox <= 0:
        return None
    if isolation.sandbox is None or isolation.level < job.sandbox:
        message = f"the job needs a sandbox of level {job.sandbox}; this agent gives {isolation.level}"
        raise JobError("no_sandbox", ": ".join(filter(None, (message, isolation.reason))))
    return isolation.sandbox


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
