"""The real service as a user starts it: `ratchet up`, once for all acceptance tests of this process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.factories.repository import ToyRepository

RATCHET = [sys.executable, "-P", "-m", "app.cli"]

QUICK = {
    "RATCHET_HEARTBEAT_S": "0.5",
    "RATCHET_LEASE_TTL_S": "4",
    "RATCHET_SELF_FENCE_S": "3",
    "RATCHET_REASSIGN_GRACE_S": "0.5",
    "RATCHET_SWEEP_INTERVAL_S": "1",
    "RATCHET_RELAY_INTERVAL_S": "1",
    "RATCHET_HINT_AGE_S": "1",
}
"""Time constants in seconds instead of minutes."""

NOT_ALONE = {"RATCHET_WORKER_FOREIGN_CPU": "1000", "RATCHET_WORKER_STEAL": "1"}
"""Other tests run beside these, and other machines beside this one: that alone makes nothing void."""


@dataclass
class Running:
    """A `ratchet up` that is ready."""

    url: str
    data: Path
    process: subprocess.Popen[str]

    def env(self) -> dict[str, str]:
        """The environment of its clients."""
        token = (self.data / "admin-token").read_text().strip()
        return os.environ | {"RATCHET_URL": self.url, "RATCHET_TOKEN": token}

    def pids(self, needle: str) -> list[int]:
        """Processes of this service whose command line contains `needle`, keepers excluded."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                words = _command_line(folder)
                if needle in words and "keeper.py" not in words and self._ours(int(folder.name)):
                    found.append(int(folder.name))
        return found

    def kill(self, needle: str) -> None:
        """Kill -9 what `pids` finds; there must be something."""
        pids = self.pids(needle)
        assert pids, f"no process {needle!r}"
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def _ours(self, pid: int) -> bool:
        while pid > 1:
            if pid == self.process.pid:
                return True
            try:
                pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            except (OSError, IndexError):
                return False
        return False


def _command_line(folder: Path) -> str:
    try:
        return (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def start_up(data: Path, *options: str, env: dict[str, str] | None = None) -> Running:
    """Start `ratchet up` on a free port and wait until it says that it is ready."""
    process = subprocess.Popen(
        [*RATCHET, "up", "--data-dir", str(data), "--port", "0", *options],
        env=os.environ | QUICK | NOT_ALONE | locks(data) | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if line.startswith("ready "):
            return Running(line.split()[1], data, process)
    raise AssertionError(f"`ratchet up` ended with {process.wait()}:\n{''.join(said)}")


def stop(running: Running) -> None:
    """Stop it as Ctrl-C does, and wait."""
    running.process.send_signal(signal.SIGTERM)
    running.process.communicate(timeout=60)


def locks(data: Path) -> dict[str, str]:
    """The environment that keeps an agent's locks apart from those of whoever else measures on this machine."""
    return {"RATCHET_WORKER_LOCKS": str(data.with_name(f"{data.name} locks"))}


def simulated(folder: Path, name: str) -> dict[str, str]:
    """The environment of a stack whose agent has one simulated device of its own."""
    script = folder / f"{name}.json"
    device = {"class": "cpu-simulated", "hardware_id": f"{name}-{time.monotonic_ns()}", "noise_sd": 0.01}
    script.write_text(json.dumps([device]))
    return {"RATCHET_WORKER_KIND": "simulated", "RATCHET_SIMULATED": str(script)}


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """A folder whose path has a space and that every user can enter."""
    path = Path(tempfile.mkdtemp(prefix="ratchet acceptance ", dir="/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Running]:
    """The service that the tests of a module share."""
    its = start_up(folder / "data")
    yield its
    stop(its)


@dataclass
class Checked:
    """How a `ratchet check` ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    def verdicts(self, metric: str = "latency_p50") -> dict[str, str]:
        """Benchmark -> verdict of one metric."""
        cases = [case for suite in self.document["suites"] for case in suite["cases"]]
        return {case["benchmark"]: case["verdict"] for case in cases if case["metric"] == metric}


Check = Callable[..., Checked]


@pytest.fixture
def check(running: Running) -> Check:
    """Run `ratchet check` against the shared service."""

    def run(repository: Path, base: str, head: str, *options: str) -> Checked:
        command = [*RATCHET, "check", "--repo", str(repository), "--base", base, "--head", head, *options]
        done = subprocess.run(
            command, env=running.env(), capture_output=True, text=True, timeout=240, check=False
        )
        return Checked(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def toy(tmp_path: Path) -> ToyRepository:
    """An empty repository in a path with a space."""
    return ToyRepository(tmp_path / "a toy")
