"""An agent that measures nothing: it speaks the protocol and posts the values that a test wants to see judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fastapi.testclient import TestClient
from httpx import Response

from workers import protocol

CPU = "cpu-test-2t"
Latency = Callable[[str, int], float | None]
"""(arm, pair) -> latency [s]; None is a failed invocation."""


def latency_listing(benchmark: str, **params: Any) -> protocol.CaseListing:
    """A case of a benchmark file with its one default metric."""
    metric = protocol.MetricDecl(metric="latency_p50", unit="s", better="lower")
    return protocol.CaseListing(benchmark=benchmark, params=params, file_digest="f1", metrics=[metric])


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
    worker_id: int = 0
    lease: protocol.Lease | None = None
    pairs: int = field(default=0)

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
            hardware_id=self.hardware_id, kind="cpu", device_class=self.device_class
        )
        message = protocol.Register(name=self.name, host=self.host, instance=self.instance, devices=[device])
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
        base: Sequence[protocol.CaseListing],
        head: Sequence[protocol.CaseListing],
        **arms: dict[str, Any],
    ) -> protocol.OpenCases:
        """Post how the arms were prepared; `base={...}` and `head={...}` override fields of their reports."""
        reports = [
            protocol.ArmReport.model_validate(
                {"arm": arm, "status": "ok", "cases": cases} | arms.get(f"{arm}_arm", {})
            )
            for arm, cases in (("base", base), ("head", head))
        ]
        message = protocol.Prepared(arms=reports, machine_hash="m1", order_seed=1, device_s=0.5)
        return _open(self.post(self._lease("prepared"), message))

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
    ) -> protocol.OpenCases:
        """Post one block of two pairs, timed with these flags, and return what the service left open.

        `net` is the latency without what other programs took, where that is known.
        """
        answer: protocol.OpenCases | None = None
        for _ in range(2):
            for position, arm in enumerate(("base", "head")):
                measured = measurement(case, latency(arm, self.pairs), flags, net(arm, self.pairs))
                message = self.invocation(arm, self.pairs, position, [measured])  # type: ignore[arg-type]
                answer = _open(self.post(self._lease("invocations"), message))
            self.pairs += 1
        assert answer is not None
        return answer

    def finish(self, outcome: protocol.Outcome = "ok", **fields: Any) -> Response:
        """End the lease."""
        message = protocol.Finish.model_validate({"outcome": outcome} | fields)
        return self.post(self._lease("finish"), message)

    def _lease(self, path: str) -> str:
        assert self.lease is not None
        return f"leases/{self.lease.lease_id}/{path}"


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
