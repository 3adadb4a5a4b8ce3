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

INSTALL_S, START_S = 150, 60

_R = "/repos/{owner}/{repo}"
PATHS = (
    "/app-manifests/{code}/conversions",
    "/app",
    "/app/hook/config",
    "/app/hook/deliveries",
    "/app/hook/deliveries/{delivery_id}/attempts",
    "/app/installations",
    "/app/installations/{installation_id}/access_tokens",
    "/user",
    _R,
    f"{_R}/check-runs",
    f"{_R}/check-runs/{{check_run_id}}",
    f"{_R}/collaborators/{{username}}/permission",
    f"{_R}/commits/{{commit_sha}}/pulls",
    f"{_R}/commits/{{ref}}/check-runs",
    f"{_R}/issues",
    f"{_R}/issues/{{issue_number}}",
    f"{_R}/issues/{{issue_number}}/comments",
    f"{_R}/issues/comments/{{comment_id}}",
    f"{_R}/pulls",
    f"{_R}/pulls/{{pull_number}}",
    f"{_R}/statuses/{{sha}}",
)
"""All that we call."""


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
        try:
            done = subprocess.run(
                [*command, "--install-only"], capture_output=True, text=True, timeout=INSTALL_S, check=True
            )
        except subprocess.SubprocessError as error:
            pytest.skip(f"GitHub's description could not be installed: {error}")
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def contract_url(contract_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the validating server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    paths = tmp_path_factory.mktemp("contract") / "paths"
    paths.write_text("\n".join(PATHS))
    command = [*_server(), "--port", str(port), "--paths", str(paths)]
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
