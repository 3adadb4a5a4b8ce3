"""What agents, clients and races do to jobs: devices are never lost, verdicts never invented, bad input is a 4xx."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.domain.jobs import JobState
from app.services.access import Principal
from app.services.cancel_check import cancel_check
from app.services.conclude_check import conclude_check
from app.services.lease_jobs import sweep_leases
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing, measurement
from tests.factories.checks import SETTINGS, check_request
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

ADMIN = Principal("admin", frozenset({"admin"}))


def one(service: Service, query: str) -> Any:
    with service.database.session() as session:
        return session.scalar(text(query))


def settle(agent: FakeAgent, listing: protocol.CaseListing, slowdown: float = 1.0) -> None:
    """Measure one case until nothing is open."""
    answer = agent.prepare([listing], [listing])
    for pair in range(40):
        if not answer.open:
            return
        answer = agent.block(
            listing.case, lambda arm, _, p=pair: (1 + p / 1e4) * (slowdown if arm == "head" else 1)
        )


def test_cancel_that_meets_a_claim_keeps_no_device(service: Service, agent: FakeAgent, ask: Ask) -> None:
    check_id = ask()["check"]
    with service.database.session() as session:
        session.execute(text("select 1"))
        assert agent.claim() is not None
        cancel_check(session, ADMIN, check_id)
    assert one(service, "select state from job") == JobState.LEASED
    assert agent.beat().json()["cancel"] is True
    agent.finish("cancelled")
    assert one(service, "select count(*) from lease_device where active") == 0


def test_cancel_without_effect_is_ended_by_the_sweep(service: Service, agent: FakeAgent, ask: Ask) -> None:
    check_id = ask()["check"]
    agent.claim()
    with service.database.session() as session:
        cancel_check(session, ADMIN, check_id)
    with service.database.session() as session:
        session.execute(text("update job set cancel_requested_at = cancel_requested_at - interval '1 hour'"))
        assert sweep_leases(session, service.settings) == 1
    assert one(service, "select state from job") == JobState.CANCELLED


def test_attempt_that_never_ends_is_ended_although_it_beats(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    assert agent.beat().status_code == 200
    with service.database.session() as session:
        session.execute(text("update job set attempt_until = clock_timestamp() - interval '1 second'"))
        assert sweep_leases(session, service.settings) == 1
    assert agent.beat().status_code == 409


def test_lease_whose_answer_was_lost_is_given_again(agent: FakeAgent, ask: Ask) -> None:
    ask()
    first, again = agent.claim(), agent.claim()
    assert first is not None
    assert again == first
    agent.beat()
    assert agent.claim() is None, "an agent that has been heard of has its lease"


def test_run_that_settled_but_never_finished_passes_nothing(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask, admin_token: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    settle(agent, latency_listing("resize"))
    agent.finish("infra_failed", reason="disk_full", message="no space", retryable=False)
    with service.database.session() as session:
        assert conclude_check(session, check_id) == "not_measured"
    headers = {"Authorization": f"Bearer {admin_token}"}
    document = client.get(f"/api/v1/checks/{check_id}", headers=headers).json()
    assert {case["verdict"] for case in document["suites"][0]["cases"]} == {"not_measured"}
    assert one(service, "select count(*) from result") == 0


def test_device_that_its_worker_no_longer_has_is_no_capacity(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask
) -> None:
    agent.hardware_id, agent.device_class = "cpu-0002", "cpu-other-4t"
    assert agent.register().status_code == 200
    progress = ask()
    assert [job["device_class"] for job in progress["jobs"]] == ["cpu-other-4t"]


def test_name_of_a_live_agent_on_another_host_is_refused(
    client: TestClient, worker_token: str, agent: FakeAgent
) -> None:
    other = FakeAgent(client, worker_token, host="elsewhere", hardware_id="cpu-0002")
    response = other.register()
    assert (response.status_code, response.json()["code"]) == (409, "name_in_use")
    assert agent.claim() is None, "the live one goes on"


def test_key_of_another_check_is_refused(client: TestClient, admin_token: str, ask: Ask) -> None:
    first = ask(key="ci-1")
    assert ask(key="ci-1")["check"] == first["check"]
    headers = {"Authorization": f"Bearer {admin_token}"}
    other = check_request(key="ci-1", head={"sha": "e" * 40})
    response = client.post("/api/v1/checks", json=other, headers=headers)
    assert (response.status_code, response.json()["code"]) == (409, "idempotency_conflict")


def test_metric_in_two_units_is_not_compared(service: Service, agent: FakeAgent, ask: Ask) -> None:
    ask()
    agent.claim()
    in_ms = protocol.MetricDecl(metric="latency_p50", unit="ms", better="lower")
    base = latency_listing("resize").model_copy(update={"metrics": [in_ms]})
    answer = agent.prepare([base], [latency_listing("resize")])
    assert answer.open == []
    assert one(service, "select verdict || ' ' || reason from verdict") == "not_measured unit_mismatch"


def test_gate_that_names_nothing_falls_back_and_is_flagged(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    settings = SETTINGS.format(devices="cpu-*").replace("devices", 'gate = ["latency_p95x"]\ndevices')
    ask(settings=settings)
    agent.claim()
    agent.prepare([latency_listing("resize")], [latency_listing("resize")])
    assert one(service, "select gating from verdict") is True
    assert one(service, "select flags[1] from verdict") == "gate_unmatched"


@pytest.mark.parametrize("value", [1e22, -0.0, 1e-7, 12345678901234567890, "smile ☺", True, None])
def test_parameter_comes_back_as_its_agent_wrote_it(agent: FakeAgent, ask: Ask, value: Any) -> None:
    ask()
    agent.claim()
    listing = latency_listing("resize", x=value)
    answer = agent.prepare([listing], [listing])
    assert [case.key for case in answer.open] == [listing.case.key]


BAD = {
    "text too long for an index": {"devices": ["x" * 20_000]},
    "date out of range": {"head": {"sha": "b" * 40, "authored_at": "9999-12-31T23:59:59-12:00"}},
    "no digits": {"head": {"sha": "main"}},
    "unknown field": {"surprise": 1},
    "no such bundle": {"source": {"kind": "bundle", "location": "f" * 64}},
}


@pytest.mark.parametrize("fields", BAD.values(), ids=BAD)
def test_bad_request_is_a_4xx_with_a_code(
    client: TestClient, admin_token: str, fields: dict[str, Any]
) -> None:
    headers = {"Authorization": f"Bearer {admin_token}"}
    response = client.post("/api/v1/checks", json=check_request(**fields), headers=headers)
    assert 400 <= response.status_code < 500
    assert response.json()["code"]


def test_text_with_a_null_character_is_stored_without_it(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    agent.prepare([latency_listing("resize")], [latency_listing("resize")])
    failed = measurement(protocol.CaseId(benchmark="resize"), None)
    message = agent.invocation("base", 0, 0, [failed.model_copy(update={"log_tail": "a\0b"})])
    assert agent.lease is not None
    assert agent.post(f"leases/{agent.lease.lease_id}/invocations", message).status_code == 200
    assert one(service, "select log_tail from timing") == "a\ufffdb"


@pytest.mark.parametrize("number", [2**63, -(2**64)])
def test_number_beyond_the_database_is_a_4xx(agent: FakeAgent, ask: Ask, number: int) -> None:
    ask()
    agent.claim()
    agent.prepare([latency_listing("resize")], [latency_listing("resize")])
    message = agent.invocation("base", 0, 0, [], t_start_ns=number)
    assert agent.lease is not None
    response = agent.post(f"leases/{agent.lease.lease_id}/invocations", message)
    assert response.status_code == 422


@pytest.mark.parametrize("arms", [["base"], ["base", "base"], ["head", "head"]])
def test_preparation_of_the_wrong_arms_is_refused(agent: FakeAgent, ask: Ask, arms: list[Any]) -> None:
    ask()
    agent.claim()
    assert agent.lease is not None
    reports = [protocol.ArmReport(arm=arm, status="ok") for arm in arms]
    message = protocol.Prepared(arms=reports, order_seed=1, device_s=0)
    response = agent.post(f"leases/{agent.lease.lease_id}/prepared", message)
    assert (response.status_code, response.json()["code"]) == (422, "bad_arms")


def test_benchmark_file_broken_in_head_alone_fails_on_head(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    broken = protocol.CaseListing(benchmark="resize", failure="import raised SyntaxError: no\nTraceback")
    base_arm = {"cases": [broken], "own_cases": [latency_listing("resize", batch=32)]}
    answer = agent.prepare([broken], [broken], base_arm=base_arm)
    assert answer.open == []
    assert one(service, "select string_agg(verdict, ' ') from verdict") == "head_fails"
    assert one(service, "select log_tail from verdict") == "Traceback"


def test_benchmark_that_only_head_has_and_base_cannot_run_is_new(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    cannot = latency_listing("fresh").model_copy(update={"failure": "run raised AttributeError: newfunc"})
    base_arm = {"cases": [cannot, latency_listing("old")], "own_cases": [latency_listing("old")]}
    agent.prepare([], [latency_listing("fresh"), latency_listing("old")], base_arm=base_arm)
    found = one(service, "select string_agg(coalesce(verdict, 'open'), ' ' order by id) from verdict")
    assert found == "new open"


def test_slip_beside_a_good_gate_is_flagged(service: Service, agent: FakeAgent, ask: Ask) -> None:
    settings = SETTINGS.format(devices="cpu-*").replace("devices", 'gate = ["latency_p50", "memry"]\ndevices')
    ask(settings=settings)
    agent.claim()
    agent.prepare([latency_listing("resize")], [latency_listing("resize")])
    assert one(service, "select gating and flags = '{gate_unmatched}' from verdict") is True
