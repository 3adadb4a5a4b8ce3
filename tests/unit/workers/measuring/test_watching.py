"""What is seen beside the control workload, whose numbers then say nothing of the devices' health."""

from __future__ import annotations

import json
import time

import pytest

from workers.devices import detect
from workers.devices.base import Host
from workers.devices.group import DeviceGroup
from workers.measuring import watching
from workers.measuring.watching import Watch
from workers.protocol import ControlResult

SHOWN = ControlResult(version="v", backend="b", probes={"triad": {"seconds": 0.002}})


class FakeHost:
    """A host whose looks tell these readings, the last one from then on."""

    def __init__(self, *readings):
        self._readings = list(readings)

    def look(self):
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


def beside(folder, *readings, telemetry=None, foreign_cpu=None, steal=None):
    """Return what the control's result says was there, with the host's readings at the start, before and after it."""
    script = folder / "devices.json"
    script.write_text(
        json.dumps([{"class": "sim", "hardware_id": "sim-0", "noise_sd": 0.0, "telemetry": telemetry or {}}])
    )
    devices = DeviceGroup(detect(("simulated",), Host(folder, folder, script)))
    watch = Watch(devices, FakeHost({}, *readings), foreign_cpu=foreign_cpu, steal=steal)

    def run():
        time.sleep(0.05)
        return SHOWN

    result = watch.beside(run)
    assert result.probes == SHOWN.probes
    return result.disturbed


QUIET = {"host_cpu_foreign": 0.1, "host_steal": 0.0, "swap_in_b": 4096}


def test_a_control_on_a_quiet_machine_was_not_disturbed(tmp_path):
    assert beside(tmp_path, QUIET, QUIET) == ""


def test_what_went_on_before_the_control_is_no_matter(tmp_path):
    assert beside(tmp_path, {"host_cpu_foreign": 9.0, "swap_in_b": 4096}, QUIET) == ""


@pytest.mark.parametrize(
    ("reading", "gate"),
    [
        ({"host_cpu_foreign": 9.0}, "host_cpu: 9 of them"),
        ({"host_steal": 0.05}, "host_steal: 5.0% of it"),
        ({"swap_in_b": 2**20}, "host_swap: 0.996 MiB"),
    ],
)
def test_a_busy_host_disturbs_the_control(tmp_path, monkeypatch, reading, gate):
    monkeypatch.setattr(
        watching.os, "cpu_count", lambda: 64
    )  # of which a tick is little, however short the control
    assert beside(tmp_path, QUIET, QUIET | reading).startswith(gate)


def test_who_lets_others_be_busy_does_not_say_that_the_control_does_not_feel_them(tmp_path):
    busy = QUIET | {"host_cpu_foreign": 9.0}
    assert beside(tmp_path, QUIET, busy, foreign_cpu=1000.0).startswith("host_cpu")
    assert beside(tmp_path, QUIET, QUIET | {"host_cpu_foreign": 3.0}, foreign_cpu=0.05).startswith("host_cpu")
    assert beside(tmp_path, QUIET, QUIET | {"host_steal": 0.5}, steal=1.0).startswith("host_steal")


def test_a_host_that_tells_nothing_disturbs_nothing(tmp_path):
    assert beside(tmp_path, {}) == ""


def test_another_process_on_the_device_disturbs_the_control(tmp_path):
    seen = beside(tmp_path, QUIET, telemetry={"foreign_pids": [4242]})
    assert seen == "foreign_process: process 4242 on the device"
