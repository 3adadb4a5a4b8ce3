"""A machine disturbed on purpose: which pairs are void, why, and that what the code does itself is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.worker.bench import ADD, SIMULATED, Repository, agent_on, job, simulated
from tests.integration.worker.service_double import ServiceDouble

TREE = {"benchmarks/bench_add.py": ADD}
QUIET = {
    "temp_c": 50.0,
    "sm_clock_hz": 1.9e9,
    "util": 0.9,
    "foreign_pids": [],
    "mem_used_b": 2**28,
    "throttle_mask": 0,
    "throttle_reasons": [],
    "ecc_uncorrected": 0,
    "xid_count": 0,
    "swap_in_b": 0,
    "over_current": 0,
    "host_cpu_foreign": 0.0,
    "host_steal": 0.0,
    "power_limit_w": 300.0,
    "mode": "mig disabled",
}
STRUCK = [2, 3]

CONTAMINATIONS = {
    "a program that uses the device, too": ("foreign_process", {"foreign_pids": [4242]}, 1.0),
    "the supply that brakes": ("hw_brake", {"throttle_mask": 0x80, "throttle_reasons": ["hw_brake"]}, 1.0),
    "a program that keeps the host busy": ("host_cpu", {"host_cpu_foreign": 1.7}, 1.0),
    "a hypervisor that takes time": ("host_steal", {"host_steal": 0.1}, 1.0),
    "memory that comes back from swap": ("host_swap", {"swap_in_b": 2**22}, 1.0),
    "a memory error": ("ecc", {"ecc_uncorrected": 1}, 1.0),
    "an error of the driver": ("ecc", {"xid_count": 1}, 1.0),
    "a power limit that somebody lowers": ("limit_changed", {"power_limit_w": 250.0}, 1.0),
    "an overloaded supply": ("hw_brake", {"over_current": 3}, 1.0),
    "a clock that drops": ("low_clock", {"sm_clock_hz": 1.4e9}, 1.3),
    "a machine too hot": ("thermal", {"throttle_mask": 0x40, "throttle_reasons": ["hw_thermal"]}, 1.3),
}
"""What happens → the gate, the readings meanwhile, and how much slower the control workload is."""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def measured(repository: Repository, folder: Path, **script: Any) -> ServiceDouble:
    """Return what an agent on a scripted device posted of four blocks."""
    base, head = repository.commit(TREE), repository.commit(TREE | {"x": ""})
    spec = job(repository, base, head).model_copy(update={"budget_s": 120.0})
    service = ServiceDouble(spec, blocks=4)
    device = {**SIMULATED, "noise_sd": 0.001, "telemetry": QUIET, **script}
    agent_on(service.client(), folder, simulated(folder, device), foreign_cpu=0.5, steal=0.02).run()
    return service


@pytest.mark.parametrize("what", CONTAMINATIONS)
def test_a_disturbance_makes_void_the_pairs_that_it_struck_and_no_others(
    repository: Repository, tmp_path: Path, what: str
) -> None:
    gate, telemetry, control = CONTAMINATIONS[what]
    fault = {"kind": "slow", "factor": 1.2, "pairs": STRUCK, "telemetry": telemetry, "control": control}
    service = measured(repository, tmp_path, faults=[fault])
    void = {posted.pair_index: posted for posted in service.invocations if posted.void}
    assert sorted(void) == STRUCK
    assert all(posted.void_reason.startswith(gate) for posted in void.values())
    assert service.finish is not None
    assert service.finish.outcome == "ok"


def test_a_quiet_machine_makes_no_pair_void(repository: Repository, tmp_path: Path) -> None:
    service = measured(repository, tmp_path)
    assert [posted.void for posted in service.invocations] == [False] * 16
    assert {tuple(posted.gates) for posted in service.invocations} == {()}


def test_a_head_that_reaches_the_power_limit_is_slower_by_its_own_doing(
    repository: Repository, tmp_path: Path
) -> None:
    service = measured(
        repository,
        tmp_path,
        power={"busy_w": 290, "limit_w": 300},
        faults=[{"kind": "power", "factor": 1.15, "arm": "head"}],
        telemetry={
            name: QUIET[name] for name in ("temp_c", "foreign_pids", "host_cpu_foreign", "host_steal")
        },
    )
    assert not any(posted.void for posted in service.invocations)
    gates = {arm: {tuple(p.gates) for p in service.invocations if p.arm == arm} for arm in ("base", "head")}
    assert gates == {"base": {()}, "head": {("power_cap",)}}
    medians = {arm: service.measured(arm)[0].values[0].value for arm in ("base", "head")}
    assert medians["head"] / medians["base"] == pytest.approx(290 * 1.15 / 300, rel=0.01)


def test_a_mode_that_somebody_changes_ends_the_run_and_the_job_is_to_be_tried_again(
    repository: Repository, tmp_path: Path
) -> None:
    service = measured(
        repository,
        tmp_path,
        faults=[{"kind": "slow", "pairs": [2, 99], "telemetry": {"mode": "mig enabled"}}],
    )
    assert service.finish is not None
    assert (service.finish.outcome, service.finish.reason) == ("infra_failed", "mode_changed")
    assert service.finish.retryable
    assert "mig disabled became mig enabled" in service.finish.message
    assert {posted.pair_index for posted in service.invocations} == {0, 1, 2}


def test_a_vendors_tool_that_freezes_costs_its_readings_and_nothing_else(
    repository: Repository, tmp_path: Path
) -> None:
    service = measured(repository, tmp_path, faults=[{"kind": "stall", "pairs": STRUCK}])
    silent = {posted.pair_index for posted in service.invocations if "telemetry_lost" in posted.gates}
    assert sorted(silent) == STRUCK
    assert not any(posted.void for posted in service.invocations)
    assert service.finish is not None
    assert service.finish.outcome == "ok"


def test_a_calibration_runs_the_control_workload_alone(repository: Repository, tmp_path: Path) -> None:
    head = repository.commit(TREE)
    spec = job(repository, None, head).model_copy(update={"purpose": "calibrate"})
    service = ServiceDouble(spec)
    agent_on(service.client(), tmp_path, simulated(tmp_path, SIMULATED)).run()
    assert service.finish is not None
    assert service.finish.outcome == "ok"
    assert service.finish.control is not None
    assert set(service.finish.control.probes) >= {"gemm_bf16", "triad"}
    assert (service.prepared, service.invocations) == (None, [])
