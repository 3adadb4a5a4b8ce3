"""What an agent posts while another post of its lease is stored, and what is free, and told, when a lease ends."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from app.services import plan_run
from app.services.access import FORGE
from app.services.cancel_check import cancel_check
from app.store.repositories import awaiting, leases
from app.store.tables import Check, PullRequest, Repository
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.waiting import wait_for
from tests.integration.conftest import somebody_waits
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

LISTING = latency_listing("resize")


def test_preparation_that_comes_again_while_it_is_stored_is_answered_the_same(
    service: Service, agent: FakeAgent, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan_cases = plan_run.plan_cases
    planned: list[str] = []

    def when_the_other_waits(suite: str, message: protocol.Prepared) -> Any:
        planned.append(suite)
        wait_for(lambda: somebody_waits(service))
        return plan_cases(suite, message)

    monkeypatch.setattr(plan_run, "plan_cases", when_the_other_waits)
    ask()
    agent.claim()
    with ThreadPoolExecutor(2) as threads:
        one, other = (threads.submit(agent.prepare, [LISTING], [LISTING]) for _ in range(2))
        assert one.result() == other.result() == protocol.OpenCases(open=[LISTING.case])
    assert planned == ["inference"]


def test_whoever_waits_for_a_lease_sees_its_run_as_it_is_then(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    lease = agent.claim()
    assert lease is not None

    def device_time() -> float:
        with service.database.session() as session:
            held = leases.held_by(session, lease.lease_id)
            assert held is not None
            return held.run.device_s

    with ThreadPoolExecutor(1) as threads, service.database.session() as session:
        held = leases.held_by(session, lease.lease_id)
        assert held is not None
        waiting = threads.submit(device_time)
        wait_for(lambda: somebody_waits(service))
        held.run.device_s = 42.0
        session.commit()
        assert waiting.result() == 42.0


ENDS: dict[str, dict[str, Any]] = {
    "measured": {},
    "failed": {"outcome": "infra_failed", "reason": "agent_fault"},
    "put back": {"outcome": "infra_failed", "reason": "disk_full", "retryable": True},
    "cancelled": {"outcome": "cancelled"},
}


@pytest.mark.parametrize("end", ENDS)
def test_devices_are_free_however_the_lease_ends(
    service: Service, agent: FakeAgent, ask: Ask, end: str
) -> None:
    check_id = ask()["check"]
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    if end == "cancelled":
        with service.database.session() as session:
            cancel_check(session, FORGE, check_id)
    assert agent.finish(**ENDS[end]).status_code == 200
    with service.database.session() as session:
        assert session.scalar(text("select count(*) from lease_device where active")) == 0
    ask(head={"sha": "e" * 40})
    assert agent.claim() is not None


def test_all_checks_of_a_job_are_told_and_the_forge_of_those_that_it_waits_for(
    service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ours, other = ask()["check"], ask(head={"sha": "e" * 40})["check"]
    with service.database.session() as session:
        session.execute(
            text(
                "insert into request_job (request_id, job_id)"
                ' select check_of.request_id, job.id from "check" check_of, job'
                " where check_of.id = :other and job.head_commit_id"
                ' = (select head_commit_id from "check" where id = :ours)'
            ),
            {"ours": ours, "other": other},
        )
    agent.claim()
    with service.database.session() as session:
        states = session.execute(text('select id, state from "check" order by id')).all()
        assert states == [(ours, "running"), (other, "running")]
        job_id = session.scalar(text("select id from job where state = 'leased'"))
        assert job_id is not None
        _await_on_forge(session, other)
        assert awaiting.wake_of_job(session, job_id) == [(ours, False), (other, True)]
        assert awaiting.wake(session, other) == [(other, True)]
    assert agent.finish().status_code == 200
    with service.database.session() as session:
        told = session.scalars(text("select key from outbox where topic like 'check.%' order by key")).all()
    assert told == [f"check.conclude/{ours}", f"check.conclude/{other}", f"check.show/{other}"]


def _await_on_forge(session: Session, check_id: int) -> None:
    """Have a pull request wait for the check."""
    project_id = session.get_one(Check, check_id).project_id
    repository = Repository(external_id=5, slug="acme/vision", branch="main", project_id=project_id)
    session.add(repository)
    session.flush()
    known = {
        "number": 12,
        "title": "t",
        "author": "ann",
        "is_fork": False,
        "base_ref": "main",
        "state": "open",
    }
    session.add(PullRequest(repository_id=repository.id, head_sha="e" * 40, check_id=check_id, **known))
    session.flush()
