"""A real Prometheus scrapes a real api process, with our settings and rules: every name that a rule uses is there."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from app.local.stack import free_port
from app.services.metrics.catalogue import METRICS
from app.wiring import Service
from tests.factories.scrapes import fill, parsed
from tests.integration.dcgm.world import prometheus
from workers.keeper import Kept

pytestmark = pytest.mark.postgres

FOLDER = Path(__file__).parents[3] / "dashboards" / "prometheus"
TOKEN = "s3cret-of-scrapes"
WITHIN_S = 60.0
NAME = re.compile(r"(?<![\w\"/])(ratchet_\w+)")


def rules() -> list[dict[str, Any]]:
    """Return every rule."""
    files = [yaml.safe_load((FOLDER / name).read_text()) for name in ("recording.yml", "alerts.yml")]
    return [rule for file in files for group in file["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scraping")


@pytest.fixture
def api(service: Service, database_url: str, folder: Path) -> Iterator[str]:
    """The address of a process of the service whose database has something of everything."""
    fill(service)
    port = free_port("127.0.0.1", 0)
    (folder / "token").write_text(TOKEN)
    env = os.environ | {
        "RATCHET_DATABASE_URL": database_url,
        "RATCHET_REDIS_URL": f"redis+socket://{folder}/nobody-listens.sock",
        "RATCHET_DATA_DIR": str(folder),
        "RATCHET_PORT": str(port),
        "RATCHET_METRICS_SECRET_FILE": str(folder / "token"),
    }
    command = [sys.executable, "-P", "-m", "app.cli", "api"]
    address = f"http://127.0.0.1:{port}"
    with (folder / "api.log").open("wb") as log, Kept(command, env=env, stdout=log, stderr=log, grace_s=5):
        _wait(lambda: httpx.get(f"{address}/readyz").status_code == 200, folder / "api.log")
        httpx.post(f"{address}/webhooks/github", content=b"{}")
        yield address


def _wait(is_true: Any, log: Path) -> None:
    give_up_at = time.monotonic() + WITHIN_S
    while time.monotonic() < give_up_at:
        try:
            if is_true():
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text(errors="replace")[-2000:])


def configured(address: str, folder: Path) -> str:
    """Return our settings, for this address and token, every second."""
    settings = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    settings["global"] = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    settings["rule_files"] = [str(FOLDER / name) for name in settings["rule_files"]]
    (job,) = [job for job in settings["scrape_configs"] if job["job_name"] == "ratchet"]
    job["static_configs"] = [{"targets": [address.removeprefix("http://")]}]
    job["authorization"] = {"credentials_file": str(folder / "token")}
    settings["scrape_configs"] = [job]
    return yaml.safe_dump(settings)


def test_rules_are_evaluated_on_what_a_process_tells_and_every_name_in_them_is_there(
    api: str, folder: Path
) -> None:
    if shutil.which("prometheus") is None:
        pytest.skip("prometheus is not on PATH")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    told = parsed(httpx.get(f"{api}/metrics", headers=bearer).raise_for_status().text).names()
    used = {name for rule in rules() for name in NAME.findall(rule["expr"])}
    assert used - told == set()
    with (
        prometheus(folder / "prometheus", configured(api, folder)) as (port, _),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1") as client,
    ):
        _wait(lambda: _healths(client) == {"ok"}, folder / "prometheus" / "log")
        _wait(lambda: _asked(client, "ratchet:jobs:total"), folder / "prometheus" / "log")
        assert [name for name in used if not _asked(client, name)] == []
        for rule in rules():
            _asked(client, rule["expr"])
        alerts = client.get("/alerts").json()["data"]["alerts"]
        assert [alert for alert in alerts if alert["state"] == "firing"] == []


def _asked(client: httpx.Client, expression: str) -> list[dict[str, Any]]:
    """Return what Prometheus answers; an expression that it does not take fails."""
    answer = client.get("/query", params={"query": expression}).raise_for_status().json()
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def _healths(client: httpx.Client) -> set[str]:
    """Return how evaluating went, of all rules."""
    groups = client.get("/rules").raise_for_status().json()["data"]["groups"]
    healths = [rule["health"] for group in groups for rule in group["rules"]]
    assert len(healths) == len(rules())
    assert "err" not in healths, groups
    return set(healths)


def test_rules_use_names_of_the_catalogue_alone() -> None:
    known = {metric.name for metric in METRICS} | {f"{metric.name}_bucket" for metric in METRICS}
    assert {name for rule in rules() for name in NAME.findall(rule["expr"])} - known == set()
