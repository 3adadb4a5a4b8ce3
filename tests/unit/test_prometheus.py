"""The rules and settings for Prometheus: they are understood, fire when they should, and say where to read on."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config import ServiceSettings
from tests.factories.prometheus_worlds import WORLDS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboards" / "prometheus"
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
CHAPTER = "## When an alert of Prometheus fires"


def rules_of(file: str) -> list[dict[str, Any]]:
    """Return all rules of a file."""
    groups = yaml.safe_load((FOLDER / file).read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


ALERTS = rules_of("alerts.yml")
NAMES = [rule["alert"] for rule in ALERTS]


def promtool(*arguments: str) -> str:
    """Run promtool and return what it says. Skips where there is none."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not on PATH")
    command = ["promtool", *arguments]
    ended = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_settings_and_rules_are_understood_by_prometheus() -> None:
    assert "2 rule files found" in promtool("check", "config", "prometheus.yml")
    promtool("check", "rules", "recording.yml", "alerts.yml")


def test_alerts_fire_in_the_worlds_that_they_are_for_and_in_no_other(tmp_path: Path) -> None:
    document = {
        "rule_files": [str(FOLDER / "recording.yml"), str(FOLDER / "alerts.yml")],
        "evaluation_interval": "1m",
        "tests": [world.tests() for world in WORLDS],
    }
    (tmp_path / "worlds.yml").write_text(yaml.safe_dump(document))
    promtool("test", "rules", str(tmp_path / "worlds.yml"))


def test_there_is_a_world_for_every_alert() -> None:
    assert {name for world in WORLDS for name in world.fires} == set(NAMES)


@pytest.mark.parametrize("rule", ALERTS, ids=NAMES)
def test_an_alert_says_how_bad_it_is_what_it_is_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"


def test_the_chapter_of_operations_has_an_entry_for_every_alert() -> None:
    chapter = OPERATIONS.split(f"{CHAPTER}\n")[1].split("\n## ")[0]
    entries = re.split(r"^### ", chapter, flags=re.MULTILINE)[1:]
    assert [entry.partition("\n")[0] for entry in entries] == NAMES
    assert [entry for entry in entries if len(entry.split()) < 20] == []


def test_settings_scrape_the_port_that_the_api_has() -> None:
    jobs = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    (ratchet,) = [job for job in jobs if job["job_name"] == "ratchet"]
    port = ServiceSettings.model_fields["port"].default
    assert ratchet["static_configs"] == [{"targets": [f"127.0.0.1:{port}"]}]
    assert ratchet["metrics_path"] == "/metrics"
