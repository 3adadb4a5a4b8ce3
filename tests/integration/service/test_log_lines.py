"""What the service's processes log: real processes, whose every line is one JSON object."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api import health
from app.integrations import queue
from app.tasks import celery_app
from app.wiring import Service
from tests.factories.application import application
from tests.factories.in_process import InProcess
from workers import logs
from workers.keeper import Kept

pytestmark = pytest.mark.postgres

WITHIN_S = 60.0


def environment(database_url: str, folder: Path, form: str = "json") -> dict[str, str]:
    """Return the environment of a process whose broker is away."""
    return os.environ | {
        "RATCHET_DATABASE_URL": database_url,
        "RATCHET_REDIS_URL": f"redis+socket://{folder}/nobody-listens.sock",
        "RATCHET_DATA_DIR": str(folder),
        "RATCHET_LOG_FORMAT": form,
        "RATCHET_SWEEP_INTERVAL_S": "0.5",
    }


@contextmanager
def running(name: str, env: dict[str, str], folder: Path) -> Iterator[Path]:
    """Run a process of the service, and give the file that it logs to."""
    log = folder / f"{name}.log"
    command = [sys.executable, "-P", "-m", "app.cli", name]
    with log.open("wb") as file, Kept(command, env=env, stdout=file, stderr=subprocess.STDOUT, grace_s=5):
        yield log


def lines_once(log: Path, logger: str) -> list[dict[str, Any]]:
    """Return all lines as soon as one is of this logger. Whatever is no JSON object fails."""
    give_up_at = time.monotonic() + WITHIN_S
    while time.monotonic() < give_up_at:
        told = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        if any(str(line["logger"]).startswith(logger) for line in told):
            return told
        time.sleep(0.1)
    raise AssertionError(f"nothing of {logger}: {log.read_text()}")


@pytest.mark.parametrize(("process", "logger"), [("tasks", "celery"), ("beat", "celery")])
def test_celerys_lines_are_of_the_same_form_as_ours(
    process: str, logger: str, database_url: str, tmp_path: Path
) -> None:
    with running(process, environment(database_url, tmp_path), tmp_path) as log:
        told = lines_once(log, logger)
    assert all({"time", "level", "logger", "message"} <= set(line) for line in told)


def test_uvicorns_lines_are_of_the_same_form_as_ours(database_url: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        env = environment(database_url, tmp_path) | {"RATCHET_PORT": str(taken.getsockname()[1])}
        with running("api", env, tmp_path) as log:
            told = lines_once(log, "uvicorn")
    assert "address already in use" in " ".join(line["message"] for line in told)


def test_a_form_that_there_is_not_is_refused(database_url: str, tmp_path: Path) -> None:
    env = environment(database_url, tmp_path, form="xml")
    command = [sys.executable, "-P", "-m", "app.cli", "api"]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == 64
    assert "RATCHET_LOG_FORMAT" in ended.stderr


@pytest.fixture
def about(caplog: pytest.LogCaptureFixture) -> Iterator[list[dict[str, object]]]:
    """What each line was about, as it was logged."""
    seen: list[dict[str, object]] = []

    class Note(logs._Bound):
        def filter(self, record: Any) -> bool:
            super().filter(record)
            seen.append(record.bound)
            return True

    note = Note()
    caplog.handler.addFilter(note)
    yield seen
    caplog.handler.removeFilter(note)


def test_a_request_keeps_the_id_that_it_came_with(client: TestClient) -> None:
    assert (
        client.get("/healthz", headers={"X-Request-ID": "build-7.a_B"}).headers["x-request-id"]
        == "build-7.a_B"
    )


@pytest.mark.parametrize("bad", ["", "with space", "x" * 65, 'quo"te', "sla/sh"])
def test_a_request_gets_an_id_in_place_of_one_that_is_not_well_formed(client: TestClient, bad: str) -> None:
    own = client.get("/healthz", headers={"X-Request-ID": bad}).headers["x-request-id"]
    assert own != bad
    assert len(own) == 16


def test_a_fault_is_logged_with_its_requests_id_which_the_answer_has(
    service: Service, about: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = InProcess(application(service), raise_server_exceptions=False)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(health, "require_ready", fail)
    answer = client.get("/readyz", headers={"X-Request-ID": "r-1"})
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "r-1")
    assert {"request_id": "r-1"} in about
    client.get("/healthz")
    assert logs._bound.get() is None


def test_a_tasks_lines_say_its_name_and_what_it_is_about(
    service: Service, about: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    import logging

    def say(*_: object) -> None:
        logging.getLogger("app.somewhere").warning("at work")

    monkeypatch.setattr("app.tasks.store_report", say)
    celery_app(service).tasks[queue.RENDER](check_id=7)
    assert about == [{"task": "ratchet.render", "check_id": 7}]
