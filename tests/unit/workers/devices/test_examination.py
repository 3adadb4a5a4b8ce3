import json

import pytest

from workers.devices import KINDS
from workers.devices.base import Host
from workers.devices.inspection import examination
from workers.devices.inspection.examination import examine, power_modes, swap_used_b


@pytest.fixture
def host(tmp_path):
    script = tmp_path / "devices.json"
    script.write_text(
        json.dumps([{"class": "sim-a100", "hardware_id": "sim-0", "telemetry": {"foreign_pids": [1]}}])
    )
    return Host(tmp_path / "state", tmp_path, script)


def test_a_machine_is_looked_at_with_its_devices_and_its_host(host, monkeypatch):
    monkeypatch.setattr(examination, "LOOK_S", 0.0)
    monkeypatch.setattr(examination, "swap_used_b", lambda: 2**30)
    for kind in KINDS.keys() - {"simulated"}:
        monkeypatch.delitem(KINDS, kind)
    monkeypatch.setattr(examination, "survey_machine", lambda host: survey(host))
    found = examine(host)
    assert set(found) == {"version", "devices", "ailments", "advice", "absent"}
    assert [device["hardware_id"] for device in found["devices"]] == ["sim-0"]
    assert found["ailments"][0]["where"] == "sim-0"
    assert found["ailments"][0]["what"] == "another program is on the device: 1"
    assert {"code", "where", "what", "cost", "mend"} == set(found["ailments"][0])
    assert "swap" in [ailment["code"] for ailment in found["ailments"] if ailment["where"] == "host"]


def survey(host):
    from workers.devices.inspection.survey import survey_machine

    return survey_machine(host, ("simulated",))


def test_power_modes_are_read_from_the_boards_configuration(tmp_path):
    file = tmp_path / "nvpmodel.conf"
    file.write_text(
        "# < POWER_MODEL ID=9 NAME=OLD >\n< PARAM TYPE=CLOCK NAME=GPU >\n"
        "< POWER_MODEL ID=0 NAME=15W >\nCPU_ONLINE CORE_0 1\n\n<POWER_MODEL ID=2 NAME=MAXN_SUPER>\n"
        "< PM_CONFIG DEFAULT=0 >\n"
    )
    assert power_modes(file) == {"15W": 0, "MAXN_SUPER": 2}


def test_a_machine_that_is_no_jetson_has_no_power_modes(tmp_path):
    assert power_modes(tmp_path / "nvpmodel.conf") == {}


@pytest.mark.parametrize(
    ("text", "used_b"),
    [
        ("SwapTotal:       2000 kB\nSwapFree:        1500 kB\n", 500 * 1024),
        ("SwapTotal:          0 kB\nSwapFree:           0 kB\n", 0),
        ("MemTotal:       2000 kB\n", None),
        (None, None),
    ],
)
def test_memory_in_swap_is_what_is_not_free_there(text, used_b, monkeypatch):
    monkeypatch.setattr(examination, "read_text", lambda path: text)
    assert swap_used_b() == used_b
