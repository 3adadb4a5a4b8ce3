"""What whoever runs the service does with it: tokens, a second service on the host, a start right after a fall."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import RATCHET, Running, locks, simulated, start_up, stop
from tests.factories.waiting import wait_for
from workers.host.locks import lock_path

pytestmark = [pytest.mark.postgres, pytest.mark.redis]


def ratchet(running: Running, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that knows nothing of the service but its data folder."""
    names = ("RATCHET_URL", "RATCHET_TOKEN", "RATCHET_DATABASE_URL")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env["RATCHET_DATA_DIR"] = str(running.data)
    return subprocess.run(
        [*RATCHET, *arguments], env=env, capture_output=True, text=True, timeout=60, check=False
    )


def status_with(running: Running, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{running.url}/api/v1/checks", headers=headers, timeout=10).status_code


def test_token_that_is_revoked_is_refused_by_the_running_service_at_once(running: Running) -> None:
    token = ratchet(running, "token", "ci", "--scope", "results:read").stdout.strip()
    assert status_with(running, token) == 200
    listed = ratchet(running, "token", "list").stdout
    public_id, secret = token.split("_")[1:]
    assert public_id in listed
    assert secret not in listed
    assert ratchet(running, "token", "revoke", public_id).returncode == 0
    assert status_with(running, token) == 401
    assert public_id not in ratchet(running, "token", "list").stdout


def test_second_service_that_wants_the_same_device_is_told_who_has_it(running: Running, folder: Path) -> None:
    done = subprocess.run(
        [*RATCHET, "up", "--data-dir", str(folder / "second"), "--port", "0"],
        env=os.environ | locks(running.data),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (agent,) = running.pids("workers.cli")
    assert done.returncode == 70
    assert f"process {agent}, the agent of {running.url}" in done.stderr
    assert f"with the data folder {running.data / 'worker'}" in done.stderr
    assert f"RATCHET_URL={running.url}" in done.stderr
    assert "--worker none" in done.stderr
    assert status_with(running, (running.data / "admin-token").read_text().strip()) == 200


HOLD = "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()"


def test_start_waits_for_an_agent_of_the_same_folder_that_still_goes_down(folder: Path) -> None:
    """As after `kill -9` of `ratchet up`, while the keeper still gives the agent time to end."""
    data = folder / "slow to go"
    env = simulated(folder, data.name)
    (device,) = json.loads(Path(env["RATCHET_SIMULATED"]).read_text())
    lock = lock_path(Path(locks(data)["RATCHET_WORKER_LOCKS"]), device["hardware_id"], "agent")
    lock.parent.mkdir()
    lock.touch()
    command = [sys.executable, "-c", HOLD, str(lock), "--data-dir", str(data / "worker")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as predecessor:
        assert predecessor.stdout is not None
        predecessor.stdout.readline()
        refused = threading.Thread(target=end_after_a_refusal, args=(predecessor, data))
        refused.start()
        its = start_up(data, env=env)
        refused.join()
    assert its.pids("workers.cli")
    stop(its)


def end_after_a_refusal(predecessor: subprocess.Popen[bytes], data: Path) -> None:
    log = data / "logs" / "worker.log"
    wait_for(lambda: log.exists() and "belongs to another agent" in log.read_text())
    predecessor.kill()


def test_clock_of_the_service_has_old_uploads_removed(folder: Path) -> None:
    bundles = folder / "pruned" / "bundles"
    bundles.mkdir(parents=True)
    old, young = bundles / ("a" * 64), bundles / ("b" * 64)
    for path in (old, young):
        path.touch()
    os.utime(old, (0, 0))
    its = start_up(folder / "pruned", "--worker", "none", env={"RATCHET_PRUNE_INTERVAL_S": "0.5"})
    try:
        wait_for(lambda: not old.exists())
        assert young.exists()
    finally:
        stop(its)
