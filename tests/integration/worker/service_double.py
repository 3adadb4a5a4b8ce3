"""A service in the test's own process: it speaks the worker's API, keeps what it is told, and follows a script."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx

from workers.host.clock import SystemClock
from workers.lease.client import ServiceClient
from workers.protocol import (
    ArmReport,
    CaseId,
    CaseMeasurement,
    Finish,
    Heartbeat,
    Invocation,
    JobSpec,
    Lease,
    OpenCases,
    Prepared,
    Register,
    SignOff,
)

HEARTBEAT_S, TTL_S, FENCE_S = 10.0, 60.0, 45.0


@dataclass
class ServiceDouble:
    """Hands out one lease, and keeps every case open that both arms have until `blocks` are complete."""

    job: JobSpec
    blocks: int = 1
    lease_id: str = "lease-1"
    run_id: int = 7
    heartbeat_s: float = HEARTBEAT_S
    self_fence_s: float = FENCE_S
    mute_after: int | None = None
    """After so many invocations every request is answered with 503."""
    heartbeat: Callable[[int], httpx.Response] | None = None
    """Answers the n-th heartbeat in place of a confirmation."""
    bundles: dict[str, bytes] = field(default_factory=dict)
    stop: str | None = None
    """Why nothing is open, once the blocks are complete."""
    opens_failed: bool = False
    """Whether cases that failed when they were primed are measured all the same."""

    registered: list[Register] = field(default_factory=list)
    beats: list[Heartbeat] = field(default_factory=list)
    prepared: Prepared | None = None
    invocations: list[Invocation] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    finish: Finish | None = None
    signed_off: list[SignOff] = field(default_factory=list)
    measuring: threading.Event = field(default_factory=threading.Event)
    """Set with the first heartbeat of the phase `measuring`."""
    claims: int = 0
    complete_blocks: int = 0

    def client(self) -> ServiceClient:
        """Return a client that speaks to this service."""
        transport = httpx.MockTransport(self._answer)
        return ServiceClient("http://service", "token-of-the-agent", transport=transport, clock=SystemClock())

    def arm(self, name: str) -> ArmReport:
        """Return what was said of an arm before pair 1."""
        assert self.prepared is not None
        return next(report for report in self.prepared.arms if report.arm == name)

    def measured(self, arm: str | None = None) -> list[CaseMeasurement]:
        """Return all cases measured, of one arm or of both."""
        return [case for posted in self.invocations if arm in (None, posted.arm) for case in posted.cases]

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.mute_after is not None and len(self.invocations) >= self.mute_after:
            return httpx.Response(503)
        what = request.url.path.rsplit("/", 1)[-1]
        if request.method == "GET":
            return httpx.Response(200, content=self.bundles[what])
        handlers: dict[str, Callable[[httpx.Request], Any]] = {
            "register": self._register,
            "claim": self._claim,
            "heartbeat": self._heartbeat,
            "prepared": self._prepared,
            "invocations": self._invocation,
            "finish": self._finish,
            "sign-off": self._sign_off,
        }
        answer = handlers[what](request)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    def _register(self, request: httpx.Request) -> Any:
        self.registered.append(Register.model_validate_json(body_of(request)))
        return {
            "worker_id": 1,
            "heartbeat_s": self.heartbeat_s,
            "lease_ttl_s": TTL_S,
            "self_fence_s": self.self_fence_s,
        }

    def _claim(self, request: httpx.Request) -> Any:
        self.claims += 1
        if self.claims > 1:
            return httpx.Response(204)
        lease = Lease(lease_id=self.lease_id, run_id=self.run_id, attempt=1, job=self.job)
        return json.loads(lease.model_dump_json())

    def _sign_off(self, request: httpx.Request) -> Any:
        self.signed_off.append(SignOff.model_validate_json(body_of(request)))
        return {}

    def _heartbeat(self, request: httpx.Request) -> Any:
        beat = Heartbeat.model_validate_json(body_of(request))
        self.beats.append(beat)
        if beat.phase == "measuring":
            self.measuring.set()
        if self.heartbeat is not None:
            return self.heartbeat(len(self.beats))
        return confirmed()

    def _prepared(self, request: httpx.Request) -> Any:
        self.prepared = Prepared.model_validate_json(body_of(request))
        return self._open().model_dump()

    def _invocation(self, request: httpx.Request) -> Any:
        invocation = Invocation.model_validate_json(body_of(request))
        self.invocations.append(invocation)
        self.keys.append(request.headers["Idempotency-Key"])
        self.complete_blocks += invocation.block_complete
        return self._open().model_dump()

    def _open(self) -> OpenCases:
        if self.prepared is None or self.complete_blocks >= self.blocks:
            return OpenCases(open=[], stop=self.stop)
        good = {report.arm: self._cases(report) for report in self.prepared.arms}
        head, base = good.get("head", {}), good.get("base", {})
        head_only = [case for key, case in head.items() if key not in base]
        both = [case for key, case in head.items() if key in base]
        return OpenCases(open=both + head_only, head_only=head_only)

    def _cases(self, report: ArmReport) -> dict[str, CaseId]:
        wanted = [case for case in report.cases if self.opens_failed or case.failure is None]
        cases = [CaseId(benchmark=case.benchmark, params=case.params) for case in wanted]
        return {case.key: case for case in cases}

    def _finish(self, request: httpx.Request) -> Any:
        self.finish = Finish.model_validate_json(body_of(request))
        return {}


def body_of(request: httpx.Request) -> bytes:
    """Return a request's body, unpacked."""
    packed = request.headers.get("Content-Encoding") == "gzip"
    return gzip.decompress(request.content) if packed else request.content


def confirmed(*, cancel: bool = False) -> httpx.Response:
    """Return the answer to a heartbeat of a living lease."""
    return httpx.Response(200, json={"lease_until": datetime.now(UTC).isoformat(), "cancel": cancel})


def stale() -> httpx.Response:
    """Return the answer to whoever no longer has the lease."""
    return httpx.Response(409, json={"code": "stale_lease", "message": "the lease has ended"})
