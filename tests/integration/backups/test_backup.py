"""A backup is whole, of one moment, and nobody else's to read; the service goes on while it is made."""

from __future__ import annotations

import errno
import fcntl
import io
import json
import os
import stat
import threading
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.domain.errors import DataError, UnavailableError, UsageError
from app.embedded import clients
from app.services.backups.archive import new_backup, opened
from app.services.backups.daily import back_up_if_due, due_at
from app.store.repositories import restorations
from app.wiring import Service
from tests.factories.backups import backed_up, database_of, quiet, restored
from tests.factories.browser import browser
from tests.factories.posted_results import post_results, posted_document

pytestmark = pytest.mark.postgres

BUNDLE = "b" * 64


def results(database: object) -> int:
    with database.session() as session:  # type: ignore[attr-defined]
        return int(session.scalar(text("select count(*) from result")))


def test_backup_is_a_file_of_its_owner_alone_with_what_it_says(service: Service, tmp_path: Path) -> None:
    data = service.settings.data_dir
    (data / "bundles").mkdir(parents=True)
    (data / "bundles" / BUNDLE).write_bytes(b"a bundle")
    (data / "bundles" / "incoming-half").write_bytes(b"half")
    (data / "admin-token").write_text("secret\n")
    made = backed_up(service, tmp_path / "backups")
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
    assert [path.name for path in made.path.parent.iterdir()] == [made.path.name], (
        "nothing else is left there"
    )
    with opened(made.path) as backup:
        backup.check(quiet)
        assert backup.manifest == made.manifest
        assert sorted(backup.files()) == ["admin-token", f"bundles/{BUNDLE}"]
    with service.database.session() as session:
        age = restorations.last_backup_s_ago(session)
    assert age is not None
    assert 0 <= age < 60


def test_backup_holds_one_moment_while_results_are_posted(
    service: Service, client: TestClient, admin_token: str, tmp_path: Path, elsewhere: str
) -> None:
    stop, posted = threading.Event(), threading.Semaphore(0)

    def post() -> None:
        n = 0
        while not stop.is_set():
            post_results(client, admin_token, posted_document(commit=f"{n:040x}"))
            n += 1
            posted.release()

    poster = threading.Thread(target=post)
    poster.start()
    try:
        for _ in range(3):
            assert posted.acquire(timeout=20)
        made = backed_up(service, tmp_path)
        for _ in range(3):
            assert posted.acquire(timeout=20), "posts go on"
    finally:
        stop.set()
        poster.join()
    restored(made.path, elsewhere, tmp_path / "data")
    with database_of(elsewhere) as database:
        assert results(database) == made.manifest.rows["result"] > 0
    assert results(service.database) > made.manifest.rows["result"]


def test_only_the_newest_backups_stay_and_other_files_do(service: Service, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    for day in (1, 2, 3):
        (folder / f"ratchet-2026010{day}T000000Z.ratchet-backup").touch()
    (folder / "notes.txt").touch()
    made = backed_up(service, folder, keep=2)
    assert {path.name for path in folder.iterdir()} == {
        "notes.txt",
        "ratchet-20260103T000000Z.ratchet-backup",
        made.path.name,
    }
    assert len(made.removed) == 2


def test_file_that_is_there_is_not_written_over(service: Service, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    with pytest.raises(UsageError, match="there already"):
        backed_up_into(service, mine)
    assert mine.read_text() == "mine"

    nowhere = tmp_path / "nowhere"
    nowhere.symlink_to("gone")
    with pytest.raises(UsageError, match="there already"):
        backed_up_into(service, nowhere)
    assert nowhere.is_symlink()


def backed_up_into(service: Service, path: Path) -> None:
    from app.services.backups.back_up import back_up

    back_up(service.database, service.settings.data_dir, path, quiet)


def test_backup_that_breaks_off_leaves_nothing(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_what: str, done_b: int) -> None:
        if done_b:
            raise KeyboardInterrupt

    from app.services.backups.back_up import back_up

    with pytest.raises(KeyboardInterrupt):
        back_up(service.database, service.settings.data_dir, tmp_path, interrupted)
    assert list(tmp_path.glob("*ratchet-backup*")) == []
    with service.database.session() as session:
        assert restorations.last_backup_s_ago(session) is None


def test_what_a_killed_backup_left_goes_and_what_is_written_stays(service: Service, tmp_path: Path) -> None:
    left, written = (
        tmp_path / f".ratchet-2026010{day}T000000Z.ratchet-backup.{os.getpid()}.part" for day in (1, 2)
    )
    for path in (left, written):
        path.touch()
        os.utime(path, (0, 0))
    with written.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        made = backed_up(service, tmp_path)
    assert {path.name for path in tmp_path.glob("*ratchet-*")} == {written.name, made.path.name}


def test_part_that_is_written_is_held(service: Service, tmp_path: Path) -> None:
    with new_backup(tmp_path / "ratchet-1.ratchet-backup", quiet):
        (part,) = tmp_path.glob(".*.part")
        with part.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_without_programs_of_the_servers_version_it_says_what_to_install(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "postgres_of_wheel", lambda: iter(()))
    monkeypatch.setattr(clients, "DEBIAN", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError, match=r"no pg_dump and pg_restore of PostgreSQL \d+ or later found"):
        backed_up(service, tmp_path / "backups")


@pytest.mark.parametrize("harm", ["cut", "changed", "more", "none"])
def test_backup_that_was_damaged_is_refused(service: Service, tmp_path: Path, harm: str) -> None:
    path = backed_up(service, tmp_path / "backups").path
    whole = path.read_bytes()
    if harm == "cut":
        path.write_bytes(whole[: len(whole) // 2])
    elif harm == "changed":
        path.write_bytes(whole.replace(b"PGDMP", b"PGDMQ", 1))
    elif harm == "more":
        with zipfile.ZipFile(path, "a") as file:
            file.writestr("data/../../evil", "x")
    else:
        path.write_bytes(b"nothing of the kind")
    with pytest.raises(DataError), opened(path) as backup:
        backup.check(quiet)


def test_manifest_cannot_have_files_written_elsewhere(service: Service, tmp_path: Path) -> None:
    path = backed_up(service, tmp_path / "backups").path
    with zipfile.ZipFile(path) as file:
        manifest = json.loads(file.read("manifest.json"))
    manifest["parts"].append({"name": "data/../../evil", "bytes": 0, "sha256": ""})
    with zipfile.ZipFile(tmp_path / "evil", "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
    with opened(tmp_path / "evil") as backup, pytest.raises(DataError, match="no file of a data folder"):
        backup.files()


def test_days_backup_is_made_once_and_made_up_for(service: Service, tmp_path: Path) -> None:
    settings = service.settings
    assert back_up_if_due(service.database, settings) is None, "nobody asked for any"
    settings.backup_dir = str(tmp_path)
    first = back_up_if_due(service.database, settings)
    assert first is not None
    assert back_up_if_due(service.database, settings) is None
    with service.database.session() as session:
        restorations.note_backup(session, datetime.now(UTC) - timedelta(days=1, minutes=1))
    first.path.unlink()
    assert back_up_if_due(service.database, settings) is not None


def test_days_backup_that_fails_is_told_and_tried_again_in_an_hour(
    service: Service, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    service.settings.backup_dir = str(tmp_path / "not there" / "at all")
    assert back_up_if_due(service.database, service.settings) is None
    assert "the day's backup was not made" in caplog.text
    service.settings.backup_dir = str(tmp_path)
    assert back_up_if_due(service.database, service.settings) is None, (
        "the disk is not filled every five minutes"
    )
    with service.database.session() as session:
        session.execute(text("update watermark set at = at - interval '61 min' where name = 'backup_failed'"))
    assert back_up_if_due(service.database, service.settings) is not None


def test_source_that_cannot_be_read_is_named(service: Service, tmp_path: Path) -> None:
    data = service.settings.data_dir
    data.mkdir(exist_ok=True)
    (data / "admin-token").symlink_to("admin-token")
    with pytest.raises(UnavailableError, match=r"/admin-token cannot be read"):
        backed_up(service, tmp_path / "backups")


def test_source_that_breaks_while_it_is_read_is_named(tmp_path: Path) -> None:
    named = pytest.raises(UnavailableError, match="data/bundles/b cannot be read: Input/output error")
    with named, new_backup(tmp_path / "mine", quiet) as backup:
        backup.add("data/bundles/b", Unreadable())


class Unreadable(io.BytesIO):
    """A file on a disk that is broken."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_backup_is_due_at_its_time_of_the_day() -> None:
    noon = datetime(2026, 5, 2, 12, tzinfo=UTC)
    assert due_at(noon, "01:30") == datetime(2026, 5, 2, 1, 30, tzinfo=UTC)
    assert due_at(noon, "13:00") == datetime(2026, 5, 1, 13, tzinfo=UTC)


def test_health_page_warns_where_the_days_backup_is_late(
    service: Service, admin_token: str, tmp_path: Path
) -> None:
    reader = browser(service, admin_token)
    assert "none was ever made" in reader.get("/health").text
    assert "ratchet backup" not in reader.get("/health").text
    service.settings.backup_dir = str(tmp_path)
    assert "ratchet backup" in reader.get("/health").text
    backed_up(service, tmp_path)
    assert "ratchet backup" not in reader.get("/health").text
