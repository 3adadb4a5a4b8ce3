"""A pull request on a GitHub on loopback: when its check is seen, and how long after the last sample its verdict is."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from sqlalchemy import text

from app.embedded.postgres import EmbeddedPostgres
from app.store.session import Database
from benchmarks.figure import Figure
from benchmarks.stack import data_folder, running
from tests.factories.fake_github import FakeGitHub
from tests.factories.repository import SETTINGS, SPIN, ToyRepository
from tests.factories.webhooks import connected_env, signed

PULLS = 5
LOOPS = 3_000
LONGEST_S = 60.0


@dataclass(frozen=True)
class Stand:
    """A service, a GitHub that it is connected with, and a repository there."""

    url: str
    github: FakeGitHub
    toy: ToyRepository
    database: Database


def figures() -> Iterator[Figure]:
    """Yield the longest of a few pull requests that follow each other on an idle service."""
    with data_folder() as folder, FakeGitHub().serving() as github, _stand(folder, github) as stand:
        waits = [_life(stand, number) for number in range(1, PULLS + 1)]
    yield Figure(f"check seen after the webhook, longest of {PULLS}", max(seen for seen, _ in waits), 5, "s")
    yield Figure(
        f"verdict after the last sample, longest of {PULLS}", max(told for _, told in waits), 10, "s"
    )


@contextmanager
def _stand(folder: Path, github: FakeGitHub) -> Iterator[Stand]:
    env = connected_env(folder, github.url) | {
        "RATCHET_WORKER_FOREIGN_CPU": "1000",
        "RATCHET_WORKER_STEAL": "1",
    }
    toy = ToyRepository(folder / "acme" / "vision.git")
    toy.commit("base", _files(LOOPS), settings=SETTINGS.format(device_minutes=0.3))
    with running(folder / "data", env=env) as (url, _, _pid):
        database = Database(EmbeddedPostgres(folder / "data" / "postgres").url())
        try:
            yield Stand(url, github, toy, database)
        finally:
            database.close()


def _files(loops: int) -> dict[str, str]:
    return {"benchmarks/bench_spin.py": "from toy import run\n", "toy.py": SPIN.format(loops=loops)}


def _life(stand: Stand, number: int) -> tuple[float, float]:
    """Open a pull request and wait for its verdict; return after how long both were seen [s]."""
    git = ["git", "-C", str(stand.toy.path)]
    subprocess.run([*git, "checkout", "--quiet", "--detach", "main"], check=True)
    files = _files(LOOPS + 100 * number)
    head = stand.toy.commit("head", files, settings=SETTINGS.format(device_minutes=0.3))
    subprocess.run([*git, "update-ref", f"refs/pull/{number}/head", head], check=True)
    subprocess.run([*git, "checkout", "--quiet", "main"], check=True)
    stand.github.pull(number, head, "0" * 40)
    told = time.time()
    _tell(stand.url, number)
    seen = _await(lambda: _call(stand.github, head))
    ended = _await(lambda: _call(stand.github, head, "completed"))
    return seen - told, ended - _last_sample(stand.database)


def _tell(url: str, number: int) -> None:
    repository = {"id": 5, "full_name": "acme/vision", "default_branch": "main"}
    told = {
        "action": "opened",
        "repository": repository,
        "installation": {"id": 9},
        "pull_request": {"number": number},
    }
    body = json.dumps(told).encode()
    headers = signed("pull_request", body, f"bench-{number}")
    httpx.post(f"{url}/webhooks/github", content=body, headers=headers).raise_for_status()


def _call(github: FakeGitHub, head: str, status: str = "") -> float | None:
    """Return when GitHub was told of a head's check, or that it has this status; None if it was not yet."""
    runs = {run["id"] for run in github.runs_of(head)}
    for (_, path, body), when in zip(list(github.calls), list(github.called_at), strict=False):
        is_its = body.get("head_sha") == head or path.rpartition("/")[2] in map(str, runs)
        if "check-runs" in path and is_its and status in ("", body.get("status")):
            return when
    return None


def _await(ask: Callable[[], float | None]) -> float:
    deadline = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline:
        if (found := ask()) is not None:
            return found
        time.sleep(0.02)
    raise RuntimeError(f"the check did not get there within {LONGEST_S:.0f} s")


def _last_sample(database: Database) -> float:
    """Return when the newest run's last invocation had ended, in seconds since 1970."""
    query = (
        "select max(extract(epoch from started_at) + duration_ns / 1e9) from invocation "
        "where run_id = (select max(run_id) from invocation)"
    )
    with database.session() as session:
        return float(session.execute(text(query)).scalar_one())
