"""A lease on several devices of one agent, with the service of the test's own process and with the real one."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.wiring import Service
from tests.factories.checks import SETTINGS, check_request
from tests.integration.worker.bench import ADD, Repository, agent_on, job, simulated
from tests.integration.worker.service_double import ServiceDouble
from workers.host.fingerprint import machine_hash
from workers.lease.client import Patience, ServiceClient
from workers.protocol import Register

SCRIPTS: list[Mapping[str, Any]] = [
    {"class": "sim-test", "hardware_id": f"sim-test-{number}", "telemetry": {"temp_c": 50.0 + number}}
    for number in range(3)
]

ENVIRONMENT = """printf '{"metric": "n", "value": %s, "unit": "1", "better": "lower"}\\n' \
"$(echo $SIMULATED_VISIBLE_DEVICES | tr , '\\n' | grep -c .)" > "$RATCHET_RESULT_FILE" """


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def on_two(repository: Repository, **suite: Any) -> ServiceDouble:
    """Return a service with a job on the first and the last of three devices."""
    base, head = (repository.commit({"benchmarks/bench_add.py": ADD, "v": v}) for v in "12")
    spec = job(repository, base, head, **suite)
    return ServiceDouble(spec.model_copy(update={"hardware_ids": ["sim-test-0", "sim-test-2"]}))


def test_a_run_on_two_devices_is_measured_with_both_and_said_to_be(
    repository: Repository, tmp_path: Path
) -> None:
    service = on_two(repository)
    agent_on(service.client(), tmp_path, simulated(tmp_path, *SCRIPTS)).run()

    assert service.finish is not None
    assert service.finish.outcome == "ok"
    assert len(service.invocations) == 4
    assert {case.status for case in service.measured()} == {"ok"}
    told = [[one["gauges"]["temp_c"][1] for one in posted.telemetry] for posted in service.invocations]
    assert told == [[50.0, 52.0]] * 4
    assert service.prepared is not None
    fingerprint = service.prepared.fingerprint
    assert fingerprint["machine"]["device_count"] == 2
    assert fingerprint["identity"]["uuid"] == ["sim-test-0", "sim-test-2"]
    assert service.prepared.machine_hash == machine_hash(fingerprint)
    assert {i.fingerprint_hash for i in service.invocations} == {service.prepared.machine_hash}


def test_a_command_sees_the_devices_of_its_job_and_no_others(repository: Repository, tmp_path: Path) -> None:
    service = on_two(repository, command=ENVIRONMENT)
    agent_on(service.client(), tmp_path, simulated(tmp_path, *SCRIPTS)).run()
    assert {value.value for case in service.measured() for value in case.values} == {2.0}


def test_one_busy_device_of_two_hands_the_job_back_and_frees_the_other(
    repository: Repository, tmp_path: Path
) -> None:
    service = on_two(repository)
    (first, _, last) = simulated(tmp_path, *SCRIPTS)
    last.lock()
    agent_on(service.client(), tmp_path, simulated(tmp_path, *SCRIPTS)).run()
    last.unlock()
    assert service.finish is not None
    assert (service.finish.outcome, service.finish.reason) == ("infra_failed", "device_busy")
    assert service.finish.retryable
    assert "sim-test-2" in service.finish.message
    assert service.invocations == []
    first.lock()
    first.unlock()


# --- with the real service ---


def request(repository: Repository, needed: int, suite: str) -> dict[str, Any]:
    """Return a request for a check of two equal commits on so many devices."""
    base, head = (repository.commit({"benchmarks/bench_add.py": ADD, "v": v}) for v in "12")
    settings = SETTINGS.format(devices="sim-*").replace('name = "inference"', f'name = "{suite}"')
    return check_request(
        settings=settings.replace("benchmarks =", f"devices_needed = {needed}\nbenchmarks ="),
        source={"kind": "git", "location": str(repository.path)},
        base={"sha": base},
        head={"sha": head},
    )


def through(client: TestClient) -> httpx.MockTransport:
    """Return a transport to the application in this process, for the agent's own client."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = client.request(
            request.method, str(request.url), content=request.content, headers=dict(request.headers)
        )
        return httpx.Response(found.status_code, headers=dict(found.headers), content=found.content)

    return httpx.MockTransport(answer)


@pytest.mark.postgres
def test_the_real_service_and_agent_measure_a_check_on_two_of_three_devices_then_another(
    client: TestClient,
    service: Service,
    worker_token: str,
    admin_token: str,
    repository: Repository,
    tmp_path: Path,
) -> None:
    devices = simulated(tmp_path, *SCRIPTS)
    its_client = ServiceClient("http://testserver", worker_token, transport=through(client))

    def ask(needed: int, suite: str) -> dict[str, Any]:
        body = request(repository, needed, suite)
        headers = {"Authorization": f"Bearer {admin_token}"}
        answer: dict[str, Any] = client.post("/api/v1/checks", json=body, headers=headers).json()
        return answer

    its_client.register(
        Register(
            name="test",
            host=socket.gethostname(),
            instance="before",
            devices=[device.report() for device in devices],
        ),
        Patience(),
    )
    checks = [ask(2, "pair"), ask(3, "all")]
    assert ask(4, "more")["jobs"][0]["state"] == "no_capacity"
    for _ in checks:
        agent_on(its_client, tmp_path, devices).run()

    with service.database.session() as session:
        jobs = session.execute(text("select suite, state from job order by id")).all()
        held = session.execute(
            text(
                "select job.suite, count(*) from lease_device join attempt using (lease_id)"
                " join job on job.id = attempt.job_id group by job.suite order by job.suite"
            )
        ).all()
        machines = session.scalars(text("select machine -> 'machine' from environment")).all()
        free = session.scalar(text("select count(*) from lease_device where active"))
    assert [tuple(row) for row in jobs] == [
        ("pair", "succeeded"),
        ("all", "succeeded"),
        ("more", "no_capacity"),
    ]
    assert [tuple(row) for row in held] == [("all", 3), ("pair", 2)]
    assert sorted(machine["device_count"] for machine in machines) == [2, 3]
    assert free == 0
