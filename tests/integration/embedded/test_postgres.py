"""The embedded PostgreSQL: what is in a new cluster, and which folders are refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.pool import NullPool

from app.domain.errors import ConflictError, UnavailableError
from app.embedded import EmbeddedPostgres
from app.embedded.binaries import find_postgres

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedPostgres]:
    folder = Path(tempfile.mkdtemp(prefix="ratchet-test-"))
    folder.chmod(0o755)
    with EmbeddedPostgres(folder / "postgres", fast_and_unsafe=True) as running:
        yield running
    shutil.rmtree(folder)


def value(url: str, statement: str) -> object:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return connection.execute(text(statement)).scalar_one()


def command(url: str, statement: str) -> None:
    engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT current_user || ' in ' || current_database()", "ratchet in ratchet"),
        ("SELECT rolsuper FROM pg_roles WHERE rolname = current_user", False),
        ("SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'ratchet'", "UTF8"),
        ("SELECT datcollate FROM pg_database WHERE datname = 'ratchet'", "C"),
        ("SHOW listen_addresses", ""),
        ("SHOW timezone", "UTC"),
        ("SHOW fsync", "off"),
    ],
)
def test_new_cluster_is_as_promised(server: EmbeddedPostgres, statement: str, wanted: object) -> None:
    assert value(server.url(), statement) == wanted


def test_writes_are_safe_unless_asked_otherwise(server: EmbeddedPostgres) -> None:
    server.stop()
    with EmbeddedPostgres(server.data_dir) as safe:
        assert [value(safe.url(), f"SHOW {name}") for name in ("fsync", "full_page_writes")] == ["on", "on"]
    server.start()


def test_role_can_make_databases_whatever_their_names(server: EmbeddedPostgres) -> None:
    name = "it's 100% a/b?c=d"
    command(server.url(), f'CREATE DATABASE "{name}"')
    assert value(server.url(name), "SELECT current_database()") == name
    command(server.url(), f'DROP DATABASE "{name}"')


def test_port_of_the_environment_misleads_nobody(
    server: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "6543")
    server.stop()
    server.start()
    assert value(server.url(), "SELECT 1") == 1


def test_dropped_database_is_made_again(server: EmbeddedPostgres) -> None:
    command(server.url("postgres"), "DROP DATABASE ratchet")
    server.stop()
    server.start()
    assert value(server.url(), "SELECT current_database()") == "ratchet"


def test_first_start_that_was_interrupted_is_begun_again(server: EmbeddedPostgres) -> None:
    data_dir = server.data_dir.with_name("interrupted")
    (data_dir / "data.new").mkdir(parents=True)
    (data_dir / "data.new" / "PG_VERSION").write_text("half")
    with EmbeddedPostgres(data_dir, fast_and_unsafe=True) as second:
        assert value(second.url(), "SELECT 1") == 1
        assert not (data_dir / "data.new").exists()


def test_note_of_a_dead_server_that_points_at_a_stranger_is_no_hindrance(server: EmbeddedPostgres) -> None:
    server.stop()
    user = server.account.uid if os.geteuid() == 0 else None
    with subprocess.Popen(["sleep", "600"], user=user) as stranger:
        for content in (f"{stranger.pid}\n{server.data}\n", "", "not a number\n"):
            (server.data / "postmaster.pid").write_text(content)
            server.start()
            assert value(server.url(), "SELECT 1") == 1
            server.stop()
        stranger.kill()
    server.start()


def test_server_that_somebody_else_started_here_is_respected(server: EmbeddedPostgres) -> None:
    server.stop()
    note = server.data / "postmaster.pid"
    with subprocess.Popen(["sleep", "600"], cwd=server.data) as theirs:
        note.write_text(f"{theirs.pid}\n{server.data}\n")
        with pytest.raises(ConflictError, match=f"process {theirs.pid}"):
            server.start()
        theirs.kill()
    server.start()


def test_folder_with_other_files_is_refused_and_left_alone(server: EmbeddedPostgres) -> None:
    data_dir = server.data_dir.with_name("other")
    (data_dir / "data").mkdir(parents=True)
    (data_dir / "data" / "thesis.txt").write_text("precious")
    with pytest.raises(ConflictError, match="other/data holds files that are no PostgreSQL cluster"):
        EmbeddedPostgres(data_dir).start()
    assert (data_dir / "data" / "thesis.txt").read_text() == "precious"


def test_file_in_the_place_of_the_folder_is_named(server: EmbeddedPostgres) -> None:
    file = server.data_dir.with_name("file")
    file.write_text("")
    with pytest.raises(UnavailableError, match=f"cannot start PostgreSQL in {file}"):
        EmbeddedPostgres(file).start()


def test_cluster_of_a_version_that_is_not_installed_says_which() -> None:
    with pytest.raises(UnavailableError, match=r"PostgreSQL 9, which wrote .* \(there is \d+"):
        find_postgres(9)
