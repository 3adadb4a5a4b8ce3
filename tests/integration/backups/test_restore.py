"""What is restored takes the place of what is there at once, or not at all; it observes, and old leases have ended."""

from __future__ import annotations

import json
import os
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Connection, text
from sqlalchemy.orm import Session

from app.domain.errors import ConflictError, DataError, UsageError
from app.services.backups import restore as restoring
from app.services.backups.archive import Manifest, opened
from app.services.backups.resume import Queued, resume
from app.services.lease_jobs import sweep_leases
from app.services.verify import verify
from app.store.databases import Server
from app.store.migrate import migrate
from app.store.session import Database
from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.application import application
from tests.factories.backups import backed_up, beside, database_of, names_like, restored
from tests.factories.browser import browser
from tests.factories.checks import check_request
from tests.integration.conftest import HeldService
from workers import protocol

pytestmark = pytest.mark.postgres

LISTING = latency_listing("resize")
CASE = protocol.CaseId(benchmark="resize")


@pytest.fixture
def agent(client: TestClient, worker_token: str) -> FakeAgent:
    its_agent = FakeAgent(client, worker_token)
    assert its_agent.register().status_code == 200
    return its_agent


def ask(client: TestClient, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    response = client.post("/api/v1/checks", json=check_request(), headers=headers)
    assert response.status_code == 201, response.text
    return int(response.json()["check"])


def one(database: Database, query: str, **values: Any) -> Any:
    with database.session() as session:
        return session.execute(text(query), values).scalar_one()


def service_of(service: Service, database: Database) -> Service:
    """Return the service on another database; from now on the application is its door."""
    its = HeldService(service.settings, database)
    application(its)
    return its


def test_late_post_of_a_lease_of_the_backup_is_refused_and_kept(
    service: Service, agent: FakeAgent, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    ask(client, admin_token)
    assert agent.claim() is not None
    agent.prepare([LISTING], [LISTING])
    made = backed_up(service, tmp_path / "backups")
    assert agent.beat().status_code == 200, "the service goes on"
    assert restored(made.path, elsewhere, tmp_path / "data").ended == 1
    with database_of(elsewhere) as database:
        service_of(service, database)
        for _ in range(2):
            answer = agent.finish(message="all measured")
            assert (answer.status_code, answer.json()["code"]) == (409, "stale_lease")
        assert agent.beat().status_code == 409
        kept = one(database, "select detail from audit_log where action = 'lease.late_post'")
        assert agent.lease is not None
        assert (kept["lease"], kept["what"]) == (agent.lease.lease_id, "finish")
        assert json.loads(kept["document"])["message"] == "all measured"
        assert one(database, "select count(*) from result") == 0
        assert one(database, "select outcome || ' ' || reason from attempt") == "lost restored"
        assert one(database, "select count(*) from lease_device where active") == 0


def test_late_post_of_a_lease_that_the_backup_never_knew_is_refused_and_kept(
    service: Service, agent: FakeAgent, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    ask(client, admin_token)
    assert agent.claim() is not None
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database:
        service_of(service, database)
        assert agent.finish().status_code == 409
        assert one(database, "select count(*) from audit_log where action = 'lease.late_post'") == 1


def test_restored_service_gives_out_no_work_until_it_goes_on(
    service: Service, agent: FakeAgent, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    ask(client, admin_token)
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database:
        its = service_of(service, database)
        assert agent.claim() is None
        page = browser(its, admin_token).get("/").text
        assert "Restored, and observing." in page
        with database.session() as session:
            session.execute(text("update job set deadline_at = clock_timestamp() - interval '1 second'"))
            assert sweep_leases(session, its.settings) == 0, "nobody could have measured it"
        with pytest.raises(UsageError, match="--queued run"), database.session() as session:
            resume(session, set(), None)
        assert agent.claim() is None
        with database.session() as session:
            assert resume(session, set(), Queued.RUN).waiting == 1
        assert agent.claim() is not None
        assert "observing" not in browser(its, admin_token).get("/").text
        with pytest.raises(ConflictError, match="goes on already"), database.session() as session:
            resume(session, set(), None)


def test_checks_by_hand_that_are_let_go_are_not_measured(
    service: Service, agent: FakeAgent, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    ask(client, admin_token)
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database:
        service_of(service, database)
        with database.session() as session:
            assert resume(session, set(), Queued.DROP).dropped == 1
        assert agent.claim() is None
        assert one(database, "select state || ' ' || reason from job") == "cancelled restored"


def test_job_that_was_measured_during_the_backup_has_all_its_attempts_left(
    service: Service, agent: FakeAgent, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    ask(client, admin_token)
    assert agent.claim() is not None
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database:
        assert one(database, "select max_attempts - attempt from job") == 3
        with database.session() as session:
            assert [finding.name for finding in verify(session) if not finding.is_good] == []


def test_database_with_something_in_it_is_put_aside_by_its_name_alone(
    service: Service, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    for given_up in (None, "ratchet"):
        with pytest.raises(UsageError, match="--force elsewhere"):
            restored(made.path, elsewhere, tmp_path / "data", **({"given_up": given_up} if given_up else {}))
    done = restored(made.path, elsewhere, tmp_path / "data", given_up="elsewhere")
    assert done.aside is not None
    assert names_like(elsewhere, "elsewhere%") == ["elsewhere", done.aside]


def test_database_that_a_service_uses_is_not_restored(
    service: Service, tmp_path: Path, elsewhere: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    refused = pytest.raises(ConflictError, match="a service uses the database elsewhere")
    with database_of(elsewhere) as database, database.engine.connect(), refused:
        restored(made.path, elsewhere, tmp_path / "data", given_up="elsewhere")


def test_whoever_only_reads_there_is_disconnected(service: Service, tmp_path: Path, elsewhere: str) -> None:
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    named = f"{elsewhere}&application_name=grafana".replace("+psycopg", "")
    with psycopg.connect(named) as reader:
        restored(made.path, elsewhere, tmp_path / "data", given_up="elsewhere")
        with pytest.raises(psycopg.OperationalError):
            reader.execute("select 1")


def test_schema_without_rows_is_as_good_as_nothing(service: Service, tmp_path: Path, elsewhere: str) -> None:
    made = backed_up(service, tmp_path / "backups")
    Server(elsewhere).create("elsewhere")
    with database_of(elsewhere) as database:
        migrate(database.engine)
    assert restored(made.path, elsewhere, tmp_path / "data").aside is None


@pytest.mark.parametrize(
    "written", ["create table theirs.notes (note text)", "insert into project (name) values ('new')"]
)
def test_database_that_turns_out_to_hold_something_is_kept(
    service: Service, tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    Server(elsewhere).create("elsewhere")
    with database_of(elsewhere) as database:
        migrate(database.engine)
    observe = restoring.observe

    def meanwhile(session: Session, *of: Any) -> int:
        with database_of(elsewhere) as database, database.session() as its:
            its.execute(text(f"create schema theirs; {written}"))
        return observe(session, *of)

    monkeypatch.setattr(restoring, "observe", meanwhile)
    done = restored(made.path, elsewhere, tmp_path / "data")
    assert done.aside is not None
    assert names_like(elsewhere, "elsewhere%") == ["elsewhere", done.aside]


def test_restoring_that_breaks_off_leaves_what_was_there(
    service: Service, tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database, database.session() as session:
        session.execute(text("update restoration set backup = 'the first'"))

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(restoring, "observe", interrupted)
        with pytest.raises(KeyboardInterrupt):
            restored(made.path, elsewhere, tmp_path / "data", given_up="elsewhere")
    assert names_like(elsewhere, "elsewhere%") == ["elsewhere"]
    with database_of(elsewhere) as database:
        assert one(database, "select backup from restoration") == "the first"


def test_what_takes_longer_than_a_request_may_is_restored_all_the_same(
    service: Service, tmp_path: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = backed_up(service, tmp_path / "backups")
    rows, observe = restoring.table_rows, restoring.observe
    monkeypatch.setattr("app.store.session.STATEMENT_TIMEOUT_MS", 400)

    def counted_slowly(connection: Connection) -> dict[str, int]:
        connection.execute(text("select pg_sleep(0.6)"))
        return rows(connection)

    def observed_slowly(session: Session, *of: Any) -> int:
        session.execute(text("select pg_sleep(0.6)"))
        return observe(session, *of)

    monkeypatch.setattr(restoring, "table_rows", counted_slowly)
    monkeypatch.setattr(restoring, "observe", observed_slowly)
    assert restored(made.path, elsewhere, tmp_path / "data").ended == 0


def test_damaged_backup_touches_nothing(service: Service, tmp_path: Path, elsewhere: str) -> None:
    path = backed_up(service, tmp_path / "backups").path
    path.write_bytes(path.read_bytes().replace(b"PGDMP", b"PGDMQ", 1))
    with pytest.raises(DataError):
        restored(path, elsewhere, tmp_path / "data")
    assert names_like(elsewhere, "elsewhere%") == []
    assert not (tmp_path / "data").exists()


def test_grant_to_a_role_that_is_not_here_keeps_nothing_from_being_restored(
    service: Service, tmp_path: Path, elsewhere: str
) -> None:
    url = service.database.engine.url.set(username="postgres").render_as_string(hide_password=False)
    with database_of(url) as admin:
        with admin.session() as session:
            session.execute(text("create role of_that_server; grant select on result to of_that_server"))
        try:
            made = backed_up(service, tmp_path / "backups")
        finally:
            with admin.session() as session:
                session.execute(text("drop owned by of_that_server; drop role of_that_server"))
    assert restored(made.path, elsewhere, tmp_path / "data").has_reader
    with database_of(elsewhere) as database:
        for view in ("results", "alerts"):
            may = "select has_table_privilege('ratchet_reader', 'ratchet_views.' || :view, 'select')"
            assert one(database, may, view=view)
        assert one(database, "select has_schema_privilege('ratchet_reader', 'ratchet_views', 'usage')")


def test_backup_of_a_later_release_is_refused(service: Service, tmp_path: Path, elsewhere: str) -> None:
    path = backed_up(service, tmp_path / "backups").path
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = Manifest.from_json(parts["manifest.json"].decode())
    parts["manifest.json"] = replace(manifest, revision="9999", version="9.0").to_json().encode()
    with zipfile.ZipFile(tmp_path / "later", "w") as file:
        for name, content in parts.items():
            file.writestr(name, content)
    with pytest.raises(DataError, match=r"release that made it \(9.0\)"):
        restored(tmp_path / "later", elsewhere, tmp_path / "data")


def test_backup_of_an_older_schema_is_brought_to_this_one(
    service: Service, tmp_path: Path, database_url: str, elsewhere: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as old:
        migrate(old.engine, "-1")
        older = HeldService(service.settings, old)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("app.store.repositories.restorations.note_backup", lambda *_: None)
            its = backed_up(older, tmp_path / "old")
    assert its.manifest.revision != made.manifest.revision
    done = restored(its.path, elsewhere, tmp_path / "data", given_up="elsewhere")
    assert done.manifest.revision == its.manifest.revision
    with database_of(elsewhere) as database:
        assert one(database, "select version_num from alembic_version") == made.manifest.revision


def test_files_of_the_data_folder_come_back(service: Service, tmp_path: Path, elsewhere: str) -> None:
    data, digest = service.settings.data_dir, "c" * 64
    (data / "bundles").mkdir(parents=True)
    (data / "bundles" / digest).write_bytes(b"a bundle")
    (data / "admin-token").write_text("secret\n")
    made = backed_up(service, tmp_path / "backups")
    restored(made.path, elsewhere, tmp_path / "other")
    assert (tmp_path / "other" / "bundles" / digest).read_bytes() == b"a bundle"
    assert (tmp_path / "other" / "admin-token").read_text() == "secret\n"
    assert (tmp_path / "other" / "admin-token").stat().st_mode & 0o777 == 0o600
    with opened(made.path) as backup:
        assert backup.manifest.bytes > 0


def test_file_that_is_there_is_replaced_with_the_database_and_kept(
    service: Service, tmp_path: Path, elsewhere: str
) -> None:
    (service.settings.data_dir / "bundles").mkdir(parents=True)
    (service.settings.data_dir / "admin-token").write_text("of the backup\n")
    made = backed_up(service, tmp_path / "backups")
    data = tmp_path / "other"
    data.mkdir()
    (data / "admin-token").write_text("of the database that is there\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Server, "swap", in_use)
        with pytest.raises(ConflictError, match="in use"):
            restored(made.path, elsewhere, data)
    assert {path.name: path.read_text() for path in data.iterdir()} == {
        "admin-token": "of the database that is there\n"
    }
    for _ in range(2):
        restored(made.path, elsewhere, data, given_up="elsewhere")
    assert (data / "admin-token").read_text() == "of the backup\n"
    (kept,) = data.glob("admin-token.before_*")
    assert kept.read_text() == "of the database that is there\n"


def in_use(*_: object) -> None:
    raise ConflictError("the database is in use")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_that_root_restores_are_of_the_data_folders_owner(
    service: Service, tmp_path: Path, elsewhere: str
) -> None:
    (service.settings.data_dir / "bundles").mkdir(parents=True)
    (service.settings.data_dir / "bundles" / ("c" * 64)).write_bytes(b"a bundle")
    (service.settings.data_dir / "admin-token").write_text("secret\n")
    made = backed_up(service, tmp_path / "backups")
    other = tmp_path / "other"
    other.mkdir()
    os.chown(other, 4321, 4322)
    restored(made.path, elsewhere, other)
    for path in ("admin-token", "bundles", f"bundles/{'c' * 64}"):
        assert ((other / path).stat().st_uid, (other / path).stat().st_gid) == (4321, 4322), path


def test_name_that_leaves_no_room_for_those_beside_it_is_refused(
    service: Service, tmp_path: Path, database_url: str
) -> None:
    made = backed_up(service, tmp_path / "backups")
    with pytest.raises(UsageError, match="longer than 40 bytes"):
        restored(made.path, beside(database_url, "elsewhere" + "e" * 32), tmp_path / "data")
