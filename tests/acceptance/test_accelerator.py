"""An accelerator that is disturbed while it is measured on, by the real path: service, agent, a scripted device."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import RATCHET, Running, start_up, stop
from tests.factories.repository import ToyRepository

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

SETTINGS = """
[project]
name = "acceptance/accelerator"

[[suite]]
name = "kernels"
benchmarks = "benchmarks/bench_*.py"
devices = ["{device}"]
gate = ["latency_p50", "energy_per_iter", "cost_per_sample"]

[prices."sim-*"]
hour = 3.6
currency = "EUR"
date = 2026-11-01

[gate]
device_minutes = 2
"""
BENCHMARK = """
def run(ctx):
    pass

def simulated_s(ctx):
    return 0.25

def units(ctx):
    return {"samples": 8}
"""
QUIET = {"temp_c": 55.0, "sm_clock_hz": 1.9e9, "util": 0.95, "foreign_pids": [], "host_cpu_foreign": 0.0}
POWER = {"busy_w": 290, "limit_w": 300}
CAPPED = {
    "class": "sim-capped",
    "hardware_id": "sim-capped-0",
    "noise_sd": 0.002,
    "telemetry": QUIET,
    "power": POWER,
    "faults": [{"kind": "power", "factor": 1.15, "arm": "head"}],
}
SHARED = {
    "class": "sim-shared",
    "hardware_id": "sim-shared-0",
    "noise_sd": 0.002,
    "telemetry": QUIET,
    "power": POWER,
    "faults": [{"kind": "slow", "factor": 1.3, "pair": 1, "telemetry": {"foreign_pids": [4242]}}],
}


@pytest.fixture(scope="module")
def fleet(folder: Path) -> Iterator[Running]:
    script = folder / "fleet.json"
    script.write_text(json.dumps([CAPPED, SHARED]))
    env = {"RATCHET_WORKER_KIND": "simulated", "RATCHET_SIMULATED": str(script)}
    its = start_up(folder / "fleet data", env=env)
    yield its
    stop(its)


def check_on(device: str, fleet: Running, tmp_path: Path) -> dict[str, Any]:
    """Return the JSON document of a check whose commits differ in nothing but a comment."""
    toy, settings = ToyRepository(tmp_path / "a toy"), SETTINGS.format(device=device)
    tree = {"benchmarks/bench_gemm.py": BENCHMARK}
    base = toy.commit("base", tree, settings=settings)
    head = toy.commit("head", tree | {"notes": "x"}, settings=settings)
    command = [*RATCHET, "check", "--repo", str(toy.path), "--base", base, "--head", head, "--json"]
    done = subprocess.run(
        command, env=os.environ | fleet.env(), capture_output=True, text=True, timeout=240, check=False
    )
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


def by_metric(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {case["metric"]: case for suite in document["suites"] for case in suite["cases"]}


def test_a_head_that_reaches_the_power_limit_is_regressed_and_the_limit_is_named(
    fleet: Running, tmp_path: Path
) -> None:
    document = check_on("sim-capped", fleet, tmp_path)
    assert (document["conclusion"], document["status"]) == ("regressed", 1)
    latency = by_metric(document)["latency_p50"]
    assert latency["verdict"] == "regressed"
    assert latency["change"] == pytest.approx(290 * 1.15 / 300 - 1, abs=0.01)
    assert latency["n_void"] == 0
    (attribution,) = latency["attribution"]
    assert attribution.startswith("power_limited: head held back by the power limit")


def test_energy_and_cost_gate_like_latency_and_say_where_they_are_from(
    fleet: Running, tmp_path: Path
) -> None:
    metrics = by_metric(check_on("sim-capped", fleet, tmp_path))
    energy, cost = metrics["energy_per_iter"], metrics["cost_per_sample"]
    # 300 W where 290 W were drawn, for 290 · 1.15 / 300 times as long
    assert energy["change"] == pytest.approx(1.15 - 1, abs=0.02)
    assert (energy["verdict"], energy["unit"], energy["gating"]) == ("regressed", "J", True)
    assert cost["change"] == pytest.approx(290 * 1.15 / 300 - 1, abs=0.01)
    assert (cost["verdict"], cost["unit"]) == ("regressed", "EUR")


def test_a_pair_beside_another_program_is_void_with_its_reason_and_blames_nobody(
    fleet: Running, tmp_path: Path
) -> None:
    document = check_on("sim-shared", fleet, tmp_path)
    latency = by_metric(document)["latency_p50"]
    assert latency["verdict"] == "no_regression"
    assert latency["n_void"] == 1
    assert document["conclusion"] == "passed"
