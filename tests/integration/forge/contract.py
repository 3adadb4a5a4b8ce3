"""GitHub's own description of its API as a server that refuses what breaks it; started once a test process."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

INSTALL_S, START_S = 300, 60


def _server() -> list[str]:
    folder = os.environ.get("RATCHET_GITHUB_CONTRACT", "")
    if not (Path(folder) / "contract_server.mjs").is_file():
        pytest.skip("RATCHET_GITHUB_CONTRACT names no folder with contract_server.mjs")
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip("node or npm is not installed")
    return [node, str(Path(folder) / "contract_server.mjs")]


@pytest.fixture(scope="session")
def contract_home() -> Path:
    """The folder with GitHub's description and its recorded messages, installed by whoever is first."""
    command = _server()
    with (Path(tempfile.gettempdir()) / "ratchet-github-contract.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(
            [*command, "--install-only"], capture_output=True, text=True, timeout=INSTALL_S, check=False
        )
    if done.returncode != 0:
        pytest.skip(f"GitHub's description could not be installed: {done.stderr[-300:]}")
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def contract_url(contract_home: Path) -> Iterator[str]:
    """The address of the validating server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [*_server(), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("READY "), ready
        yield ready.split()[1]
    finally:
        process.terminate()
        process.wait(timeout=START_S)
        if process.stdout is not None:
            process.stdout.close()
