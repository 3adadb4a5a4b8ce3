"""Which readings of an invocation tell of a case."""

from __future__ import annotations

from typing import Any

import pytest

from app.services.watch_cases import signs_of_case
from app.store.tables import Device
from workers.protocol import CaseMeasurement

TENTH = 100_000_000
READINGS = [
    {
        "t_ns": [n * TENTH for n in range(30)],
        "util": [0.0] * 10 + [0.9] * 10 + [0.0] * 10,
        "sm_clock_hz": [1.5e9],
        "throttle_reasons": [[]],
    }
]
WINDOW = (10 * TENTH, 19 * TENTH)


def device(kind: str = "nvidia", **soft: Any) -> Device:
    return Device(kind=kind, fingerprint={"soft": soft})


def signs(kind: str = "nvidia", **fields: Any) -> dict[str, float]:
    case = CaseMeasurement.model_validate({"benchmark": "gemm", "status": "ok", "window_ns": WINDOW} | fields)
    return signs_of_case(case, [device(kind, sm_clock_max_hz=2e9)], READINGS)


def test_timed_case_has_the_readings_of_its_window() -> None:
    assert signs()["util"] == pytest.approx(0.9)
    assert signs()["clock_share"] == 0.75


def test_case_without_a_window_has_none() -> None:
    assert signs(window_ns=None) == {}
    assert signs(status="failed") == {}


def test_command_that_times_itself_has_all_readings_but_not_how_busy_its_device_was() -> None:
    assert signs(clock="self", window_ns=None) == {
        "clock_share": 0.75,
        "power_throttle_share": 0.0,
        "thermal_throttle_share": 0.0,
    }


def test_simulated_case_has_all_readings() -> None:
    assert signs(clock="simulated", window_ns=None)["util"] == pytest.approx(0.3)


def test_use_of_all_processors_is_no_sign_for_one_thread() -> None:
    assert "util" not in signs("cpu")


def test_highest_clock_that_is_not_known_gives_no_share() -> None:
    case = CaseMeasurement(benchmark="gemm", status="ok", window_ns=WINDOW)
    assert "clock_share" not in signs_of_case(case, [device()], READINGS)
    assert "clock_share" not in signs_of_case(case, [device(sm_clock_max_hz="fast")], READINGS)
