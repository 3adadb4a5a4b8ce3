"""Who holds a device of this host, read from the kernel's list of locks and from command lines."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.local.agents import DEVICE_IN_USE, OtherAgent, agents_of_this_host
from workers.cli import TRY_LATER
from workers.host.locks import lock_path

HOLD = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()"


@pytest.fixture
def held(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds a device's lock, with an agent's options behind its own."""
    path = lock_path(tmp_path, "cpu", "agent")
    path.touch()
    options = ["--url", "http://127.0.0.1:8440", "--data-dir=/srv/a folder/worker"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path), *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def locks(folder: Path) -> dict[str, str]:
    return {"RATCHET_WORKER_LOCKS": str(folder)}


def test_holder_of_a_device_is_named_with_its_service_and_its_folder(
    held: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    found = agents_of_this_host(locks(tmp_path))
    assert found == [OtherAgent(held.pid, "/srv/a folder/worker", "http://127.0.0.1:8440")]
    assert str(found[0]) == (
        f"process {held.pid}, the agent of http://127.0.0.1:8440, with the data folder /srv/a folder/worker"
    )


def test_lock_that_nobody_holds_names_nobody(tmp_path: Path) -> None:
    lock_path(tmp_path, "cpu", "agent").touch()
    assert agents_of_this_host(locks(tmp_path)) == []


def test_lock_of_a_measurement_is_no_agent(tmp_path: Path, held: subprocess.Popen[bytes]) -> None:
    lock_path(tmp_path, "cpu", "agent").rename(lock_path(tmp_path, "cpu", "measuring"))
    assert agents_of_this_host(locks(tmp_path)) == []


def test_kernel_that_tells_no_locks_names_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.local.agents._LOCKS", tmp_path / "no such file")
    assert agents_of_this_host(locks(tmp_path)) == []


def test_status_of_an_agent_without_its_device_is_the_agents_own() -> None:
    assert DEVICE_IN_USE == TRY_LATER
