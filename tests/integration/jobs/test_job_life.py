"""A check from request to conclusion, through the real API and PostgreSQL, with an agent that only talks."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text, update

from app.domain.errors import StaleLeaseError
from app.integrations.queue import CeleryQueue, make_celery
from app.services.conclude_check import conclude_check
from app.services.lease_jobs import sweep_leases
from app.services.relay_outbox import find_lost_hints, relay_outbox
from app.store.tables import Job, Outbox
from app.wiring import Service
from tests.factories.agent import CPU, FakeAgent, latency_listing
from workers import protocol

pytestmark = pytest.mark.postgres

CASE = protocol.CaseId(benchmark="resize", params={"batch": 32})
LISTING = latency_listing("resize", batch=32)


def noisy(slowdown: float, sd: float = 0.005) -> Any:
    """Latencies around 1 ms, head slower by the factor given."""
    rng = random.Random(7)
    return lambda arm, _: 1e-3 * (slowdown if arm == "head" else 1.0) * (1 + rng.gauss(0, sd))


def conclude(service: Service, check_id: int) -> str | None:
    with service.database.session() as session:
        found = conclude_check(session, check_id)
    return str(found) if found else None


def document(client: TestClient, token: str, check_id: int) -> dict[str, Any]:
    return client.get(f"/api/v1/checks/{check_id}", headers={"Authorization": f"Bearer {token}"}).json()


def measure(agent: FakeAgent, latency: Any, blocks: int = 20) -> protocol.OpenCases:
    answer = agent.prepare([LISTING], [LISTING])
    for _ in range(blocks):
        if not answer.open:
            break
        answer = agent.block(CASE, latency)
    return answer


def test_slower_head_is_regressed_and_its_values_become_results(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    assert agent.claim() is not None
    assert measure(agent, noisy(1.10)).open == []
    assert conclude(service, check_id) is None, "the job still runs"
    assert agent.finish().status_code == 200
    assert conclude(service, check_id) == "regressed"
    found = document(client, admin_token, check_id)
    (case,) = found["suites"][0]["cases"]
    assert (found["status"], case["verdict"], case["worse"]) == (1, "regressed", True)
    assert case["ci_low"] < 0.10 < case["ci_high"]
    with service.database.session() as session:
        arms = session.execute(text("select arm, n, value from result order by arm")).all()
    assert [arm for arm, _, _ in arms] == ["base", "head"]
    assert all(n == case["n_pairs"] for _, n, _ in arms)


def test_equal_arms_pass(service: Service, agent: FakeAgent, ask: Any) -> None:
    check_id = ask()["check"]
    agent.claim()
    measure(agent, noisy(1.0))
    agent.finish()
    assert conclude(service, check_id) == "passed"


def test_spent_device_time_leaves_an_inconclusive_check(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    assert measure(agent, noisy(1.0, sd=0.2), blocks=40).open == []
    agent.finish()
    assert conclude(service, check_id) == "inconclusive"
    (case,) = document(client, admin_token, check_id)["suites"][0]["cases"]
    assert (case["verdict"], case["reason"]) == ("inconclusive", "device_time")


@pytest.mark.parametrize(
    ("reason", "told"),
    [("device_time_left", "device_time_left"), ("", "agent_ended")],
    ids=["short", "silent"],
)
def test_agent_that_finishes_with_cases_open_leaves_them_inconclusive(
    client: TestClient,
    service: Service,
    agent: FakeAgent,
    ask: Any,
    admin_token: str,
    reason: str,
    told: str,
) -> None:
    check_id = ask()["check"]
    agent.claim()
    assert measure(agent, noisy(1.0, sd=0.2), blocks=2).open == [CASE]
    message = "a block takes about 30 s, and 12 of 60 s of device time are left"
    assert agent.finish(reason=reason, message=message).status_code == 200
    assert conclude(service, check_id) == "inconclusive"
    (case,) = document(client, admin_token, check_id)["suites"][0]["cases"]
    assert (case["verdict"], case["reason"], case["n_pairs"]) == ("inconclusive", told, 4)
    headers = {"Authorization": f"Bearer {admin_token}"}
    (job,) = client.get(f"/api/v1/checks/{check_id}/progress", headers=headers).json()["jobs"]
    assert (job["state"], job["message"]) == ("succeeded", message)


def test_head_that_raises_twice_fails_the_check_with_its_log(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    answer = measure(agent, lambda arm, _: 1e-3 if arm == "base" else None)
    agent.finish()
    assert answer.open == []
    assert conclude(service, check_id) == "regressed"
    (case,) = document(client, admin_token, check_id)["suites"][0]["cases"]
    assert (case["verdict"], case["reason"], case["log_tail"]) == ("head_fails", "raised", "ValueError: no")


@pytest.mark.parametrize(
    ("broken", "verdict", "conclusion"),
    [
        ({"head_arm": {"status": "build_failed", "cases": []}}, "head_fails", "regressed"),
        ({"base_arm": {"status": "build_failed", "cases": []}}, "base_fails", "not_measured"),
        (
            {
                "base_arm": {"status": "build_failed", "cases": []},
                "head_arm": {"status": "build_failed", "cases": []},
            },
            "not_measured",
            "not_measured",
        ),
    ],
    ids=["head", "base", "both"],
)
def test_arm_that_does_not_build_gets_its_verdict_without_a_measurement(
    client: TestClient,
    service: Service,
    agent: FakeAgent,
    ask: Any,
    admin_token: str,
    broken: dict[str, Any],
    verdict: str,
    conclusion: str,
) -> None:
    check_id = ask()["check"]
    agent.claim()
    answer = agent.prepare([LISTING], [LISTING], **broken)
    assert answer.open == answer.head_only
    agent.finish()
    assert conclude(service, check_id) == conclusion
    (case,) = document(client, admin_token, check_id)["suites"][0]["cases"]
    assert case["verdict"] == verdict


def test_new_case_is_measured_on_head_alone_and_removed_case_is_named(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    answer = agent.prepare([latency_listing("old")], [latency_listing("fresh")])
    assert [case.benchmark for case in answer.open] == ["fresh"]
    assert answer.head_only == answer.open
    agent.finish()
    assert conclude(service, check_id) == "passed"
    cases = document(client, admin_token, check_id)["suites"][0]["cases"]
    assert {case["benchmark"]: case["verdict"] for case in cases} == {"fresh": "new", "old": "removed"}


def test_invocation_posted_twice_is_stored_once(service: Service, agent: FakeAgent, ask: Any) -> None:
    ask()
    lease = agent.claim()
    assert lease is not None
    agent.prepare([LISTING], [LISTING])
    message = agent.invocation("base", 0, 0, [])
    path = f"leases/{lease.lease_id}/invocations"
    assert agent.post(path, message).json() == agent.post(path, message).json()
    other = message.model_copy(update={"duration_ns": 1})
    assert agent.post(path, other).json()["code"] == "idempotency_conflict"
    with service.database.session() as session:
        assert session.scalar(text("select count(*) from invocation")) == 1


def test_job_is_leased_once(client: TestClient, worker_token: str, agent: FakeAgent, ask: Any) -> None:
    other = FakeAgent(client, worker_token, name="other", hardware_id="cpu-0002")
    other.register()
    ask()
    assert agent.claim() is not None
    assert other.claim() is None


def test_second_live_agent_on_the_same_device_is_refused(
    client: TestClient, worker_token: str, agent: FakeAgent
) -> None:
    twin = FakeAgent(client, worker_token, name="twin", hardware_id=agent.hardware_id)
    response = twin.register()
    assert response.status_code == 409
    assert response.json()["code"] == "device_in_use"
    assert "'agent'" in response.json()["message"]


def test_expired_lease_goes_back_to_the_queue_and_its_agent_is_told_to_stop(
    service: Service, agent: FakeAgent, ask: Any
) -> None:
    ask()
    first = agent.claim()
    assert first is not None
    assert agent.beat().status_code == 200
    with service.database.session() as session:
        session.execute(update(Job).values(lease_until=text("clock_timestamp() - interval '1 second'")))
        assert sweep_leases(session, service.settings) == 1
    for answer in (agent.beat(), agent.finish()):
        assert (answer.status_code, answer.json()["code"]) == (409, StaleLeaseError.code)
    assert agent.claim() is None, "the device rests for the grace"
    with service.database.session() as session:
        session.execute(text("update device set available_at = null"))
        session.execute(update(Job).values(not_before=text("clock_timestamp()")))
    second = agent.claim()
    assert second is not None
    assert (second.attempt, second.lease_id != first.lease_id) == (2, True)


def test_job_that_loses_its_worker_each_time_fails_after_its_attempts(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    for _ in range(3):
        with service.database.session() as session:
            session.execute(text("update device set available_at = null"))
            session.execute(update(Job).values(not_before=text("clock_timestamp()")))
        assert agent.claim() is not None
        with service.database.session() as session:
            session.execute(update(Job).values(lease_until=text("clock_timestamp() - interval '1 second'")))
            sweep_leases(session, service.settings)
    assert agent.claim() is None
    assert conclude(service, check_id) == "not_measured"
    assert "worker_lost" in document(client, admin_token, check_id)["reason"]


def test_finish_is_answered_the_same_twice(agent: FakeAgent, ask: Any) -> None:
    ask()
    agent.claim()
    measure(agent, noisy(1.1))
    assert agent.finish().status_code == agent.finish().status_code == 200


def test_check_without_a_device_is_not_measured_at_once_and_says_what_is_connected(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    progress = ask(devices="nvidia-*")
    assert progress["jobs"][0]["state"] == "no_capacity"
    assert conclude(service, progress["check"]) == "not_measured"
    assert CPU in document(client, admin_token, progress["check"])["reason"]


def test_cancelled_check_stops_its_agent_at_the_next_answer(
    client: TestClient, service: Service, agent: FakeAgent, ask: Any, admin_token: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    headers = {"Authorization": f"Bearer {admin_token}"}
    assert client.post(f"/api/v1/checks/{check_id}/cancel", headers=headers).status_code == 200
    assert agent.beat().json()["cancel"] is True
    assert agent.prepare([LISTING], [LISTING]).stop == "cancelled"
    agent.finish("cancelled")
    assert conclude(service, check_id) == "not_measured"


def test_everything_lost_on_the_way_is_found_again_in_the_database(
    service: Service, agent: FakeAgent, ask: Any
) -> None:
    ask()
    sent: list[tuple[str, dict[str, Any]]] = []

    class Broker:
        def send(self, topic: str, payload: dict[str, Any]) -> None:
            sent.append((topic, payload))

    with service.database.session() as session:
        relay_outbox(session, Broker())
        relay_outbox(session, Broker())
    topics = [topic for topic, _ in sent]
    assert topics == ["job.hint"], "each message leaves once"
    sent.clear()
    with service.database.session() as session:
        late = text("clock_timestamp() - interval '1 hour'")
        session.execute(update(Job).values(not_before=late))
        session.execute(update(Outbox).values(sent_at=late))
        find_lost_hints(session, service.settings)
        relay_outbox(session, Broker())
    assert [topic for topic, _ in sent] == ["job.hint"]


def test_message_of_a_topic_that_this_release_does_not_know_keeps_no_other_from_leaving(
    service: Service, agent: FakeAgent, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.database.session() as session:
        session.add(Outbox(topic="of.tomorrow", key="of.tomorrow/1", payload={}))
    ask()
    sent: list[str] = []
    queue = CeleryQueue(make_celery("redis://nowhere"))
    monkeypatch.setattr(queue, "_publish", lambda task, *_, **__: sent.append(task))
    monkeypatch.setattr(queue, "_hint", lambda *_: sent.append("hint"))
    with service.database.session() as session:
        relay_outbox(session, queue)
    assert sent == ["hint"]
    with service.database.session() as session:
        left = session.query(Outbox).filter(Outbox.sent_at.is_(None)).one()
        assert (left.topic, left.attempts) == ("of.tomorrow", 1)
        assert "no task for the topic 'of.tomorrow'" in (left.error or "")
        assert left.available_at - left.created_at > timedelta(minutes=1)


def test_message_that_cannot_be_sent_stays_in_the_outbox_with_the_reason(
    service: Service, agent: FakeAgent, ask: Any
) -> None:
    ask()

    class Dead:
        def send(self, topic: str, payload: dict[str, Any]) -> None:
            raise ConnectionError("no broker")

    with service.database.session() as session:
        assert relay_outbox(session, Dead()) == 0
    with service.database.session() as session:
        rows = session.query(Outbox).all()
        assert all(row.sent_at is None for row in rows)
        (first, *untried) = sorted(rows, key=lambda row: row.id)
        assert "no broker" in (first.error or "")
        assert first.available_at - first.created_at > timedelta(seconds=1)
        assert all(row.attempts == 0 for row in untried), "one refusal is enough to know"
