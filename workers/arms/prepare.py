"""Makes both arms ready to be measured: work trees, environments, the same benchmark files, the list of cases.

What fails for one arm is a fact about its commit, kept with the arm; the other goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from workers.arms.benchmark_files import Blobs, benchmark_names, matching_files, overlay
from workers.arms.checkout import Git, Mirror
from workers.arms.environments import Environment, Environments
from workers.arms.listing import Listing
from workers.arms.strange_environments import Base, StrangeEnvironments
from workers.errors import ArmError
from workers.programs.runner import TAIL_B
from workers.protocol import Arm, ArmReport, CaseListing, JobSpec, Phase

ListCases = Callable[["PreparedArm", list[str]], Listing]
"""Lists the cases of an arm's benchmark files."""


@dataclass
class PreparedArm:
    """One arm as far as it got."""

    arm: Arm
    commit: str
    checkout: Path
    environment: Environment | None = None
    error: ArmError | None = None
    files: Blobs = field(default_factory=dict)
    """What the suite's globs match, as it is measured."""
    listing: Listing = field(default_factory=Listing)
    own: Listing | None = None
    """The cases of the arm's own benchmark files, where the measured ones are another commit's."""

    @property
    def is_usable(self) -> bool:
        """Whether it can be measured."""
        return self.error is None and self.environment is not None

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Keep an `ArmError` of the block as the arm's; an arm that has one is past trying."""
        try:
            yield
        except ArmError as error:
            self.error = error

    def report(self, cases: list[CaseListing]) -> ArmReport:
        """Return what the service is told."""
        return ArmReport(
            arm=self.arm,
            status=self.error.status if self.error else "ok",
            reason=self.error.reason if self.error else "",
            log_tail=self.error.log_tail if self.error else self.listing.log_tail[-TAIL_B:],
            software=self.environment.software if self.environment else {},
            cases=cases,
            own_cases=self.own.reported() if self.own else [],
        )


class Preparation:
    """Prepares the arms of one job, step by step."""

    def __init__(
        self,
        job: JobSpec,
        git: Git,
        mirror: Mirror,
        environments: Environments,
        enter: Callable[[Phase], None],
        strange: StrangeEnvironments | None = None,
    ) -> None:
        """Name the means; `enter` is told of each phase. With `strange`, head is a stranger's commit."""
        self._job = job
        self._git = git
        self._mirror = mirror
        self._environments = environments
        self._enter = enter
        self._strange = strange

    def arms(self, checkout: Callable[[Arm], Path]) -> list[PreparedArm]:
        """Return the arms with their work trees and environments."""
        arms = [PreparedArm("head", self._job.head_sha, checkout("head"))]
        if self._job.base_sha is not None:
            arms.insert(0, PreparedArm("base", self._job.base_sha, checkout("base")))
        self._enter(Phase.CHECKING_OUT)
        self._mirror.fetch([arm.commit for arm in arms])
        for arm in arms:
            with arm.attempt():
                self._check_out(arm)
                arm.files = matching_files(self._git, arm.checkout, self._job.suite.benchmarks)
        self._enter(Phase.BUILDING)
        for arm in arms:
            if arm.error is None:
                with arm.attempt():
                    arm.environment = self._environment(arm, arms)
        return arms

    def _check_out(self, arm: PreparedArm) -> None:
        """Make an arm's work tree; in a job with a stranger's commit neither arm's leads to other commits."""
        if self._strange is not None and arm.arm == "head":
            self._mirror.check_out_strange(arm.commit, arm.checkout)
        else:
            self._mirror.check_out(arm.commit, arm.checkout, alone=self._strange is not None)

    def _environment(self, arm: PreparedArm, arms: list[PreparedArm]) -> Environment:
        """Provide an arm's environment; base, which is trusted, comes before a stranger's head."""
        if self._strange is None or arm.arm == "base":
            return self._environments.provide(arm.checkout, self._job.suite)
        base = next((Base(other.checkout, other.environment) for other in arms if other.arm == "base"), None)
        return self._strange.provide(arm.checkout, self._job.suite, base or Base(arm.checkout, None))

    def same_files(self, arms: list[PreparedArm], list_cases: ListCases) -> None:
        """Give both arms the benchmark files of the one that the job names, if that could be checked out."""
        source = next((arm for arm in arms if arm.arm == self._job.benchmarks_from), None)
        if source is None or _is_missing(source):
            return
        for arm in arms:
            if arm is not source and not _is_missing(arm) and arm.files != source.files:
                if arm.is_usable:
                    arm.own = list_cases(arm, benchmark_names(arm.files))
                overlay(source.checkout, source.files, arm.checkout, arm.files)
                arm.files = source.files

    def list_all(self, arms: list[PreparedArm], list_cases: ListCases) -> None:
        """List the cases of every usable arm."""
        for arm in arms:
            if arm.is_usable:
                with arm.attempt():
                    arm.listing = self._listed(arm, list_cases)

    def _listed(self, arm: PreparedArm, list_cases: ListCases) -> Listing:
        names = benchmark_names(arm.files)
        if not names:
            globs = ", ".join(map(repr, self._job.suite.benchmarks))
            raise ArmError("list_failed", f"no_benchmarks: no file bench_*.py of the commit matches {globs}")
        return list_cases(arm, names)


def _is_missing(arm: PreparedArm) -> bool:
    """Tell whether an arm has no work tree with known benchmark files."""
    return arm.error is not None and arm.error.status != "build_failed"
