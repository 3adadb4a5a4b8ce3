"""Protocol messages that tests need and do not care about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from workers.protocol import Invocation, JobSpec, Lease, Registered, Source, SuiteSpec

SHA = "0123456789abcdef0123456789abcdef01234567"

TIMES = Registered(worker_id=1, heartbeat_s=10.0, lease_ttl_s=60.0, self_fence_s=45.0)


def a_lease(**job: Any) -> Lease:
    fields: dict[str, Any] = {
        "job_id": 1,
        "project": "acme/vision",
        "suite": SuiteSpec(name="unit"),
        "source": Source(kind="git", location="/repository"),
        "base_sha": SHA,
        "head_sha": SHA[::-1],
        "device_class": "sim-test",
        "hardware_ids": ["sim-0"],
        "budget_s": 60.0,
    }
    return Lease(lease_id="lease-1", run_id=7, attempt=1, job=JobSpec(**fields | job))


def an_invocation(**fields: Any) -> Invocation:
    values: dict[str, Any] = {
        "arm": "base",
        "block": 0,
        "pair_index": 0,
        "position": 0,
        "attempt": 1,
        "seed": 1,
        "env_pad": 0,
        "started_at": datetime(2026, 1, 31, tzinfo=UTC),
        "t_start_ns": 1,
        "duration_ns": 2,
        "exit_code": 0,
        "status": "ok",
        "device_s": 1.5,
    }
    return Invocation(**values | fields)
