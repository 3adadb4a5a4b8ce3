"""A machine is lost: what was backed up while it worked is restored on an empty one, by the documented commands."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import RATCHET, simulated, start_up, stop
from tests.acceptance.test_faults import LongCheck, first_check, processes_that_name
from tests.factories.posted_results import posted_document
from tests.factories.repository import ToyRepository
from tests.factories.waiting import wait_for

pytestmark = [pytest.mark.postgres, pytest.mark.redis]


def ratchet(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that knows nothing but the data folder."""
    names = ("RATCHET_URL", "RATCHET_TOKEN", "RATCHET_DATABASE_URL")
    env = {name: value for name, value in os.environ.items() if name not in names}
    env["RATCHET_DATA_DIR"] = str(data)
    return subprocess.run(
        [*RATCHET, *arguments], env=env, capture_output=True, text=True, timeout=120, check=False
    )


def post(url: str, data: Path, commit: str) -> int:
    headers = {"Authorization": f"Bearer {(data / 'admin-token').read_text().strip()}"}
    document = posted_document(commit=commit)
    return httpx.post(f"{url}/api/v1/results", json=document, headers=headers, timeout=20).status_code


def test_backup_that_was_made_at_work_is_restored_on_an_empty_folder_and_goes_on(
    folder: Path, toy: ToyRepository
) -> None:
    lost, new, backups = folder / "lost", folder / "new", folder / "backups"
    backups.mkdir()
    its = start_up(lost, env=simulated(folder, "lost"))
    assert post(its.url, lost, "1" * 40) == 201
    check = LongCheck(its, toy, is_slower=False)
    made = ratchet(lost, "backup", "--to", str(backups))
    assert made.returncode == 0, made.stderr
    assert post(its.url, lost, "2" * 40) == 201
    refused = ratchet(lost, "restore", made.stdout.strip())
    assert (refused.returncode, "a service runs on" in refused.stderr) == (70, True)
    its.kill("app.cli")
    its.process.communicate(timeout=30)
    check.process.kill()
    check.process.communicate()
    wait_for(lambda: not processes_that_name(str(lost)), seconds=20)

    assert ratchet(new, "verify", made.stdout.strip()).returncode == 0
    done = ratchet(new, "restore", made.stdout.strip())
    assert done.returncode == 0, done.stderr
    assert "1 lease that stood then has ended" in done.stdout
    again = start_up(new, env=simulated(folder, "new"))
    try:
        token = (new / "admin-token").read_text().strip()
        assert token == (lost / "admin-token").read_text().strip(), "who could come in still can"
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=again.url, headers=headers, timeout=10) as client:
            posted = client.get("/api/v1/runs").text
            assert "1" * 40 in posted
            assert "2" * 40 not in posted, "it came after the backup"
            assert "Restored, and observing." in client.get("/").text
        assert first_check(again)["state"] != "complete"
        undecided = ratchet(new, "resume")
        assert (undecided.returncode, "--queued run" in undecided.stderr) == (64, True)
        assert ratchet(new, "resume", "--queued", "run").returncode == 0
        wait_for(lambda: first_check(again)["state"] in ("running", "complete"), seconds=120)
        assert ratchet(new, "verify").returncode == 0
    finally:
        stop(again)
