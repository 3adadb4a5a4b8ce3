"""Uploaded bundles: kept while somebody needs them, removed afterwards, with what broken uploads left."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.integrations.queue import PRUNE
from app.services import prune_bundles as module
from app.services.prune_bundles import INCOMING_KEEP_S, prune_bundles
from app.services.store_bundle import bundle_path
from app.tasks import celery_app
from app.wiring import Service
from tests.factories.agent import FakeAgent
from tests.factories.checks import check_request

pytestmark = pytest.mark.postgres


@pytest.fixture
def folder(service: Service) -> Path:
    path = service.settings.data_dir / "bundles"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def agent(client: TestClient, worker_token: str) -> FakeAgent:
    its_agent = FakeAgent(client, worker_token)
    assert its_agent.register().status_code == 200
    return its_agent


def put(folder: Path, name: str, *, unused_s: float) -> Path:
    """Put a file that was last used so long ago."""
    path = folder / name
    path.write_bytes(b"# v2 git bundle\n")
    os.utime(path, (time.time() - unused_s,) * 2)
    return path


def bundle(folder: Path, name: str = "one", *, unused_s: float) -> Path:
    return put(folder, hashlib.sha256(name.encode()).hexdigest(), unused_s=unused_s)


def prune(service: Service) -> int:
    with service.database.session() as session:
        return prune_bundles(session, service.settings)


def ask(client: TestClient, admin_token: str, path: Path) -> dict[str, Any]:
    body = check_request(source={"kind": "bundle", "location": path.name})
    answer = client.post("/api/v1/checks", json=body, headers={"Authorization": f"Bearer {admin_token}"})
    assert answer.status_code == 201, answer.text
    document: dict[str, Any] = answer.json()
    return document


def long_ago(service: Service) -> float:
    return 2 * service.settings.bundles_keep_s


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_bundle_that_nobody_needs_is_removed_after_its_time(service: Service, folder: Path) -> None:
    old = bundle(folder, "old", unused_s=service.settings.bundles_keep_s + 60)
    young = bundle(folder, "young", unused_s=service.settings.bundles_keep_s - 60)
    assert prune(service) == 1
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("state", ["queued", "leased", "running"])
def test_bundle_of_an_unfinished_job_is_kept_and_then_removed(
    service: Service, client: TestClient, agent: FakeAgent, admin_token: str, folder: Path, state: str
) -> None:
    needed = bundle(folder, unused_s=0)
    ask(client, admin_token, needed)
    if state != "queued":
        agent.claim()
    if state == "running":
        agent.beat()
    age(needed, long_ago(service))
    assert prune(service) == 0
    assert needed.exists()
    with service.database.session() as session:
        assert session.scalar(text("select state from job")) == state
        session.execute(text("update job set state = 'cancelled'"))
    assert prune(service) == 1
    assert not needed.exists()


def test_check_that_names_an_old_bundle_dates_it_anew(
    service: Service, client: TestClient, agent: FakeAgent, admin_token: str, folder: Path
) -> None:
    named = bundle(folder, unused_s=long_ago(service))
    ask(client, admin_token, named)
    with service.database.session() as session:
        session.execute(text("update job set state = 'cancelled'"))
    assert prune(service) == 0
    assert named.exists()


def test_bundle_that_is_named_between_look_and_removal_stays(
    service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = bundle(folder, unused_s=long_ago(service))

    def needed_meanwhile(_: object) -> set[str]:
        bundle_path(folder, named.name)  # a check is asked for that this transaction does not see yet
        return set()

    monkeypatch.setattr(module.jobs, "needed_bundles", needed_meanwhile)
    assert prune(service) == 0
    assert named.exists()


def test_agent_that_asks_for_a_removed_bundle_hears_what_to_do(
    service: Service, client: TestClient, worker_token: str, folder: Path
) -> None:
    gone = bundle(folder, unused_s=long_ago(service))
    prune(service)
    headers = {"Authorization": f"Bearer {worker_token}"}
    answer = client.get(f"/api/v1/bundles/{gone.name}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "upload it" in answer.json()["message"]


def test_what_a_broken_upload_left_is_removed_and_one_under_way_is_not(
    service: Service, folder: Path
) -> None:
    broken = put(folder, "incoming-broken", unused_s=INCOMING_KEEP_S + 60)
    under_way = put(folder, "incoming-under-way", unused_s=60)
    assert prune(service) == 1
    assert (broken.exists(), under_way.exists()) == (False, True)


def test_files_that_are_not_ours_are_left_alone(service: Service, folder: Path) -> None:
    others = [put(folder, name, unused_s=long_ago(service)) for name in ("README", "A" * 64, "notes.txt")]
    (folder / ("a" * 63)).mkdir()
    assert prune(service) == 0
    assert all(path.exists() for path in others)


def test_service_without_uploads_has_nothing_to_prune(service: Service) -> None:
    assert prune(service) == 0


def test_clockwork_prunes(service: Service, folder: Path) -> None:
    old = bundle(folder, unused_s=long_ago(service))
    app: Celery = celery_app(service)
    app.tasks[PRUNE].apply(throw=True)
    assert not old.exists()
