"""Starts the invocations of a run: each a fresh process of one arm, in the environment that the design draws for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workers.arms.prepare import PreparedArm
from workers.arms.workspace import Workspace, remove_tree
from workers.devices.group import DeviceGroup
from workers.lease.tenure import Tenure
from workers.measuring.invocation import Start, Suite, Taken
from workers.measuring.plan import CaseRequest, default_timeout_s
from workers.measuring.process_environment import measured_variables
from workers.programs.sandbox.bubblewrap import Confinement, Sandbox
from workers.protocol import Arm


class Launcher:
    """Starts processes for one run, and keeps the device time that they take."""

    def __init__(
        self,
        tenure: Tenure,
        devices: DeviceGroup,
        workspace: Workspace,
        locks: tuple[int, ...],
        sandbox: Sandbox | None = None,
    ) -> None:
        """Name the run's means; with a `sandbox` every process of both arms runs in it."""
        self._tenure = tenure
        self._devices = devices
        self._workspace = workspace
        self._locks = locks
        self._sandbox = sandbox
        self._durations_s: dict[Arm, list[float]] = {"base": [], "head": []}
        self.suites: dict[Arm, Suite] = {}
        """What each arm runs: known once it is prepared."""
        self.is_cold = False
        """Whether invocations start with empty caches: known once both arms are primed."""

    def invoke(
        self, arm: PreparedArm, pair: int, requests: Sequence[CaseRequest], *, hash_seed: int, padding: int
    ) -> Taken:
        """Measure these cases in a fresh process of an arm; `padding` is its variable of random length [B]."""
        start = self.start(arm, pair, hash_seed=hash_seed, padding=padding)
        taken = self.suites[arm.arm].invoke(start, requests)
        remove_tree(start.home)
        duration_s = taken.duration_ns / 1e9
        self._tenure.device_s += duration_s
        self._durations_s[arm.arm].append(duration_s)
        return taken

    def start(self, arm: PreparedArm, pair: int, *, hash_seed: int, padding: int) -> Start:
        """Return what a process of an arm is started with."""
        assert arm.environment is not None
        home, primed_caches = self._workspace.new_home(), self._workspace.caches(arm.arm)
        variables = measured_variables(
            home=home,
            checkout=arm.checkout,
            environment=arm.environment,
            suite=self._tenure.lease.job.suite.env,
            caches=self._devices.cache_env(home / "caches" if self.is_cold else primed_caches),
            visible=self._devices.visible_env(),
            hash_seed=hash_seed,
            padding=padding,
        )
        return Start(
            env=variables,
            home=home,
            checkout=arm.checkout,
            python=arm.environment.python,
            timeout_s=self._timeout_s(),
            locks=self._locks,
            simulate=self._simulate(arm.arm, pair),
            confinement=self._confinement(arm, home, primed_caches),
        )

    def _confinement(self, arm: PreparedArm, home: Path, caches: Path) -> Confinement | None:
        """Return what a process of an arm may see: its arm's files, of which not all are its own."""
        if self._sandbox is None:
            return None
        assert arm.environment is not None
        if not caches.exists():
            caches.mkdir(parents=True)
            self._sandbox.give(caches)
        self._sandbox.give(home)
        drivers = self._devices.driver_files()
        return Confinement(
            self._sandbox,
            readable=[arm.environment.path, arm.checkout / ".git", *filter(Path.is_dir, drivers)],
            writable=[arm.checkout, home, caches],
            devices=[path for path in drivers if not path.is_dir()],
        )

    def _simulate(self, arm: Arm, pair: int) -> dict[str, Any] | None:
        simulation = self._devices.simulation()
        return None if simulation is None else {"arm": arm, "pair": pair, "devices": simulation}

    def _timeout_s(self) -> float:
        """Return how long an invocation may take [s]: the suite's word, else what is usual and is left allows."""
        job = self._tenure.lease.job
        if job.suite.timeout_s is not None:
            return job.suite.timeout_s
        known = self._durations_s["base"] or self._durations_s["head"]
        return default_timeout_s(known, job.budget_s - self._tenure.device_s)
