"""Strangers' commits: who may measure them, and that nothing of it enters any history."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select, text

from app.domain.jobs import JobState
from app.domain.results import CommitRef
from app.services.access import FORGE, Scope, issue_token
from app.services.check_request import CheckRequest
from app.services.conclude_check import conclude_check
from app.services.request_check import request_check
from app.settings import read_settings
from app.store.repositories import fleet
from app.store.repositories import jobs as job_rows
from app.store.tables import Check, Device, Job, Worker
from app.wiring import Service
from tests.factories.agent import CPU, FakeAgent, latency_listing
from tests.factories.checks import BASE, HEAD, SETTINGS
from workers import protocol

pytestmark = pytest.mark.postgres

CASE = protocol.CaseId(benchmark="resize", params={"batch": 32})
LISTING = latency_listing("resize", batch=32)
COPIED = ("project_id", "suite", "device_class", "base_commit_id", "head_commit_id", "budget_s", "max_pairs")
Request = Callable[..., int]


@pytest.fixture
def request_it(service: Service) -> Request:
    """Ask for a check as the service itself does; return its id."""

    def ask(*, untrusted: bool = True, **fields: Any) -> int:
        known: dict[str, Any] = {
            "settings": read_settings(SETTINGS.format(devices="cpu-*")),
            "source": {"kind": "git", "location": "/repositories/vision"},
            "base": CommitRef(BASE, "Before"),
            "head": CommitRef(HEAD, "After"),
        }
        with service.database.session() as session:
            wanted = CheckRequest(**(known | fields), untrusted=untrusted)
            return request_check(session, service.settings, FORGE, wanted).id

    return ask


def token(service: Service, *scopes: Scope) -> str:
    with service.database.session() as session:
        return issue_token(session, "-".join(scopes), list(scopes))


def agent_of(client: TestClient, service: Service, *scopes: Scope, name: str, sandbox: int = 2) -> FakeAgent:
    its = FakeAgent(
        client, token(service, *scopes), name=name, host=name, hardware_id=f"cpu-{name}", sandbox=sandbox
    )
    assert its.register().status_code == 200
    return its


@pytest.fixture
def stranger(client: TestClient, service: Service) -> FakeAgent:
    return agent_of(client, service, Scope.WORKER_UNTRUSTED, name="stranger")


@pytest.fixture
def trusted(client: TestClient, service: Service) -> FakeAgent:
    return agent_of(client, service, Scope.WORKER, name="trusted")


def job_of(service: Service, check_id: int) -> Job:
    with service.database.session() as session:
        check = session.get_one(Check, check_id)
        (job,) = job_rows.of_request(session, check.request_id)
        return job


def test_untrusted_job_goes_to_the_untrusted_pool_alone(
    stranger: FakeAgent, trusted: FakeAgent, request_it: Request
) -> None:
    request_it()
    assert trusted.claim() is None
    lease = stranger.claim()
    assert lease is not None
    assert lease.job.sandbox == 2


def test_trusted_job_does_not_go_to_the_untrusted_pool(
    stranger: FakeAgent, trusted: FakeAgent, request_it: Request
) -> None:
    request_it(untrusted=False)
    assert stranger.claim() is None
    lease = trusted.claim()
    assert lease is not None
    assert lease.job.sandbox == 0


def test_token_of_both_pools_takes_both(client: TestClient, service: Service, request_it: Request) -> None:
    both = agent_of(client, service, Scope.WORKER, Scope.WORKER_UNTRUSTED, name="both")
    request_it()
    request_it(untrusted=False)
    first = both.claim()
    assert first is not None
    both.prepare([LISTING], [LISTING])
    both.finish("infra_failed")
    second = both.claim()
    assert second is not None
    assert {first.job.sandbox, second.job.sandbox} == {0, 2}


def test_worker_without_a_sandbox_takes_no_untrusted_job(
    client: TestClient, service: Service, stranger: FakeAgent, request_it: Request
) -> None:
    scopes = (Scope.WORKER, Scope.WORKER_UNTRUSTED)
    weak = agent_of(client, service, *scopes, name="weak", sandbox=0)
    request_it()
    assert weak.claim() is None
    assert stranger.claim() is not None


def test_claim_follows_the_token_and_not_what_it_was_at_registration(
    service: Service, client: TestClient, stranger: FakeAgent, request_it: Request
) -> None:
    request_it()
    stranger.token = token(service, Scope.WORKER)
    assert stranger.claim() is None
    with service.database.session() as session:
        worker = session.get_one(Worker, stranger.worker_id)
        assert (worker.takes_trusted, worker.takes_untrusted, worker.sandbox) == (True, False, 2)


def test_lease_whose_answer_was_lost_is_not_given_again_to_a_token_of_the_other_pool(
    service: Service, trusted: FakeAgent, request_it: Request
) -> None:
    request_it(untrusted=False)
    assert trusted.claim() is not None
    trusted.token = token(service, Scope.WORKER_UNTRUSTED)
    assert trusted.claim() is None


def test_untrusted_token_cannot_take_the_place_of_a_live_trusted_worker(
    service: Service, trusted: FakeAgent
) -> None:
    trusted.token, trusted.instance = token(service, Scope.WORKER_UNTRUSTED), "another"
    answer = trusted.register()
    assert (answer.status_code, answer.json()["code"]) == (409, "name_in_use")


@pytest.mark.parametrize("untrusted", [True, False])
def test_without_a_worker_of_the_pool_the_job_ends_at_once_and_says_so(
    service: Service, client: TestClient, request_it: Request, untrusted: bool
) -> None:
    other = Scope.WORKER if untrusted else Scope.WORKER_UNTRUSTED
    agent_of(client, service, other, name="other pool's")
    check_id = request_it(untrusted=untrusted)
    job = job_of(service, check_id)
    assert (job.state, job.reason) == (JobState.NO_CAPACITY, "no_capacity")
    pool = "worker of the untrusted pool" if untrusted else "live worker"
    assert job.message == (
        f"no {pool} has a device of class cpu-*; connected now: "
        f"no {'worker of the untrusted pool' if untrusted else 'worker'} is connected"
    )


def noisy(slowdown: float) -> Any:
    rng = random.Random(7)
    return lambda arm, _: 1e-3 * (slowdown if arm == "head" else 1.0) * (1 + rng.gauss(0, 0.005))


def measured(agent: FakeAgent, slowdown: float) -> None:
    assert agent.claim() is not None
    answer = agent.prepare([LISTING], [LISTING])
    while answer.open:
        answer = agent.block(CASE, noisy(slowdown))
    assert agent.finish().status_code == 200


def test_verdicts_are_given_and_nothing_of_the_run_joins_a_history(
    service: Service, stranger: FakeAgent, request_it: Request
) -> None:
    check_id = request_it(branch="main", base_branch="main")
    measured(stranger, 1.1)
    with service.database.session() as session:
        assert str(conclude_check(session, check_id)) == "regressed"
        assert session.scalar(text("select count(*) from result")) == 0
        assert session.scalar(text("select count(*) from series")) == 0
        assert session.scalar(text("select count(*) from outbox where topic = 'series.examine'")) == 0
        assert job_rows.landed_on(session, CPU) == []


def test_noise_of_a_strangers_run_plans_no_other(
    service: Service, client: TestClient, request_it: Request
) -> None:
    both = agent_of(client, service, Scope.WORKER, Scope.WORKER_UNTRUSTED, name="both")
    request_it()
    measured(both, 1.0)
    request_it(untrusted=False)
    measured(both, 1.0)
    request_it(untrusted=False)
    measured(both, 1.0)
    with service.database.session() as session:
        rows = session.execute(text("select plan from verdict order by run_id")).scalars()
        strangers, first, second = rows.all()
    assert strangers == first, "neither knows of an earlier run"
    assert second != first


def test_head_has_not_landed_because_a_stranger_built_upon_it(
    service: Service, client: TestClient, request_it: Request
) -> None:
    both = agent_of(client, service, Scope.WORKER, Scope.WORKER_UNTRUSTED, name="both")
    request_it(untrusted=False)
    measured(both, 1.0)
    request_it(base=CommitRef(HEAD), head=CommitRef("c" * 40))
    measured(both, 1.0)
    with service.database.session() as session:
        assert job_rows.landed_on(session, CPU) == []
    request_it(untrusted=False, base=CommitRef(HEAD), head=CommitRef("d" * 40))
    measured(both, 1.0)
    with service.database.session() as session:
        assert [job.is_untrusted for job in job_rows.landed_on(session, CPU)] == [False]


@pytest.mark.parametrize(
    ("purpose", "health", "is_given"),
    [("self_check", "good", True), ("calibrate", "quarantined", True), ("bridge", "good", False)],
)
def test_device_of_the_untrusted_pool_is_looked_after_but_makes_no_point_of_a_history(
    service: Service,
    trusted: FakeAgent,
    stranger: FakeAgent,
    request_it: Request,
    purpose: str,
    health: str,
    is_given: bool,
) -> None:
    like = job_of(service, request_it(untrusted=False))
    with service.database.session() as session:
        device = session.scalars(select(Device).where(Device.hardware_id == stranger.hardware_id)).one()
        device.health = health
        copied = {name: getattr(like, name) for name in COPIED}
        session.add(
            Job(
                **copied,
                key=purpose,
                device_id=device.id,
                spec=like.spec | {"purpose": purpose},
                policy=like.policy | {"purpose": purpose},
            )
        )
    lease = stranger.claim()
    assert (lease is not None) == is_given
    assert lease is None or (lease.job.purpose, lease.job.sandbox) == (purpose, 0)


def test_device_of_the_untrusted_pool_alone_is_not_asked_for_bridges(
    service: Service, trusted: FakeAgent, stranger: FakeAgent
) -> None:
    with service.database.session() as session:
        known = {device.hardware_id: device for device in session.scalars(select(Device))}
        assert fleet.is_trusted(session, known[trusted.hardware_id])
        assert not fleet.is_trusted(session, known[stranger.hardware_id])
