"""Conbench's server as its own container starts it, on a database beside ours, and what is asked of it over HTTP.

It runs with the gunicorn settings that it brings: one process of ten threads. Its tables are made by its own start,
from its models. What it would ask GitHub of a commit is stored before the first result names it, so that it asks
nothing; no post has to wait for that, as one would in truth.
"""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg

from app.embedded.postgres import ROLE, EmbeddedPostgres
from benchmarks.figure import SkippedError
from benchmarks.peer.installation import site_packages
from benchmarks.reads import sha
from benchmarks.stack import descendants, resident_mib

DATABASE = "conbench"
REPOSITORY = "https://github.com/bench/peer"
KEY = "benchmark"
START_S = 60

MACHINE = {
    **dict.fromkeys(("architecture_name", "kernel_name", "os_name", "os_version", "cpu_model_name"), "bench"),
    **dict.fromkeys(("cpu_l1d_cache_bytes", "cpu_l1i_cache_bytes", "cpu_l2_cache_bytes"), 65536),
    **dict.fromkeys(("cpu_l3_cache_bytes", "cpu_frequency_max_hz", "memory_bytes"), 1 << 30),
    **dict.fromkeys(("cpu_core_count", "cpu_thread_count"), 2),
    "gpu_count": 0,
    "gpu_product_names": [],
}
"""What it wants to know of a machine; only the name differs."""


@dataclass(frozen=True)
class Conbench:
    """One that is ready: signed in at `client`, with a connection to its database."""

    client: httpx.Client
    database: psycopg.Connection
    pid: int

    def post(self, result: dict[str, Any]) -> str:
        """Post one result and return its id."""
        answer = self.client.post("/benchmarks/", json=result)
        answer.raise_for_status()
        return str(answer.json()["id"])

    def history(self, result_id: str) -> list[dict[str, Any]]:
        """Return the history that a result is in."""
        return self._get(f"/history/{result_id}/")

    def compared(self, base: str, head: str) -> list[dict[str, Any]]:
        """Return the pairs of two runs."""
        return self._get(f"/compare/runs/{base}...{head}/")

    def _get(self, path: str) -> list[dict[str, Any]]:
        answer = self.client.get(path)
        answer.raise_for_status()
        return list(answer.json())

    def resident_mib(self) -> float:
        """Return the memory of the process that answers [MiB]."""
        return max(map(resident_mib, descendants(self.pid)))

    def know_commits(self, n: int) -> None:
        """Store the commits 1 to `n` of the main branch as GitHub's answers would have left them."""
        self.database.execute(_COMMITS, {"n": n, "repository": REPOSITORY})


def result(
    commit: int, benchmark: str, params: dict[str, str], values: list[float], machine: str = "bench"
) -> dict[str, Any]:
    """Return a result as its clients post one; all of a commit and a machine are one run.

    Of durations it wants the values twice, as what was measured and as how long that took.
    """
    name = f"{machine}-{commit}"
    return {
        "run_id": run_id(name),
        "batch_id": run_id(name),
        "run_name": name,
        "run_reason": "commit",
        "timestamp": "2023-04-10T12:00:00Z",
        "context": {},
        "info": {},
        "tags": {"name": benchmark, **params},
        "github": {"commit": sha(commit), "repository": REPOSITORY},
        "machine_info": {"name": machine, **MACHINE},
        "stats": {"data": values, "times": values, "unit": "s", "time_unit": "s", "iterations": len(values)},
    }


def run_id(name: str) -> str:
    """Return a run's id: as long as those that its clients give."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


@contextmanager
def serving(home: Path, folder: Path, postgres: EmbeddedPostgres) -> Iterator[Conbench]:
    """Yield a server of the environment `home` on a database of its own in `postgres`.

    Raises:
        SkippedError: it does not start.
    """
    with psycopg.connect(_conninfo(postgres, ROLE), autocommit=True) as connection:
        connection.execute(f"create database {DATABASE}")
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    log = folder / "conbench.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            _command(home, port),
            env=_environment(folder, postgres, url),
            cwd=folder,
            stdout=output,
            stderr=output,
        )
    try:
        _wait(process, port, log)
        with (
            psycopg.connect(_conninfo(postgres, DATABASE), autocommit=True) as connection,
            httpx.Client(base_url=f"{url}/api", timeout=120) as client,
        ):
            _sign_in(client)
            yield Conbench(client, connection, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _command(home: Path, port: int) -> list[str]:
    settings = site_packages(home) / "conbench" / "gunicorn-conf.py"
    gunicorn = [str(home / "bin" / "python"), "-m", "gunicorn"]
    return [*gunicorn, "-c", str(settings), "--bind", f"127.0.0.1:{port}"]


def _environment(folder: Path, postgres: EmbeddedPostgres, url: str) -> dict[str, str]:
    metrics = folder / "metrics"
    metrics.mkdir()
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | {
        "FLASK_APP": "conbench",  # else no application is made
        "CONBENCH_INTENDED_BASE_URL": url,
        "DB_USERNAME": ROLE,
        "DB_PASSWORD": "trusted",
        "DB_HOST": "",
        "DB_NAME": f"{DATABASE}?host={postgres.socket_folder}",  # it puts all into one URL, in this order
        "REGISTRATION_KEY": KEY,
        "SECRET_KEY": KEY,
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
    }


def _conninfo(postgres: EmbeddedPostgres, database: str) -> str:
    return psycopg.conninfo.make_conninfo(host=str(postgres.socket_folder), user=ROLE, dbname=database)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            # Its parent listens before the application is there; that answers whatever the path is.
            httpx.get(f"http://127.0.0.1:{port}/api/", timeout=START_S)
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SkippedError(f"Conbench does not start: {log.read_text(errors='replace').strip()[-300:]}")


def _sign_in(client: httpx.Client) -> None:
    who = {"email": "bench@example.org", "password": KEY}
    client.post("/register/", json={**who, "name": "bench", "secret": KEY}).raise_for_status()
    client.post("/login/", json=who).raise_for_status()


_COMMITS = """
    insert into commit (
      id, sha, branch, fork_point_sha, parent, repository, message, author_name, author_login, timestamp)
    select md5('commit' || n), lpad(to_hex(n), 40, '0'), 'bench:main', lpad(to_hex(n), 40, '0'),
      lpad(to_hex(n - 1), 40, '0'), %(repository)s, 'Make the thing number ' || n || ' a little quicker',
      'Ada Lovelace', 'ada', now() - (%(n)s - n) * interval '4 hours'
    from generate_series(1, %(n)s) as n
"""
