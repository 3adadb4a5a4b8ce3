"""What is counted of jobs as it happens: leases that end, posts that come too late, times that somebody waits."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.services.conclude_check import conclude_check
from app.services.lease_jobs import sweep_leases
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.scrapes import scrape
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres


def run_out(service: Service) -> None:
    """Have every lease run out, and be swept."""
    with service.database.session() as session:
        session.execute(text("update job set lease_until = clock_timestamp() - interval '1 second'"))
    with service.database.session() as session:
        sweep_leases(session, service.settings)


def test_a_lease_that_runs_out_is_counted_and_so_is_what_is_posted_under_it(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    agent.claim()
    assert scrape(client).value("ratchet_lease_expiries_total") == 0
    run_out(service)
    assert agent.beat().status_code == 409
    found = scrape(client)
    assert found.value("ratchet_lease_expiries_total") == 1
    assert found.value("ratchet_stale_posts_total") == 1
    assert found.value("ratchet_attempts", outcome="lost") == 1


def test_a_sweep_that_finds_nothing_writes_nothing(service: Service) -> None:
    with service.database.session() as session:
        assert sweep_leases(session, service.settings) == 0
        assert session.scalar(text("select count(*) from tally")) == 0


def test_a_jobs_wait_is_counted_once_however_often_it_is_leased(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask
) -> None:
    ask()
    with service.database.session() as session:
        session.execute(text("update job set created_at = created_at - interval '20 seconds'"))
    agent.claim()
    run_out(service)
    with service.database.session() as session:
        session.execute(text("update job set not_before = clock_timestamp()"))
        session.execute(text("update device set available_at = null"))
    lease = agent.claim()
    assert lease is not None
    assert lease.attempt == 2
    found = scrape(client)
    assert found.value("ratchet_claim_latency_seconds_count") == 1
    assert found.value("ratchet_claim_latency_seconds_bucket", le="15.0") == 0
    assert found.value("ratchet_claim_latency_seconds_bucket", le="60.0") == 1
    assert 20 <= (found.value("ratchet_claim_latency_seconds_sum") or 0) < 60


@pytest.mark.parametrize(
    ("reason", "counted"), [("device_busy", 1), ("disk_full", 1), ("repository_unreachable", 0)]
)
def test_a_machine_that_is_not_fit_is_counted_and_a_repository_that_is_away_is_not(
    client: TestClient, agent: FakeAgent, ask: Ask, reason: str, counted: int
) -> None:
    ask()
    agent.claim()
    agent.finish("infra_failed", reason=reason)
    assert scrape(client).value("ratchet_preflight_failures_total") == counted


def measure(agent: FakeAgent, listing: protocol.CaseListing) -> None:
    """Measure one case until nothing is open."""
    answer = agent.prepare([listing], [listing])
    for pair in range(40):
        if answer.open:
            answer = agent.block(listing.case, lambda _, __, p=pair: 1 + p / 1e4)
    agent.finish("ok")


def test_the_time_from_the_last_sample_to_the_verdict_is_counted(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask
) -> None:
    check_id = ask()["check"]
    agent.claim()
    measure(agent, latency_listing("resize"))
    with service.database.session() as session:
        session.execute(text("""update "check" set created_at = created_at - interval '1 hour'"""))
        session.execute(text("update invocation set received_at = received_at - interval '100 seconds'"))
    with service.database.session() as session:
        conclude_check(session, check_id)
    found = scrape(client)
    assert found.value("ratchet_verdict_delay_seconds_count") == 1
    assert found.value("ratchet_verdict_delay_seconds_bucket", le="60.0") == 0
    assert found.value("ratchet_verdict_delay_seconds_bucket", le="120.0") == 1


def test_a_check_that_measured_nothing_has_no_such_time(
    client: TestClient, service: Service, agent: FakeAgent, ask: Ask
) -> None:
    check_id = ask()["check"]
    agent.claim()
    agent.finish("infra_failed", reason="x", retryable=False)
    with service.database.session() as session:
        assert conclude_check(session, check_id) is not None
    assert scrape(client).value("ratchet_verdict_delay_seconds_count") == 0
