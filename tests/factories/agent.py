"""An agent that measures nothing: it speaks the protocol and posts the values that a test wants to see judged."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from workers import protocol

CPU = "cpu-test-2t"
Latency = Callable[[str, int], float | None]
"""(arm, pair) -> latency [s]; None is a failed invocation."""

Told = Callable[[str, int], dict[str, Any]]
"""(arm, pair) -> what an invocation's document says besides its timings."""


def latency_listing(benchmark: str, **params: Any) -> protocol.CaseListing:
    """A case of a benchmark file with its one default metric."""
    metric = protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")
    return protocol.CaseListing(
        benchmark=benchmark,
        params=params,
        file_digest="f1",
        file=f"benchmarks/bench_{benchmark}.py",
        line=12,
        metrics=[metric],
    )


def control(times: Mapping[str, Any], disturbed: str = "") -> protocol.ControlResult | None:
    """What the control workload showed: name of a probe -> time of an iteration [s]; None without any."""
    probes = {name: {"seconds": seconds, "cv": 0.01, "n": 9} for name, seconds in times.items()}
    if not times:
        return None
    return protocol.ControlResult(version="kit-1", backend="test", probes=probes, disturbed=disturbed)


@dataclass
class FakeAgent:
    """One agent with one device; `post` returns whatever the service answers."""

    client: TestClient
    token: str
    name: str = "agent"
    host: str = "host"
    instance: str = "first"
    hardware_id: str = "cpu-0001"
    device_class: str = CPU
    kind: str = "cpu"
    sandbox: int = 0
    worker_id: int = 0
    lease: protocol.Lease | None = None
    pairs: int = field(default=0)
    machine: dict[str, Any] = field(default_factory=dict)
    """The `machine` part of its fingerprint."""
    start: dict[str, Any] = field(default_factory=dict)
    """What the control shows at the start of each run: probe -> time [s]."""
    end: dict[str, Any] = field(default_factory=dict)
    """The same at its end."""
    disturbed: str = ""
    """What else is on the machine while the control runs."""

    def post(self, path: str, message: protocol.Message | dict[str, Any], **headers: str) -> Response:
        """Post a protocol message."""
        body = message.model_dump_json() if isinstance(message, protocol.Message) else message
        kind: dict[str, Any] = {"content": body} if isinstance(body, str) else {"json": body}
        return self.client.post(
            f"/api/v1/worker/{path}", headers={"Authorization": f"Bearer {self.token}"} | headers, **kind
        )

    def register(self) -> Response:
        """Introduce the agent; on success it knows its id."""
        device = protocol.DeviceReport(
            hardware_id=self.hardware_id, kind=self.kind, device_class=self.device_class
        )
        message = protocol.Register(
            name=self.name, host=self.host, instance=self.instance, devices=[device], sandbox=self.sandbox
        )
        response = self.post("register", message)
        if response.status_code == 200:
            self.worker_id = response.json()["worker_id"]
        return response

    def claim(self) -> protocol.Lease | None:
        """Claim work; keep the lease."""
        message = protocol.Claim(
            worker_id=self.worker_id, instance=self.instance, hardware_ids=[self.hardware_id]
        )
        response = self.post("claim", message)
        assert response.status_code in (200, 204), response.text
        self.pairs = 0
        self.lease = None if response.status_code == 204 else protocol.Lease.model_validate(response.json())
        return self.lease

    def beat(self) -> Response:
        """Say that the agent is alive and measuring."""
        return self.post(self._lease("heartbeat"), protocol.Heartbeat(phase=protocol.Phase.MEASURING))

    def prepare(
        self,
        base: Sequence[protocol.CaseListing] | None,
        head: Sequence[protocol.CaseListing],
        **arms: dict[str, Any],
    ) -> protocol.OpenCases:
        """Post how the arms were prepared; `base_arm={...}` and `head_arm={...}` override fields of their reports.

        Without cases of base there is no base.
        """
        reports = [
            protocol.ArmReport.model_validate(
                {"arm": arm, "status": "ok", "cases": cases} | arms.get(f"{arm}_arm", {})
            )
            for arm, cases in (("base", base), ("head", head))
            if cases is not None
        ]
        message = protocol.Prepared(
            arms=reports,
            order_seed=1,
            device_s=0.5,
            control=control(self.start, self.disturbed),
            **self.fingerprint(),
        )
        return _open(self.post(self._lease("prepared"), message))

    def fingerprint(self) -> dict[str, Any]:
        """Return what is said of the machine before pair 1."""
        if not self.machine:
            return {"machine_hash": "m1"}
        return {"machine_hash": hash_of(self.machine), "fingerprint": {"machine": self.machine}}

    def invocation(
        self,
        arm: protocol.Arm,
        pair: int,
        position: int,
        cases: Sequence[protocol.CaseMeasurement],
        **fields: Any,
    ) -> protocol.Invocation:
        """Return an invocation document."""
        assert self.lease is not None
        known: dict[str, Any] = {
            "arm": arm,
            "block": pair // 2,
            "pair_index": pair,
            "position": position,
            "attempt": self.lease.attempt,
            "seed": 1,
            "env_pad": 0,
            "started_at": datetime(2026, 1, 1, tzinfo=UTC),
            "t_start_ns": 1_000 * (2 * pair + position % 2),
            "duration_ns": 500,
            "exit_code": 0,
            "status": "ok",
            "cases": list(cases),
            "device_s": 1.0 + pair,
            "block_complete": pair % 2 == 1 and position % 2 == 1,
        }
        return protocol.Invocation.model_validate(known | fields)

    def block(
        self,
        case: protocol.CaseId,
        latency: Latency,
        flags: tuple[str, ...] = (),
        net: Latency = lambda arm, pair: None,
        told: Told = lambda arm, pair: {},
        arms: Sequence[protocol.Arm] = ("base", "head"),
    ) -> protocol.OpenCases:
        """Post one block of two pairs, timed with these flags, and return what the service left open.

        `net` is the latency without what other programs took, where that is known.
        """
        answer: protocol.OpenCases | None = None
        for _ in range(2):
            for position, arm in enumerate(arms):
                measured = measurement(case, latency(arm, self.pairs), flags, net(arm, self.pairs))
                more = told(arm, self.pairs)
                message = self.invocation(arm, self.pairs, position, [measured], **more)
                answer = _open(self.post(self._lease("invocations"), message))
            self.pairs += 1
        assert answer is not None
        return answer

    def finish(self, outcome: protocol.Outcome = "ok", **fields: Any) -> Response:
        """End the lease."""
        known = {"outcome": outcome, "control": control(self.end, self.disturbed)}
        message = protocol.Finish.model_validate(known | fields)
        return self.post(self._lease("finish"), message)

    def _lease(self, path: str) -> str:
        assert self.lease is not None
        return f"leases/{self.lease.lease_id}/{path}"


def hash_of(machine: dict[str, Any]) -> str:
    """Return a machine's hash as agents make it."""
    return hashlib.sha256(json.dumps(machine, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def measurement(
    case: protocol.CaseId, latency: float | None, flags: tuple[str, ...] = (), net: float | None = None
) -> protocol.CaseMeasurement:
    """What an invocation says of a case whose latency is given; None is a case that raised."""
    if latency is None:
        return protocol.CaseMeasurement(
            benchmark=case.benchmark,
            params=case.params,
            status="failed",
            reason="raised",
            log_tail="ValueError: no",
        )
    value = protocol.Value(metric="latency_p50", value=latency, net=net, unit="s", better="lower")
    batches = protocol.Batches(host_ns=[round(latency * 1e9)] * 3)
    return protocol.CaseMeasurement(
        benchmark=case.benchmark,
        params=case.params,
        status="ok",
        batches=batches,
        values=[value],
        flags=list(flags),
    )


def _open(response: Response) -> protocol.OpenCases:
    assert response.status_code == 200, response.text
    return protocol.OpenCases.model_validate(response.json())
