"""What a check found, as plain values: what `--json` prints, what the report and the pages are drawn from.

Services assemble these from the store; reports only read them. Effects that end in `_ln` are logarithms with
positive = worse; `change` and the interval are head/base − 1, signed and raw.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any, Literal

from app.domain.efficiency import SuiteEfficiency
from app.domain.verdicts import Conclusion, Verdict

Better = Literal["lower", "higher"]
Params = dict[str, str | int | float | bool | None]


def case_label(benchmark: str, params: Params) -> str:
    """Return the case as people read it: `resize[batch=32, dtype=bf16]`, or just the benchmark."""
    if not params:
        return benchmark
    inner = ", ".join(f"{name}={value}" for name, value in params.items())
    return f"{benchmark}[{inner}]"


@dataclass(frozen=True)
class CommitRef:
    """One revision as it is shown: full `sha`, first line of the message, author's name, author date."""

    sha: str
    subject: str = ""
    author: str = ""
    date: datetime | None = None


@dataclass(frozen=True)
class Look:
    """What the rule saw after a block: pairs so far and the interval of head/base − 1 at the level it was judged at.

    `low`/`high` are None while the interval is unbounded. `bound_pass` is what `no_regression` rests on: the worst
    change that is not excluded at `alpha_pass`, None while nothing is.
    """

    n_pairs: int
    change: float
    low: float | None
    high: float | None
    bound_pass: float | None = None


@dataclass(frozen=True)
class Estimate:
    """One invocation's value of a metric, in the metric's unit."""

    pair: int
    arm: Literal["base", "head"]
    position: int
    value: float
    void: bool = False
    void_reason: str | None = None


@dataclass(frozen=True)
class Written:
    """Where a benchmark is written: a file of the repository, relative to its root, and the line."""

    file: str
    line: int


@dataclass(frozen=True)
class CaseVerdict:
    """One metric of one case: the verdict, how sure, and the values behind it.

    `estimates` are in time order. `looks` hold one entry a block. `ci_level` is 1 − alpha·k/M, k the number of metrics
    that were known to have changed when this one was found to, 1 for others. Medians and geometric means are of the
    pairs that the verdict rests on.
    """

    benchmark: str
    params: Params
    metric: str
    unit: str
    better: Better
    gating: bool
    verdict: Verdict | None
    """None while it is still being measured."""
    reason: str | None = None
    change: float | None = None
    worse: bool | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_level: float | None = None
    bound_pass: float | None = None
    """The worst change that is not excluded at `alpha_pass`: an upper bound of `change` where lower is better, a
    lower one where higher is. None while nothing is excluded, and where the comparison is exact."""
    n_pairs: int = 0
    n_void: int = 0
    device_s: float | None = None
    log_e: float | None = None
    could_hide: float | None = None
    """How much worse than base an inconclusive case might still be: 0.031 = up to 3.1 %; None if unbounded."""
    sigma_pair: float | None = None
    grade: str | None = None
    flags: tuple[str, ...] = ()
    attribution: tuple[str, ...] = ()
    exploratory: bool = False
    kind: Literal["sampled", "exact"] = "sampled"
    minimum_effect: float | None = None
    """tau0 and tau of this metric (ln units), where they are not the check's."""
    tolerance: float | None = None
    base_median: float | None = None
    head_median: float | None = None
    base_geomean: float | None = None
    """Geometric means, of which `change` is the ratio less one; None where the comparison is exact."""
    head_geomean: float | None = None
    estimates: tuple[Estimate, ...] = ()
    looks: tuple[Look, ...] = ()
    log_tail: str | None = None
    """The end of what a failing invocation printed, where the verdict is about a failure."""
    provenance: dict[str, Any] | None = None
    """Of a metric that was made of others: by arm, the document of the newest value (`derived.Derived`)."""
    written: Written | None = None
    """Where the benchmark is written; None for what is in no file of the repository."""

    @property
    def levels(self) -> tuple[float | None, float | None]:
        """Base's and head's value as they are shown beside `change`: geometric means, medians where there are none."""
        if self.base_geomean is None or self.head_geomean is None:
            return self.base_median, self.head_median
        return self.base_geomean, self.head_geomean

    def level(self, arm: str) -> float | None:
        """Return what an arm's value is in one number: of `levels`, or of all its values where there is no pair."""
        level = self.levels[0 if arm == "base" else 1]
        values = [one.value for one in self.estimates if one.arm == arm and not one.void]
        return median(values) if level is None and values else level


@dataclass(frozen=True)
class VoidPair:
    """A pair that does not count, and why."""

    pair: int
    reason: str
    arm: str | None = None


Range = tuple[float, float, float]
"""Lowest, middle and highest of what was read."""


@dataclass(frozen=True)
class DeviceReading:
    """What a device read of one quantity while an arm ran, over all its invocations that count; None if nothing."""

    name: str
    unit: str
    base: Range | None
    head: Range | None


@dataclass(frozen=True)
class DeviceState:
    """How a device was while both arms ran.

    `throttled` has, for each reason that held its clock down, the share of the time on base and on head.
    """

    device: str
    readings: tuple[DeviceReading, ...]
    throttled: tuple[tuple[str, float, float], ...] = ()
    unavailable: tuple[str, ...] = ()


@dataclass(frozen=True)
class ControlProbe:
    """One probe of the frozen control workload over a run: at its start, in its blocks, and at its end [s]."""

    name: str
    start: float | None
    blocks: tuple[float, ...]
    end: float | None
    rate: str = ""
    """What it comes to at the start, with its unit."""


@dataclass(frozen=True)
class SuiteResult:
    """One job of a check: a suite on a device class.

    `state` is the job's; `reason` says why nothing was measured, where that is so. `environment` is the machine and
    software fingerprint as flat text pairs; `software_changes` lists what differs between the arms (name, base, head).
    """

    name: str
    device_class: str
    state: str
    cases: tuple[CaseVerdict, ...] = ()
    reason: str | None = None
    job: int | None = None
    run: int | None = None
    worker: str | None = None
    phase: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    software_changes: tuple[tuple[str, str | None, str | None], ...] = ()
    void_pairs: tuple[VoidPair, ...] = ()
    device_states: tuple[DeviceState, ...] = ()
    control: tuple[ControlProbe, ...] = ()
    pairs_done: int = 0
    device_s: float = 0.0
    budget_s: float = 0.0
    log_tail: str | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    efficiency: SuiteEfficiency | None = None


@dataclass(frozen=True)
class Note:
    """What a reader should know of a check that is about none of its results: a code and a sentence."""

    flag: str
    message: str


@dataclass(frozen=True)
class CheckResult:
    """A check with everything that is known of it now; `conclusion` is None until it is complete."""

    id: int
    project: str
    base: CommitRef
    head: CommitRef
    state: Literal["queued", "running", "complete"]
    suites: tuple[SuiteResult, ...]
    conclusion: Conclusion | None = None
    reason: str | None = None
    trigger: str = "manual"
    title: str | None = None
    alpha: float = 0.01
    minimum_effect: float = 0.005
    tolerance: float = 0.02
    created_at: datetime | None = None
    concluded_at: datetime | None = None
    reproduce: str = ""
    """The command that measures the same locally."""
    notes: tuple[Note, ...] = ()
