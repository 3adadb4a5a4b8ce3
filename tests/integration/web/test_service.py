"""Workers and devices; the service's own health."""

from __future__ import annotations

from collections import namedtuple
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text, update

from app.integrations.broker import RedisBroker
from app.services import read_health
from app.services.access import Scope, issue_token
from app.store.repositories import access, projects
from app.store.repositories.metrics import SWEEP
from app.store.tables import Job, Outbox, Upload, Watermark
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import browser, shown
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

CLASS = "cpu-xeon-platinum-8488c-8t"


@pytest.fixture
def redis_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RedisBroker, "describe", lambda _: "Redis 7.2")


# --- workers ---


def test_service_without_workers_says_how_to_start_one(reader: TestClient) -> None:
    page = shown(reader, "/workers")
    assert "No workers yet" in page.text
    assert "RATCHET_URL=http://testserver RATCHET_TOKEN=… ratchet-worker" in page.text


def test_live_workers_come_first_with_their_devices(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        away = stored.worker(session, "attic", seen=timedelta(days=2))
        stored.device(session, away, "jetson-orin-agx-64gb")
        stored.device(session, stored.worker(session, "bench-01"), CLASS, health="quarantined")
    page = shown(reader, "/workers")
    assert page.text.index("bench-01 live") < page.text.index("attic offline")
    assert "seen 2 days ago" in page.text
    assert "version 0.1.0" in page.text
    assert "quarantined takes no jobs" in page.text
    assert "good not reachable" in page.text
    assert "cpu model Intel Xeon Platinum 8488C" in page.text


def test_worker_says_its_pool_and_how_well_it_keeps_strangers_code_in(
    reader: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        stored.worker(session, "plain")
        its = stored.worker(session, "forks")
        its.takes_trusted, its.takes_untrusted, its.sandbox = False, True, 2
    page = shown(reader, "/workers").text
    plain, forks = page[page.index("plain live") :], page[page.index("forks live") :]
    assert "trusted pool · sandbox level 0" in plain
    assert "untrusted pool · sandbox level 2" in forks.partition("plain live")[0]


def test_device_says_what_it_is_doing(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        stored.check(session, results.running())
    page = shown(reader, "/workers")
    assert "inference of acme/vision measuring" in page.text
    assert "/runs/1" in page.links


def test_device_that_rests_after_a_lost_lease_says_so(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        rest = stored.now() + timedelta(minutes=1)
        stored.device(session, stored.worker(session), CLASS, available_at=rest)
    assert "rests after a lost lease" in shown(reader, "/workers").text


def test_what_a_device_does_for_another_project_is_withheld(service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        stored.check(session, results.running())
        other = projects.project(session, "acme/other")
        token = issue_token(session, "other", [Scope.RESULTS_READ], project_id=other.id)
    page = shown(browser(service, token), "/workers")
    assert "busy with another project" in page.text
    assert "acme/vision" not in page.html


def test_worker_whose_devices_moved_away_says_so(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.worker(session, "<u>empty</u>")
    page = shown(reader, "/workers")
    assert "<u>empty</u> live" in page.text
    assert "It has no device any more" in page.text


# --- health ---


@pytest.mark.usefixtures("redis_answers")
def test_health_of_a_working_service(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        stored.check(session, results.running())
        stored.check(session, results.passed())
        for job in session.query(Job).filter(Job.device_class.like("jetson%")):
            job.device_class = CLASS
        session.add(Outbox(topic="job.hint", key="sent", payload={}, sent_at=stored.now()))
    page = shown(reader, "/health")
    assert "Everything works" in page.text
    for words in (
        "Database ok PostgreSQL ",
        "Schema ok revision ",
        "Redis ok Redis 7.2",
        "Outbox ok empty",
        "Sweeper ok no lease is past its end",
        f"Workers ok 1 of 1 live, with {CLASS}",
        "Disk ok",
        "The relay last sent a message just now",
        "1 queued 1 running 1 succeeded",
    ):
        assert words in page.text


def test_broker_that_is_away_is_a_fault_and_says_what_still_works(reader: TestClient) -> None:
    page = shown(reader, "/health")
    assert "Redis does not work" in page.text
    assert "Redis fault does not answer: " in page.text
    assert "Nothing is lost" in page.text


@pytest.mark.usefixtures("redis_answers")
def test_service_without_workers_needs_attention(reader: TestClient) -> None:
    page = shown(reader, "/health")
    assert "Workers needs attention" in page.text
    assert "none has ever registered" in page.text
    assert "The relay has not sent any message yet." in page.text


@pytest.mark.usefixtures("redis_answers")
def test_waiting_for_a_class_that_nobody_has_needs_attention(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        stored.check(session, results.running())
    page = shown(reader, "/health")
    assert "Capacity needs attention" in page.text
    assert "1 job waiting for jetson-orin-agx-64gb, which no live worker has" in page.text


@pytest.mark.usefixtures("redis_answers")
def test_device_in_quarantine_needs_attention_and_says_why(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        worker = stored.worker(session, "bench-01")
        stored.device(session, worker, CLASS)
        device = stored.device(session, worker, CLASS, health="quarantined")
        seen = {"probe": "triad", "seconds": 0.0023, "usual_s": 0.002, "deviation": 0.15}
        access.audit(session, "service", "device.quarantined", f"device/{device.id}", **seen)
        hardware_id = device.hardware_id
    assert f"{hardware_id} in quarantine, of 2 live devices" in shown(reader, "/health").text
    page = shown(reader, "/workers")
    assert (
        "Put into quarantine just now : triad of its control took 2.3 ms, 2 ms is usual (+15.0 %)"
        in page.text
    )
    assert "it takes no jobs until a calibration finds it as it was." in page.text


def test_old_messages_say_that_nobody_relays_and_why(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        long_ago = stored.now() - timedelta(minutes=10)
        message = Outbox(topic="job.hint", key="k", payload={}, error="<b>refused</b>", attempts=3)
        message.created_at = message.available_at = long_ago
        session.add(message)
    page = shown(reader, "/health")
    assert "Outbox attention 1 message waiting, the oldest for 10 min" in page.text
    assert "The last refusal was: <b>refused</b>" in page.text


@pytest.mark.usefixtures("redis_answers")
def test_leases_that_ran_out_say_that_nobody_sweeps(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        stored.device(session, stored.worker(session), CLASS)
        stored.check(session, results.running())
        job = session.query(Job).filter_by(state="running").one()
        job.lease_until = stored.now() - timedelta(minutes=5)
    assert (
        "Sweeper attention 1 lease ran out and still held, the oldest for 5 min"
        in shown(reader, "/health").text
    )


@pytest.mark.usefixtures("redis_answers")
def test_a_sweep_that_is_long_ago_says_that_nobody_sweeps(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        session.add(Watermark(name=SWEEP, at=stored.now() - timedelta(minutes=5)))
    assert "Sweeper attention last came to its end 5 min ago" in shown(reader, "/health").text


@pytest.mark.usefixtures("redis_answers")
def test_results_that_nobody_examines_are_told_with_the_age_of_the_oldest(
    reader: TestClient, service: Service, admin_token: str
) -> None:
    document = posted_document(posted_result("a"), posted_result("b"))
    assert post_results(reader, admin_token, document).status_code == 201
    assert "Examinations ok" in shown(reader, "/health").text
    with service.database.session() as session:
        session.execute(update(Upload).values(created_at=Upload.created_at - timedelta(minutes=20)))
    words = "Examinations attention 2 results of 2 series not looked at, the oldest for 20 min"
    assert words in shown(reader, "/health").text


@pytest.mark.usefixtures("redis_answers")
def test_full_disk_needs_attention(reader: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(read_health.shutil, "disk_usage", lambda _: usage(10**12, 10**12 - 10**9, 10**9))
    page = shown(reader, "/health")
    assert "Disk attention 954 MiB free of 931 GiB" in page.text
    assert "Make room" in page.text


@pytest.mark.usefixtures("redis_answers")
def test_database_of_another_release_is_a_fault(reader: TestClient, service: Service) -> None:
    with service.database.session() as session:
        found = session.execute(text("select version_num from alembic_version")).scalar_one()
        session.execute(text("update alembic_version set version_num = 'another'"))
    try:
        page = shown(reader, "/health")
    finally:
        with service.database.session() as session:
            session.execute(text("update alembic_version set version_num = :found"), {"found": found})
    assert "Schema does not work" in page.text
    assert "the database is at schema revision another" in page.text
