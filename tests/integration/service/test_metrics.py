"""What a scrape is told, of a real database with something of everything in it."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, text, update

from app.config import ServiceSettings
from app.domain.incidents import IncidentEnd, IncidentKind
from app.services.metrics.catalogue import METRICS, Kind
from app.services.metrics.measure_service import band_name
from app.store.repositories import incidents, metrics, outbox
from app.store.tables import Restoration
from app.wiring import Service
from tests.factories import stored
from tests.factories.application import application
from tests.factories.in_process import InProcess
from tests.factories.scrapes import fill, scrape

pytestmark = pytest.mark.postgres

DOCUMENT = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")


def documented() -> list[list[str]]:
    """Return the cells of each number's row."""
    rows = [line.strip("|").split("|") for line in DOCUMENT.splitlines() if line.startswith("| `ratchet_")]
    return [[cell.strip() for cell in row] for row in rows]


def execute(service: Service, statement: str, **values: object) -> None:
    with service.database.session() as session:
        session.execute(text(statement), values)


# --- the document ---------------------------------------------------------------------------------------------


def test_the_document_has_every_number_with_its_type_and_labels() -> None:
    told = {row[0].strip("`"): (row[1], tuple(re.findall(r"`(\w+)`", row[2]))) for row in documented()}
    assert told == {metric.name: (str(metric.kind), metric.labels) for metric in METRICS}
    assert all(row[3] and row[5] in ("rows", "tally", "process", "host") for row in documented())


def test_a_scrape_with_data_tells_every_number_of_the_document_and_none_besides(
    client: TestClient, service: Service
) -> None:
    fill(service)
    scrape(client)
    found = scrape(client)
    for metric in METRICS:
        family = found.families[metric.name.removesuffix("_total")]
        assert family.type == metric.kind, metric.name
        assert family.samples, metric.name
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        assert labels == set(metric.labels), metric.name
    assert set(found.families) == {metric.name.removesuffix("_total") for metric in METRICS}


def test_counters_and_histograms_are_never_of_rows() -> None:
    kinds = {row[0].strip("`"): (row[1], row[5]) for row in documented()}
    assert [name for name, (kind, source) in kinds.items() if kind != Kind.GAUGE and source == "rows"] == []


# --- rows -----------------------------------------------------------------------------------------------------


def test_jobs_attempts_and_queue_are_those_of_the_database(client: TestClient, service: Service) -> None:
    fill(service)
    found = scrape(client)
    assert found.value("ratchet_jobs", state="queued") == 2
    assert found.value("ratchet_jobs", state="running") == 1
    assert found.value("ratchet_jobs", state="failed") == 0
    assert found.value("ratchet_attempts", outcome="ok") == 1
    assert found.value("ratchet_attempts", outcome="open") == 1
    oldest = found.value("ratchet_queue_oldest_seconds", band="pull_request", device_class="unknown")
    assert oldest is not None
    assert 500 < oldest < 1000


def test_a_class_that_no_device_has_ever_been_of_is_no_label(client: TestClient, service: Service) -> None:
    fill(service)
    execute(service, "update job set device_class = 'a100' where id = (select max(id) from job)")
    execute(
        service, "update job set device_class = 'x' || id where state = 'queued' and device_class <> 'a100'"
    )
    found = scrape(client)
    assert found.value("ratchet_queue_depth", band="pull_request", device_class="a100") == 1
    assert found.value("ratchet_queue_depth", band="pull_request", device_class="unknown") == 1
    assert found.value("ratchet_devices_live", device_class="a100") == 1


@pytest.mark.parametrize(
    ("band", "name"),
    [
        (0, "pull_request"),
        (4, "bisect"),
        (5, "bisect"),
        (10, "push"),
        (20, "nightly"),
        (30, "bisect"),
        (40, "backfill"),
    ],
)
def test_bands_have_the_names_of_what_asked(band: int, name: str) -> None:
    assert band_name(band) == name


def test_a_class_whose_workers_are_away_has_no_live_device(client: TestClient, service: Service) -> None:
    with service.database.session() as session:
        owner = stored.worker(session, seen=timedelta(hours=1))
        stored.device(session, owner, "h200")
    found = scrape(client)
    assert found.value("ratchet_devices_live", device_class="h200") == 0
    assert found.value("ratchet_workers_live") == 0
    assert found.value("ratchet_heartbeat_age_seconds") is None


def test_incidents_that_are_not_over_are_told_by_kind(client: TestClient, service: Service) -> None:
    with service.database.session() as session:
        for name in ("a100", "h100"):
            of_class = f"class/{name}"
            incidents.begin(session, IncidentKind.UNSERVED, of_class, name=name, classes=[name], detail={})
        incidents.end(session, IncidentKind.UNSERVED, "class/h100", IncidentEnd.SERVED)
    found = scrape(client)
    told = {kind: found.value("ratchet_incidents_open", kind=kind) for kind in IncidentKind}
    assert told == {"quarantined": 0, "moved": 0, "lost": 0, "unserved": 1}


def test_the_worker_that_is_silent_for_longest_counts_of_those_that_are_live(
    client: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        for name, seconds in (("quick", 2), ("slow", 60), ("gone", 3600)):
            stored.worker(session, name, seen=timedelta(seconds=seconds))
    age = scrape(client).value("ratchet_heartbeat_age_seconds")
    assert age is not None
    assert 60 <= age < 120


def test_the_outbox_is_told_by_topic(client: TestClient, service: Service) -> None:
    with service.database.session() as session:
        outbox.put(session, "forge.tell", "a", {})
        outbox.put(session, "forge.tell", "b", {})
        outbox.put(session, "check.render", "c", {})
        outbox.put(session, "check.show", "d", {})
    execute(
        service, "update outbox set available_at = clock_timestamp() - interval '90 seconds' where key = 'a'"
    )
    execute(service, "update outbox set error = 'refused' where key = 'b'")
    execute(service, "update outbox set sent_at = clock_timestamp() where key = 'c'")
    execute(service, "update outbox set available_at = clock_timestamp() + interval '1 hour' where key = 'd'")
    found = scrape(client)
    assert found.value("ratchet_outbox_depth", topic="forge.tell") == 2
    assert 90 <= (found.value("ratchet_outbox_oldest_seconds", topic="forge.tell") or 0) < 150
    assert found.value("ratchet_outbox_failures", topic="forge.tell") == 1
    assert found.value("ratchet_outbox_depth", topic="check.render") == 0
    assert found.value("ratchet_outbox_depth", topic="check.show") == 0
    assert found.value("ratchet_outbox_oldest_seconds", topic="check.show") == 0


def test_a_check_is_overdue_five_minutes_after_its_jobs_deadline(
    client: TestClient, service: Service
) -> None:
    fill(service)
    execute(
        service,
        "update job set deadline_at = clock_timestamp() - interval '4 minutes' where state = 'queued'",
    )
    assert scrape(client).value("ratchet_checks_overdue") == 0
    execute(
        service,
        "update job set deadline_at = clock_timestamp() - interval '6 minutes' where state = 'queued'",
    )
    assert scrape(client).value("ratchet_checks_overdue") == 2


def test_a_check_is_overdue_that_nobody_concludes(client: TestClient, service: Service) -> None:
    fill(service)
    execute(
        service,
        "update job set state = 'expired', finished_at = clock_timestamp() - interval '4 minutes'"
        " where state = 'queued'",
    )
    assert scrape(client).value("ratchet_checks_overdue") == 0
    execute(service, """update "check" set created_at = created_at - interval '1 hour'""")
    with service.database.engine.begin() as connection:
        connection.execute(text("alter table job disable trigger user"))
        connection.execute(text("update job set finished_at = finished_at - interval '2 minutes'"))
        connection.execute(text("alter table job enable trigger user"))
    assert scrape(client).value("ratchet_checks_overdue") == 1


def test_what_was_never_done_has_no_age(client: TestClient) -> None:
    found = scrape(client).names()
    assert (
        not {
            "ratchet_sweep_age_seconds",
            "ratchet_backup_age_seconds",
            "ratchet_retention_seconds",
            "ratchet_forge_quota_remaining",
        }
        & found
    )


def test_a_backup_that_never_came_is_missed_where_one_is_wanted(client: TestClient, service: Service) -> None:
    service.settings.backup_dir = "/backups"
    waited = scrape(client).value("ratchet_backup_age_seconds")
    assert waited > 0
    execute(service, "insert into watermark (name, at) values ('backup', now() - interval '3 hours')")
    assert scrape(client).value("ratchet_backup_age_seconds") == pytest.approx(3 * 3600, abs=60)


def test_a_quota_whose_time_is_over_is_told_no_more(client: TestClient, service: Service) -> None:
    fill(service)
    assert scrape(client).value("ratchet_forge_quota_remaining") == 4000
    execute(service, "update tally set until = clock_timestamp() where until is not null")
    assert scrape(client).value("ratchet_forge_quota_remaining") is None


# --- one process ----------------------------------------------------------------------------------------------


def test_requests_are_counted_by_template_and_never_by_address(client: TestClient, service: Service) -> None:
    for path in ("/healthz", "/healthz", "/nowhere/at-all", "/api/v1/checks/77777/progress"):
        client.get(path)
    found = scrape(client)
    assert found.value("ratchet_http_requests_total", route="/healthz", method="GET", status="200") == 2
    assert found.value("ratchet_http_requests_total", route="unmatched", method="GET", status="404") == 1
    template = "/api/v1/checks/{check_id}/progress"
    assert found.value("ratchet_http_requests_total", route=template, method="GET", status="401") == 1
    assert found.value("ratchet_http_request_seconds_count", route="/healthz") == 2
    assert not any("77777" in str(sample) for family in found.families.values() for sample in family.samples)


def test_a_method_that_nobody_knows_is_one_of_all_others(client: TestClient) -> None:
    for method in ("BREW", "STEEP", "X" * 100):
        client.request(method, "/healthz")
    found = scrape(client)
    methods = {s.labels["method"] for s in found.families["ratchet_http_requests"].samples}
    assert methods <= {"other", "GET"}


def test_connections_of_the_process_are_told_with_their_limit(client: TestClient, service: Service) -> None:
    with service.database.session() as session:
        session.execute(text("select 1"))
        found = scrape(client)
    assert (found.value("ratchet_database_connections", state="in_use") or 0) >= 1
    assert found.value("ratchet_database_connections_limit") == 20


def test_with_all_connections_taken_a_scrape_and_readiness_are_answered(settings: ServiceSettings) -> None:
    service = Service(settings)
    client = InProcess(application(service), raise_server_exceptions=False)
    with ExitStack() as held:
        held.callback(service.close)
        for _ in range(service.database.connections_most):
            held.enter_context(service.database.engine.connect())
        found = scrape(client)
        assert client.get("/readyz").status_code == 200
    limit = found.value("ratchet_database_connections_limit")
    assert found.value("ratchet_database_connections", state="in_use") == limit
    assert found.value("ratchet_jobs", state="queued") == 0


def test_a_restored_service_is_told_to_observe_until_somebody_has_it_go_on(
    client: TestClient, service: Service
) -> None:
    assert scrape(client).value("ratchet_observing") == 0
    with service.database.session() as session:
        session.add(Restoration(backup="b", backup_at=datetime.now(UTC), version="1", revision="1"))
    assert scrape(client).value("ratchet_observing") == 1
    with service.database.session() as session:
        session.execute(update(Restoration).values(resumed_at=func.clock_timestamp()))
    assert scrape(client).value("ratchet_observing") == 0


@pytest.fixture
def nowhere(tmp_path: Path) -> TestClient:
    """A service whose database is away."""
    url = f"postgresql://ratchet@/ratchet?host={tmp_path}"
    settings = ServiceSettings(database_url=url, redis_url="redis://nobody", data_dir=tmp_path)
    return InProcess(application(Service(settings)), raise_server_exceptions=False)


def test_without_the_database_a_process_still_tells_of_itself(nowhere: TestClient) -> None:
    nowhere.get("/readyz")
    found = scrape(nowhere)
    assert found.value("ratchet_database_up") == 0
    assert found.value("ratchet_http_requests_total", route="/readyz", method="GET", status="503") == 1
    assert "ratchet_jobs" not in found.names()


# --- who may ask ----------------------------------------------------------------------------------------------


def test_with_a_secret_a_scrape_has_to_bear_it(client: TestClient, service: Service, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret-of-scrapes\n")
    service.settings.metrics_secret_file = str(tmp_path / "secret")
    for wrong in ({}, {"Authorization": "Bearer s3cret"}, {"Authorization": "Basic s3cret-of-scrapes"}):
        assert client.get("/metrics", headers=wrong).status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer s3cret-of-scrapes"}).status_code == 200


@pytest.mark.parametrize("held", ["", "\n"])
def test_an_empty_secret_opens_nothing(
    client: TestClient, service: Service, tmp_path: Path, held: str
) -> None:
    (tmp_path / "secret").write_text(held)
    service.settings.metrics_secret_file = str(tmp_path / "secret")
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 401


def test_a_secret_that_cannot_be_read_closes_the_door(client: TestClient, service: Service) -> None:
    service.settings.metrics_secret_file = "/nowhere/secret"
    answer = client.get("/metrics")
    assert answer.status_code == 503
    assert "RATCHET_METRICS_SECRET_FILE" in answer.json()["message"]


# --- readiness ------------------------------------------------------------------------------------------------


def test_a_process_that_just_started_is_ready_before_anybody_swept(client: TestClient) -> None:
    assert client.get("/readyz").status_code == 200


def test_a_sweep_that_never_came_counts_once_the_process_is_up_for_six(
    client: TestClient, service: Service
) -> None:
    service.begun -= 6 * service.settings.sweep_interval_s + 1
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "sweeper_silent")
    with service.database.session() as session:
        metrics.swept(session)
    assert client.get("/readyz").status_code == 200


def test_a_sweep_of_yesterday_is_silent_for_an_old_process_and_not_for_a_new_one(
    client: TestClient, service: Service
) -> None:
    execute(
        service, "insert into watermark (name, at) values ('sweep', clock_timestamp() - interval '1 day')"
    )
    assert client.get("/readyz").status_code == 200
    service.begun -= 3600
    assert client.get("/readyz").json()["code"] == "sweeper_silent"


def test_without_the_database_nothing_is_ready_and_that_is_said(nowhere: TestClient) -> None:
    answer = nowhere.get("/readyz")
    assert (answer.status_code, answer.json()["code"]) == (503, "database_away")
    assert nowhere.get("/healthz").status_code == 200


def test_another_schema_is_not_ready_and_that_is_said(client: TestClient, service: Service) -> None:
    with service.database.engine.begin() as connection:
        ours = connection.scalar(text("select version_num from alembic_version"))
        connection.execute(text("update alembic_version set version_num = '0001'"))
    try:
        assert client.get("/readyz").json()["code"] == "schema_mismatch"
    finally:
        with service.database.engine.begin() as connection:
            connection.execute(text("update alembic_version set version_num = :ours"), {"ours": ours})
