"""Processes are killed, Redis is emptied, people press Ctrl-C: nothing is lost, nothing is doubled, nothing stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import RATCHET, Running, locks, simulated, start_up, stop
from tests.acceptance.test_check_command import library
from tests.factories.repository import ToyRepository
from tests.factories.waiting import wait_for

pytestmark = [pytest.mark.postgres, pytest.mark.redis]


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Iterator[Running]:
    """A service of the test's own, to be broken."""
    its = start_up(folder / f"own {time.monotonic_ns()}", env=simulated(folder, "own"))
    yield its
    stop(its)


@pytest.fixture(scope="module")
def struck(folder: Path) -> Iterator[Running]:
    """A service that is struck by one test after the other, and goes on each time."""
    its = start_up(folder / "struck", env=simulated(folder, "struck"))
    yield its
    stop(its)


class LongCheck:
    """A `ratchet check`, measured long enough to break something meanwhile; one that is as quick takes longest."""

    def __init__(self, running: Running, toy: ToyRepository, *, is_slower: bool = True) -> None:
        base, head = (
            toy.commit("base", library(3_000)),
            toy.commit("head", library(30_000 if is_slower else 3_001)),
        )
        command = [*RATCHET, "check", "--repo", str(toy.path), "--base", base, "--head", head, "--json"]
        self._running = running
        self.process = subprocess.Popen(
            command, env=running.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        wait_for(lambda: "measuring" in self.phases())

    def phases(self) -> list[str]:
        """What its jobs are doing now."""
        with httpx.Client(base_url=self._running.url, timeout=10) as client:
            checks = client.get("/api/v1/checks").json()["checks"]
            if not checks:
                return []
            progress = client.get(f"/api/v1/checks/{checks[0]['check']}/progress").json()
        return [job["phase"] for job in progress["jobs"]]

    def end(self) -> tuple[int, str, str]:
        """Wait for it; return status, output and errors."""
        out, err = self.process.communicate(timeout=200)
        return self.process.returncode, out, err


def empty_redis(running: Running) -> None:
    import redis

    socket = redis_socket(running)
    client = redis.Redis(unix_socket_path=socket)
    client.flushall()
    client.close()


def redis_socket(running: Running) -> str:
    (pid,) = running.pids("redis-server")
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    if "--unixsocket" in command:
        return command[command.index("--unixsocket") + 1]
    return next(
        word.removeprefix("unixsocket:") for word in " ".join(command).split() if "unixsocket:" in word
    )


def kill(needle: str) -> Callable[[Running], None]:
    def strike(running: Running) -> None:
        running.kill(needle)

    return strike


@pytest.mark.parametrize(
    "strike",
    [kill("workers.cli"), kill("app.cli api"), kill("app.cli tasks"), empty_redis],
    ids=["worker killed", "api killed", "tasks killed", "redis emptied"],
)
def test_check_ends_with_its_verdict_whatever_is_struck(
    struck: Running, toy: ToyRepository, strike: Callable[[Running], None]
) -> None:
    check = LongCheck(struck, toy)
    strike(struck)
    status, out, err = check.end()
    assert status == 1, err
    assert json.loads(out)["conclusion"] == "regressed"


def test_kill_of_everything_leaves_no_process_and_a_restart_has_the_state(
    own: Running, toy: ToyRepository
) -> None:
    check = LongCheck(own, toy)
    own.kill("app.cli")
    own.process.wait(timeout=30)
    check.process.kill()
    check.process.communicate()
    data = str(own.data)
    wait_for(lambda: not processes_that_name(data), seconds=20)
    again = start_up(own.data, env=simulated(own.data, "again"))
    try:
        token = (own.data / "admin-token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        checks = httpx.get(f"{again.url}/api/v1/checks", headers=headers).json()["checks"]
        assert len(checks) == 1
        wait_for(lambda: first_check(again)["state"] == "complete", seconds=120)
        assert first_check(again)["conclusion"] == "regressed"
    finally:
        stop(again)


def first_check(running: Running) -> dict[str, str]:
    found: dict[str, str] = httpx.get(f"{running.url}/api/v1/checks").json()["checks"][0]
    return found


def processes_that_name(text: str) -> list[str]:
    """Command lines of processes that name the folder."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if text in words:
                found.append(words)
    return found


def test_ctrl_c_cancels_the_check_and_frees_the_device(struck: Running, toy: ToyRepository) -> None:
    check = LongCheck(struck, toy)
    check.process.send_signal(signal.SIGINT)
    status, _, _ = check.end()
    assert status == 130
    wait_for(lambda: first_check(struck)["state"] == "complete")
    assert first_check(struck)["conclusion"] == "not_measured"


def test_second_up_on_the_same_folder_says_where_the_first_runs(running: Running) -> None:
    done = subprocess.run(
        [*RATCHET, "up", "--data-dir", str(running.data)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert running.url in done.stdout


def test_taken_port_is_named_with_the_way_out(running: Running, tmp_path: Path) -> None:
    port = running.url.rsplit(":", 1)[1]
    done = subprocess.run(
        [*RATCHET, "up", "--data-dir", str(tmp_path), "--port", port],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64
    assert f"127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


def test_second_agent_on_the_same_device_ends_and_says_why(running: Running, tmp_path: Path) -> None:
    command = [RATCHET[0], "-P", "-m", "workers.cli", "--url", running.url, "--name", "twin"]
    command += ["--token-file", str(running.data / "worker-token"), "--data-dir", str(tmp_path)]
    env = os.environ | locks(running.data)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 75
    assert "cpu" in done.stderr


def test_wrong_token_is_refused_in_words(running: Running, toy: ToyRepository) -> None:
    toy.commit("only", library(10))
    command = [*RATCHET, "check", "--repo", str(toy.path), "--base", "main", "--head", "main"]
    env = running.env() | {"RATCHET_TOKEN": "ratchet_nobody_00"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 64
    assert "token is not valid" in done.stderr


def test_address_of_something_else_is_refused_in_words(running: Running, toy: ToyRepository) -> None:
    toy.commit("only", library(10))
    command = [*RATCHET, "check", "--repo", str(toy.path), "--base", "main", "--head", "main"]
    env = running.env() | {"RATCHET_URL": f"{running.url}/elsewhere"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 64
    assert f"{running.url}/elsewhere/api/v1/" in done.stderr
    assert "does RATCHET_URL name one?" in done.stderr


def test_check_starts_a_service_for_the_call_where_none_runs(folder: Path, toy: ToyRepository) -> None:
    base, head = toy.commit("base", library(3_000)), toy.commit("head", library(30_000))
    data = folder / "for the call"
    env = {name: value for name, value in os.environ.items() if name not in ("RATCHET_URL", "RATCHET_TOKEN")}
    command = [*RATCHET, "check", "--repo", str(toy.path), "--base", base, "--head", head, "--json"]
    done = subprocess.run(
        command,
        env=env | simulated(folder, "call") | {"RATCHET_DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["conclusion"], found["page"]) == ("regressed", None)
    assert processes_that_name(str(data)) == []
