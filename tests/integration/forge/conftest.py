"""A GitHub, a repository on it, and a service that is known to it: tasks are done as their messages come."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from cryptography.hazmat.primitives import serialization
from fastapi.testclient import TestClient
from httpx import Response
from jwt import algorithms
from sqlalchemy import text

from app.integrations.queue import (
    BRANCH,
    CHANGE,
    DELIVERY,
    FOLLOW,
    GROUP,
    MEASURE,
    OBEY,
    SCHEDULE,
    SHOW,
    TELL,
)
from app.services.conclude_check import conclude_check
from app.services.relay_outbox import relay_outbox
from app.tasks import celery_app
from app.wiring import Service
from tests.factories.agent import FakeAgent
from tests.factories.fake_github import APP_ID, FakeGitHub
from tests.factories.keys import private_key_pem
from tests.factories.repository import ToyRepository
from tests.factories.snapshots import Beginnings
from tests.factories.webhooks import SECRET, signed

SLUG = "acme/vision"
SETTINGS = """
[project]
name = "acme/vision"

[[suite]]
name = "inference"
benchmarks = "benchmarks/bench_*.py"
devices = ["cpu-*"]
paths = ["src/", "benchmarks/"]

[gate]
device_minutes = 1
"""
TASKS = {
    "forge.delivery": DELIVERY,
    "pull.follow": FOLLOW,
    "pull.obey": OBEY,
    "branch.follow": BRANCH,
    "change.follow": CHANGE,
    "schedule.follow": SCHEDULE,
    "group.follow": GROUP,
    "measure.follow": MEASURE,
    "check.show": SHOW,
    "forge.tell": TELL,
}


@pytest.fixture(scope="session")
def private_key() -> Iterator[str]:
    """The app's key; a process reads it once, as whoever reads it proves it to be one, which takes 30 ms each time."""
    read = cache(serialization.load_pem_private_key)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(serialization, "load_pem_private_key", read)
        patch.setattr(algorithms, "load_pem_private_key", read)
        yield private_key_pem()


class World:
    """A repository with pull requests, on a GitHub that a service is connected with."""

    def __init__(
        self, service: Service, client: TestClient, github: FakeGitHub, folder: Path, agent: FakeAgent
    ) -> None:
        self.service, self.client, self.github, self.agent = service, client, github, agent
        self.tasks: Celery = celery_app(service)
        self.toy = ToyRepository(folder / f"{SLUG}.git")
        self.deliveries = 0
        self.base = self.commit("base", 1)

    def commit(self, message: str, number: int, settings: str = SETTINGS, **files: str) -> str:
        tree = {"src/model.py": f"x = {number}\n", "benchmarks/bench_resize.py": "def run(ctx): pass\n"}
        return self.toy.commit(message, tree | files, settings=settings)

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.toy.path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def push(self, number: int, message: str, **pull: Any) -> str:
        """Push another head of a pull request; main stays where it is."""
        self.git("checkout", "--quiet", "--detach", "main")
        head = self.commit(message, abs(hash(message)), pull.pop("settings", SETTINGS))
        self.git("update-ref", f"refs/pull/{number}/head", head)
        self.git("checkout", "--quiet", "main")
        self.github.pull(number, head, self.git("rev-parse", "main"), **pull)
        return head

    def send(self, event: str, payload: dict[str, Any], *, guid: str = "", secret: str = SECRET) -> Response:
        """Send a message as GitHub does."""
        return self.send_raw(event, json.dumps(payload).encode(), guid=guid, secret=secret)

    def send_raw(self, event: str, body: bytes, *, guid: str = "", secret: str = SECRET) -> Response:
        """Send these bytes as a message of GitHub's."""
        self.deliveries += 1
        headers = signed(event, body, guid or f"guid-{self.deliveries}", secret=secret)
        return self.client.post("/webhooks/github", content=body, headers=headers)

    def tell_of(self, number: int, action: str) -> None:
        """Have GitHub tell of a pull request."""
        payload = {
            "action": action,
            "repository": {"id": 5, "full_name": SLUG, "default_branch": "main"},
            "pull_request": {"number": number},
            "installation": {"id": 9},
        }
        assert self.send("pull_request", payload).status_code == 202

    def happens(self, number: int, action: str) -> None:
        """Have GitHub tell of a pull request, and all done that follows."""
        self.tell_of(number, action)
        self.settle()

    def rename(self, slug: str) -> None:
        """Have the repository be called otherwise on GitHub."""
        path = self.toy.path.parent.parent / f"{slug}.git"
        path.parent.mkdir(exist_ok=True)
        self.toy.path.rename(path)
        self.toy.path, self.github.slug = path, slug

    def tasks_of(self, *topics: str) -> None:
        """Have the messages of each topic done that there are when it is its turn, and keep all others."""
        for topic in topics:
            query = "update outbox set sent_at = now() where topic = :t and sent_at is null returning payload"
            with self.service.database.session() as session:
                payloads = list(session.scalars(text(query), {"t": topic}))
            for payload in payloads:
                self.do(topic, payload)

    def settle(self) -> None:
        """Have everything done that is due, at once."""
        for _ in range(50):
            sent: list[tuple[str, dict[str, Any]]] = []

            class Queue:
                def send(self, topic: str, payload: dict[str, Any], to: Any = sent) -> None:
                    to.append((topic, payload))

            with self.service.database.session() as session:
                session.execute(
                    text("update outbox set available_at = clock_timestamp() where sent_at is null")
                )
                session.execute(text("update repository set busy_until = null"))
                session.execute(text("update target set not_before = clock_timestamp() where error is null"))
            with self.service.database.session() as session:
                relay_outbox(session, Queue())
            if not sent:
                return
            for topic, payload in sent:
                self.do(topic, payload)
        raise AssertionError("it never comes to rest")

    def do(self, topic: str, payload: dict[str, Any]) -> None:
        if topic == "check.conclude":
            with self.service.database.session() as session:
                conclude_check(session, payload["check_id"])
        elif topic in TASKS:
            self.tasks.tasks[TASKS[topic]].apply(kwargs=payload, throw=True)

    def run_of(self, sha: str) -> dict[str, Any]:
        """Return the check run of a commit that counts: the newest."""
        return self.github.runs_of(sha)[-1]


@pytest.fixture
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub().serving() as its:
        yield its


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the repositories of GitHub are."""
    return tmp_path_factory.mktemp("github")


@pytest.fixture
def world(
    service: Service,
    client: TestClient,
    worker_token: str,
    github: FakeGitHub,
    tmp_path: Path,
    private_key: str,
    place: Path,
) -> World:
    shutil.rmtree(place)
    (tmp_path / "key.pem").write_text(private_key)
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    its = service.settings
    its.github_url, its.github_api_url = f"file://{place}", github.url
    its.github_app_id, its.github_key_file = APP_ID, str(tmp_path / "key.pem")
    its.github_webhook_secret_file = str(tmp_path / "secret")
    agent = FakeAgent(client, worker_token)
    assert agent.register().status_code == 200
    return World(service, client, github, place, agent)


Begin = Callable[..., None]
OWN = ("service", "client", "github", "agent", "tasks", "toy", "token", "world", "headers", "url", "_lock")


@pytest.fixture
def begin(beginnings: Beginnings, place: Path) -> Begin:
    """Have something come about in a world, which is done once a process for all tests that begin so.

    It is brought about in a world, or by somebody who has one.
    """

    def have(how: Callable[[Any], object], somebody: Any) -> None:
        world = getattr(somebody, "world", somebody)
        parts = [somebody, world, world.agent, world.github, world.toy]
        beginnings.have(lambda: how(somebody), parts, own=OWN, name=how, folder=place)

    return have
