"""A stranger's pull request from request to conclusion: the real service, and the real agent with its real sandbox."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.domain.results import CommitRef
from app.services.access import FORGE, Scope, issue_token
from app.services.check_request import CheckRequest
from app.services.conclude_check import conclude_check
from app.services.request_check import request_check
from app.settings import read_settings
from app.wiring import Service
from tests.factories.repository import SETTINGS, SPIN, ToyRepository
from tests.factories.sandbox import needs_sandbox
from workers.agent import Agent
from workers.config import Config
from workers.devices import detect
from workers.devices.base import Host
from workers.host.clock import SystemClock
from workers.lease.client import Patience, ServiceClient
from workers.protocol import Register

pytestmark = [pytest.mark.postgres, needs_sandbox]


def library(loops: int) -> dict[str, str]:
    return {
        "toy.py": SPIN.replace("run(ctx)", "work()").format(loops=loops),
        "benchmarks/bench_spin.py": "import toy\n\n\ndef run(ctx):\n    return toy.work()\n",
    }


def through(client: TestClient) -> httpx.MockTransport:
    """Return the way to the service in this process for an agent's own client."""

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        got = client.request(request.method, path, content=request.read(), headers=dict(request.headers))
        return httpx.Response(got.status_code, content=got.content)

    return httpx.MockTransport(answer)


def agent_of(client: TestClient, service: Service, folder: Path) -> Agent:
    """Return an agent of the untrusted pool on this machine's processor, for one claim; the service knows it."""
    with service.database.session() as session:
        token = issue_token(session, "stranger", [Scope.WORKER_UNTRUSTED])
    devices = detect(("cpu",), Host(folder / "data", folder))
    config = Config(
        url="http://testserver",
        token=token,
        name="stranger",
        kinds=("cpu",),
        data_dir=folder / "data",
        lock_dir=folder,
        once=True,
        foreign_cpu=1000.0,  # other tests run beside this one,
        steal=1.0,  # and other machines beside this one
    )
    clock = SystemClock()
    its = ServiceClient(config.url, token, transport=through(client), clock=clock)
    reports = [device.report() for device in devices]
    host = socket.gethostname()
    its.register(Register(name="stranger", host=host, instance="0", devices=reports, sandbox=2), Patience())
    return Agent(config, devices, its, clock)


def ask(service: Service, toy: ToyRepository, base: str, head: str, **fields: Any) -> int:
    with service.database.session() as session:
        wanted = CheckRequest(
            settings=read_settings(SETTINGS.format(device_minutes=0.3)),
            source={"kind": "git", "location": str(toy.path)},
            base=CommitRef(base),
            head=CommitRef(head),
            untrusted=True,
            **fields,
        )
        return request_check(session, service.settings, FORGE, wanted).id


def test_slower_head_of_a_stranger_regresses_and_leaves_no_history(
    client: TestClient, service: Service, tmp_path: Path
) -> None:
    toy = ToyRepository(tmp_path / "a toy")
    base, head = toy.commit("base", library(3_000)), toy.commit("head", library(30_000))
    agent = agent_of(client, service, tmp_path)
    check_id = ask(service, toy, base, head)
    agent.run()
    with service.database.session() as session:
        assert str(conclude_check(session, check_id)) == "regressed"
        assert session.scalar(text("select count(*) from result")) == 0
        assert session.execute(text("select sandbox, takes_trusted from worker")).all() == [(2, False)]
