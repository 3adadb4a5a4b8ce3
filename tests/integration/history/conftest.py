"""Somebody who posts a history from elsewhere, and a history that an agent of ours measures."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.checks import check_request
from tests.factories.histories import Poster, deliver, sha
from tests.factories.snapshots import Beginnings
from workers import protocol

CASE = protocol.CaseId(benchmark="resize", params={"batch": 32})
LISTING = latency_listing("resize", batch=32)


@pytest.fixture
def poster(client: TestClient, service: Service, admin_token: str) -> Poster:
    return Poster(client, service, admin_token)


@dataclass
class Branch:
    """A branch whose commits are measured as the bases of checks; it reads like what a poster posted.

    Of all heads `landed` alone becomes a commit of the branch, the next one; None: none does.
    """

    poster: Poster
    agent: FakeAgent
    source: dict[str, str] = field(
        default_factory=lambda: {"kind": "git", "location": "/repositories/vision"}
    )
    draw: random.Random = field(default_factory=lambda: random.Random(3))
    landed: int | None = 0
    blocks: int = 1
    """How many blocks a check measures at the most: a point of base is a point, whatever they leave open."""

    def check(self, commit: int, latency: float) -> None:
        """Check some head against a commit of the branch, whose latency [s] is given; then have it examined."""
        head = sha(commit + 1) if commit == self.landed else f"f{commit:039x}"
        body = check_request(base={"sha": sha(commit)}, head={"sha": head}, source=self.source)
        headers = {"Authorization": f"Bearer {self.poster.token}"}
        response = self.poster.client.post("/api/v1/checks", json=body, headers=headers)
        assert response.status_code == 201, response.text
        lease = self.agent.claim()
        assert lease is not None
        assert lease.job.base_sha == sha(commit)
        self.measure(latency, latency, blocks=self.blocks)
        deliver(self.poster.service)
        self.poster.series = self.poster.get("series", project="acme/vision")["series"][0]["id"]

    def check_all(self, latencies: Iterable[float], first: int = 0) -> None:
        """Check commit after commit."""
        for i, latency in enumerate(latencies):
            self.check(first + i, latency)

    def measure(self, base: float, head: float, *, outcome: str = "ok", blocks: int = 24) -> None:
        """Measure the lease that the agent holds, both arms around their latencies, and finish it."""
        run = 1 + self.draw.gauss(0, 0.005)
        answer = self.agent.prepare([LISTING], [LISTING])
        for _ in range(blocks):
            if not answer.open:
                break
            answer = self.agent.block(
                CASE, lambda arm, _: run * (base if arm == "base" else head) * (1 + self.draw.gauss(0, 0.003))
            )
        assert self.agent.finish(outcome).status_code == 200  # type: ignore[arg-type]

    def jobs(self) -> list[dict[str, Any]]:
        """Return the measurements that suspicions in any state asked for."""
        return [c["measurement"] for c in self.poster.changes("all") if c["measurement"]]


@pytest.fixture
def branch(poster: Poster, worker_token: str) -> Branch:
    agent = FakeAgent(poster.client, worker_token)
    assert agent.register().status_code == 200
    return Branch(poster, agent)


Grown = Callable[[Branch, Callable[[Branch], object]], Branch]
OWN = ("client", "service", "poster", "agent", "token")


def grow(beginnings: Beginnings, branch: Branch, how: Callable[[Branch], object]) -> Branch:
    """Grow a branch, which is done once a process for all tests that have it grown so."""
    parts = [branch, branch.poster, branch.agent]
    beginnings.have(lambda: how(branch), parts, own=OWN, name=how)
    return branch


@pytest.fixture
def grown(beginnings: Beginnings) -> Grown:
    return partial(grow, beginnings)
