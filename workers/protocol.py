"""What the service and an agent say to each other: versioned messages, and nothing else of ours.

Both sides import this module; it imports neither. Times that cross the wire are UTC ISO 8601, durations are
seconds in names that end in `_s`, and `*_ns` are integers from a monotonic clock. Unknown fields are ignored, so
that either side may be one release ahead.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

PROTOCOL_VERSION = 1

Arm = Literal["base", "head"]
Scalar = str | int | float | bool | None
Params = dict[str, Scalar]
Better = Literal["lower", "higher"]
MetricKind = Literal["sampled", "exact"]
Name = Annotated[str, Field(min_length=1, max_length=255)]


class Message(BaseModel):
    """Base of every message: unknown fields are ignored, non-finite numbers are refused."""

    model_config = ConfigDict(extra="ignore", allow_inf_nan=False, frozen=True)


def params_key(params: Params) -> str:
    """Return `params` as canonical JSON: the same text for the same parameters, whatever their order."""
    return _canonical(params)


_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


# --- enrolment ------------------------------------------------------------------------------------------------


class DeviceReport(Message):
    """One device as an agent found it. `hardware_id` is stable across restarts and unique on earth."""

    hardware_id: Name
    kind: Name
    device_class: Name
    model: str = ""
    fingerprint: dict[str, Any] = Field(default_factory=dict)
    """`machine`, `identity`, `soft` and `unavailable`, as the device kind reports them."""
    machine_hash: str = ""


class Register(Message):
    """An agent introduces itself; the answer is `Registered`, or 409 when a live agent has one of its devices."""

    version: int = PROTOCOL_VERSION
    name: Name
    host: Name
    instance: Name
    """Drawn anew by each start of an agent: tells a restart from a twin."""
    agent_version: str = ""
    devices: list[DeviceReport] = Field(min_length=1, max_length=64)
    sandbox: int = Field(default=0, ge=0, le=4)
    """The level of isolation that the agent found it can give to strangers' code (docs/sandbox.md)."""


class Registered(Message):
    """What an agent needs to know to live: its id and the service's time constants [s]."""

    worker_id: int
    heartbeat_s: float
    lease_ttl_s: float
    self_fence_s: float


class SignOff(Message):
    """An agent that was stopped ends: it gets no job any more, and is not missed."""

    worker_id: int
    instance: Name


# --- jobs -----------------------------------------------------------------------------------------------------


class Source(Message):
    """Where the commits are: `git` = anything `git fetch` takes; `bundle` = digest of an uploaded bundle."""

    kind: Literal["git", "bundle"]
    location: str


class SuiteSpec(Message):
    """The part of a suite's settings that a worker acts on."""

    name: Name
    benchmarks: list[str] = Field(default_factory=list)
    """Globs of files that both arms take from `benchmarks_from`; those named `bench_*.py` are benchmark files."""
    command: str | None = None
    output: str | None = None
    setup: list[str] = Field(default_factory=list)
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: float | None = None
    least_timed_s: float = 0.0
    """How long each case is timed at least in an invocation [s]: a counter of energy says nothing of less."""


class JobSpec(Message):
    """A job to be measured: two commits (or head alone) of one suite on one device class."""

    job_id: int
    project: Name
    suite: SuiteSpec
    source: Source
    base_sha: str | None
    head_sha: str
    benchmarks_from: Arm = "head"
    device_class: Name
    hardware_ids: list[str]
    budget_s: float
    """Device time for this job [s]; the service stops it, the worker plans with it."""
    purpose: Literal["measure", "calibrate", "self_check", "bridge"] = "measure"
    """`calibrate` runs the control workload alone; the others measure."""
    max_pairs: int = 96
    sandbox: int = 0
    """The least level of isolation for the commits' code. Above 0 head is a stranger's: it is built without a network,
    and base's environment is all that it gets."""


class Lease(Message):
    """The answer to a claim: a time-limited right to one job."""

    version: int = PROTOCOL_VERSION
    lease_id: str
    run_id: int
    attempt: int
    job: JobSpec


class Claim(Message):
    """An agent asks for work on the devices that are free just now."""

    worker_id: int
    instance: Name
    hardware_ids: list[str]


class Phase(StrEnum):
    """What an agent is doing with its lease; shown to people as it is."""

    PREPARING = "preparing"
    CHECKING_OUT = "checking_out"
    BUILDING = "building"
    PRIMING = "priming"
    MEASURING = "measuring"
    FINISHING = "finishing"


class Heartbeat(Message):
    """Sent every `heartbeat_s`, and at each change of phase."""

    phase: Phase
    detail: str = ""
    device_s: float = 0.0


class HeartbeatAnswer(Message):
    """`cancel` asks the agent to stop and to finish with outcome `cancelled`."""

    lease_until: datetime
    cancel: bool = False


# --- measurement ----------------------------------------------------------------------------------------------


class CaseId(Message):
    """A benchmark with its parameters fixed."""

    benchmark: Name
    params: Params = Field(default_factory=dict)

    @property
    def key(self) -> str:
        """The case as one line of text: equal exactly for equal cases."""
        return f"{self.benchmark} {params_key(self.params)}"


class MetricDecl(Message):
    """A metric that a case reports: name, unit, direction, and whether it is compared exactly."""

    metric: Name
    unit: str
    better: Better
    kind: MetricKind = "sampled"


class CaseListing(Message):
    """A case that an arm has; `file_digest` tells whether its benchmark file changed."""

    benchmark: Name
    params: Params = Field(default_factory=dict)
    file_digest: str = ""
    file: str = ""
    """Where it is written, relative to the repository's root; empty for what is in no file."""
    line: int = 1
    metrics: list[MetricDecl] = Field(default_factory=list)
    units: dict[str, float] = Field(default_factory=dict)
    """What one call works off, as the benchmark says of its priming: samples, tokens, flop, bytes."""
    dtype: str | None = None
    """What it computes in, where it says so."""
    scaling: dict[str, Any] = Field(default_factory=dict)
    """How it scales: `mode` (strong or weak), `n`, `n0`, `base_s`; empty where it says nothing."""
    timed_s: float | None = None
    """How long its priming was timed [s]."""
    failure: str | None = None
    """Why this case could not be listed or primed on this arm, if so."""

    @property
    def case(self) -> CaseId:
        """The case listed."""
        return CaseId(benchmark=self.benchmark, params=self.params)


ArmStatus = Literal["ok", "checkout_failed", "build_failed", "list_failed"]


class ControlResult(Message):
    """What the frozen control workload showed at one moment; probes that could not run are in `unavailable`."""

    version: str = ""
    backend: str = ""
    probes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Name -> `seconds` (median of its batches), `cv`, `n`, and its `rate` with the rate's `unit`."""
    unavailable: dict[str, str] = Field(default_factory=dict)
    """Probe, or `all` -> why there is no number."""
    disturbed: str = ""
    """What else was on the machine meanwhile, so that the numbers say nothing of the devices' health."""
    duration_s: float = 0.0


class ArmReport(Message):
    """How preparing one arm went. `cases` are those of the benchmark files that both arms run."""

    arm: Arm
    status: ArmStatus
    reason: str = ""
    log_tail: str = ""
    software: dict[str, str] = Field(default_factory=dict)
    """What the commit's set-up resolved: Python, packages by name."""
    cases: list[CaseListing] = Field(default_factory=list, max_length=10_000)
    own_cases: list[CaseListing] = Field(default_factory=list, max_length=10_000)
    """The cases of the arm's own benchmark files, where those differ from the ones that are run."""


class Prepared(Message):
    """Posted once, before pair 1: from it the service fixes the cases and their number."""

    arms: list[ArmReport] = Field(min_length=1, max_length=2)
    fingerprint: dict[str, Any] = Field(default_factory=dict)
    machine_hash: str = ""
    machines: list[dict[str, Any]] = Field(default_factory=list, max_length=64)
    """Of several devices the `machine` part of each one's own fingerprint, in the lease's order."""
    order_seed: int
    device_s: float
    control: ControlResult | None = None
    """The control workload before anything was measured: the full kit where it was due, else its short probe."""
    idle: list[dict[str, Any]] = Field(default_factory=list)
    """A reading of each device before anything was measured: what it draws and holds when idle."""


class OpenCases(Message):
    """What is still to be measured. Nothing open means: finish. `stop` says why, if the service stopped it."""

    open: list[CaseId]
    stop: str | None = None
    head_only: list[CaseId] = Field(default_factory=list)
    """Cases of `open` to measure on head alone (base fails, or has no such case)."""


class Value(Message):
    """One number of one metric, as an invocation estimated it."""

    metric: Name
    value: float
    net: float | None = None
    """The value without the time that other programs had the processor; None where that cannot be told."""
    unit: str
    better: Better
    kind: MetricKind = "sampled"


class Batches(Message):
    """The repeated timings of a case in one invocation, in time order; one entry a batch of `k` iterations."""

    host_ns: list[int] = Field(default_factory=list)
    wait_ns: list[int] = Field(default_factory=list)
    """What of each batch the processor spent on other programs; empty if nothing, or if nobody knows."""
    device_ns: list[int] = Field(default_factory=list)
    spike: list[int] = Field(default_factory=list)
    """Indices of batches far from the median; marked, never deleted."""
    thinned: int = 1
    """How many batches each entry stands for."""

    @property
    def total_s(self) -> float:
        """How long all batches took together [s], as far as those that were kept tell."""
        return self.thinned * sum(self.host_ns) / 1e9

    @property
    def net_ns(self) -> list[int]:
        """The host's times without what other programs took of them: what `net` of the case's values is made of."""
        if not self.wait_ns:
            return self.host_ns
        return [host - wait for host, wait in zip(self.host_ns, self.wait_ns, strict=True)]

    @model_validator(mode="after")
    def _waits_fit(self) -> Self:
        if self.wait_ns and (
            len(self.wait_ns) != len(self.host_ns)
            or any(not 0 <= wait < host for host, wait in zip(self.host_ns, self.wait_ns, strict=True))
        ):
            raise ValueError("wait_ns has to have, for each batch, a time from 0 to under the batch's own")
        return self


CaseStatus = Literal["ok", "failed", "timeout", "oom", "missing"]


class CaseMeasurement(Message):
    """What one invocation says of one case."""

    benchmark: Name
    params: Params = Field(default_factory=dict)
    status: CaseStatus
    reason: str = ""
    log_tail: str = ""
    k: int = 1
    clock: Literal["host", "device", "queue", "self", "simulated"] = "host"
    n_warmup: int = 0
    warmup_converged: bool = True
    first_call_s: float | None = None
    batches: Batches = Field(default_factory=Batches)
    values: list[Value] = Field(default_factory=list, max_length=1_000)
    flags: list[str] = Field(default_factory=list)
    units: dict[str, float] = Field(default_factory=dict)
    """What one call works off: samples, tokens, flop, bytes."""
    dtype: str | None = None
    scaling: dict[str, Any] = Field(default_factory=dict)
    """How it scales: `mode` (strong or weak), `n`, `n0`, `base_s`; empty where it says nothing."""
    iterations: int | None = None
    """Calls under the clock."""
    window_ns: tuple[int, int] | None = None
    """From the first to the last call under the clock, on the host's monotonic clock."""
    energy_j: float | None = None
    """What all devices of the lease drew in that window; None where a device does not tell."""

    @property
    def window_s(self) -> float:
        """How long the timed part lasted [s]; on a simulated device, how long it would have."""
        if self.window_ns is None:
            return self.batches.total_s
        return (self.window_ns[1] - self.window_ns[0]) / 1e9

    @property
    def case(self) -> CaseId:
        """The case measured."""
        return CaseId(benchmark=self.benchmark, params=self.params)


class Invocation(Message):
    """One fresh process of one arm. Posted under the key `run_id/pair_index/arm/attempt`."""

    version: int = PROTOCOL_VERSION
    arm: Arm
    block: int
    pair_index: int
    position: int = Field(ge=0, le=3)
    attempt: int
    seed: int
    env_pad: int
    started_at: datetime
    t_start_ns: int
    duration_ns: int
    exit_code: int | None
    status: CaseStatus
    reason: str = ""
    log_tail: str = ""
    startup_s: float | None = None
    mem_peak_rss_b: int | None = None
    timer_resolution_s: float = 1e-6
    cases: list[CaseMeasurement] = Field(default_factory=list, max_length=10_000)
    void: bool = False
    void_reason: str | None = None
    gates: list[str] = Field(default_factory=list)
    flags: list[str] = Field(default_factory=list)
    telemetry: list[dict[str, Any]] = Field(default_factory=list)
    """The summary of each device of the lease, in its order (docs/protocol.md)."""
    ticks: str = ""
    """The raw readings: base64 of zlib of a JSON list of columns for each device."""
    control: ControlResult | None = None
    """The short control probe of the block, with the block's first invocation."""
    control_deviation: float | None = None
    """How far the probe beside this pair was off the run's median; told where a soft gate asked for it."""
    fingerprint_hash: str = ""
    harness_version: str = ""
    device_s: float
    """Device time that the job has spent so far, this invocation included [s]."""
    block_complete: bool = False
    """True on the last invocation of its block: the service judges."""

    def key(self, run_id: int) -> str:
        """Return the idempotency key of this document."""
        return f"{run_id}/{self.pair_index}/{self.arm}/{self.attempt}"


Outcome = Literal["ok", "bench_failed", "infra_failed", "contaminated", "timed_out", "cancelled"]


class Finish(Message):
    """The end of a lease. `reason` is a code (`device_busy`, `disk_full`), `message` a sentence."""

    outcome: Outcome
    reason: str = ""
    message: str = ""
    log_tail: str = ""
    retryable: bool = False
    device_s: float = 0.0
    control: ControlResult | None = None
    """The control workload at the end of the run; the full kit where the job is a calibration."""
