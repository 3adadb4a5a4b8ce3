import json
import shutil
import threading
from pathlib import Path

import pytest

from workers.devices import KINDS
from workers.devices.base import Host, Lack
from workers.devices.inspection.survey import survey_folder, survey_machine
from workers.errors import UsageError
from workers.readings import READERS
from workers.readings.record import FACTS, READINGS

FIXTURES = Path(__file__).parents[3] / "data" / "devices"


@pytest.fixture
def host(tmp_path):
    script = tmp_path / "devices.json"
    script.write_text(
        json.dumps(
            [
                {"class": "sim-a100", "hardware_id": f"sim-{index}", "telemetry": {"temp_c": 40 + index}}
                for index in range(3)
            ]
        )
    )
    return Host(tmp_path / "state", tmp_path, script)


def nothing_points_to(monkeypatch, *kinds):
    for kind in kinds:
        monkeypatch.setattr(KINDS[kind], "detect", classmethod(lambda cls, host: []))
        monkeypatch.setattr(KINDS[kind], "absent", classmethod(lambda cls: None))


# --- this machine ---


def test_the_document_has_every_device_of_the_machine_the_processor_last(host):
    document = survey_machine(host, ("cpu", "simulated"))
    assert [device["hardware_id"] for device in document["devices"][:3]] == ["sim-0", "sim-1", "sim-2"]
    assert document["devices"][3]["kind"] == "cpu"
    assert (document["version"], document["source"]) == (1, "machine")
    assert document["absent"] == document["untold"] == document["unread"] == []


def test_a_device_has_all_facts_and_readings_with_the_names_of_those_that_are_null(host):
    device = survey_machine(host, ("simulated",))["devices"][1]
    assert set(device["facts"]) == set(FACTS)
    assert set(device["readings"]) == set(READINGS)
    assert device["readings"]["temp_c"] == 41
    assert device["unavailable"]["readings"] == [
        name for name in READINGS if device["readings"][name] is None
    ]
    assert device["unavailable"]["facts"] == [name for name in FACTS if device["facts"][name] is None]
    assert device["source"] is None
    json.dumps(device, allow_nan=False)


def test_simulated_devices_are_none_of_a_machine_without_a_script(tmp_path):
    document = survey_machine(Host(tmp_path, tmp_path), ("cpu", "simulated"))
    assert [device["kind"] for device in document["devices"]] == ["cpu"]


def test_a_kind_that_something_points_to_is_absent_with_the_way_to_get_it(host, monkeypatch):
    nothing_points_to(monkeypatch, "tpu", "nvidia")
    lack = Lack("NVIDIA GPU (PCI device 0000:01:00.0)", "there is no NVML", "install the driver")
    monkeypatch.setattr(KINDS["nvidia"], "absent", classmethod(lambda cls: lack))
    document = survey_machine(host, ("nvidia", "tpu"))
    assert document["absent"] == [{"kind": "nvidia", **lack._asdict()}]
    assert document["devices"] == []


def test_a_device_that_is_missing_beside_others_is_told_of(host, monkeypatch):
    lack = Lack("NVIDIA GPU", "NVML answers GpuIsLost to GPU 1", "see dmesg")
    monkeypatch.setitem(KINDS, "nvidia", KINDS["simulated"])
    monkeypatch.setattr(KINDS["simulated"], "absent", classmethod(lambda cls: lack))
    document = survey_machine(host, ("nvidia",))
    assert len(document["devices"]) == 3
    assert [one["why"] for one in document["absent"]] == ["NVML answers GpuIsLost to GPU 1"]


def test_a_kind_whose_driver_hangs_is_told_as_such_and_hides_no_other(host, monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(KINDS["tpu"], "detect", classmethod(lambda cls, host: over.wait() and []))
    document = survey_machine(host, ("tpu", "simulated"), patience_s=0.5)
    over.set()
    assert len(document["devices"]) == 3
    (absent,) = document["absent"]
    assert (absent["kind"], absent["why"]) == ("tpu", "its driver or its tools did not answer within 0.5 s")


def test_a_kind_that_fails_hides_no_other(host, monkeypatch):
    def fail(cls, host):
        raise ZeroDivisionError("no chips")

    monkeypatch.setattr(KINDS["tpu"], "detect", classmethod(fail))
    document = survey_machine(host, ("tpu", "simulated"))
    assert len(document["devices"]) == 3
    assert document["absent"][0]["why"] == "looking for it failed: ZeroDivisionError: no chips"


def test_a_wrong_script_is_wrong_usage(tmp_path):
    with pytest.raises(UsageError, match="no readable JSON"):
        survey_machine(Host(tmp_path, tmp_path, tmp_path / "gone.json"), ("simulated",))


def test_devices_are_closed_again(host, monkeypatch):
    closed = []
    monkeypatch.setattr(KINDS["simulated"], "close", lambda self: closed.append(self.hardware_id))
    survey_machine(host, ("simulated",))
    assert closed == ["sim-0", "sim-1", "sim-2"]


# --- recordings ---


@pytest.fixture
def dump(tmp_path):
    shutil.copy(FIXTURES / "tegrastats" / "orin_nx_jetpack5.txt", tmp_path / "a")
    shutil.copy(FIXTURES / "rocminfo" / "no-gpu-6.3.txt", tmp_path / "b")
    (tmp_path / "c").write_text("notes\n")
    return tmp_path


def test_a_recorded_device_says_which_file_and_tool_all_its_numbers_are_from(dump):
    (device,) = survey_folder(dump)["devices"]
    assert device["source"] == {"file": "a", "tool": "tegrastats", "form": "lines"}


def test_the_readings_are_the_last_and_the_samples_are_all_without_nulls(dump):
    (device,) = survey_folder(dump)["devices"]
    assert [sample["time"] for sample in device["samples"]] == ["2024-03-04T09:08:07", "2024-03-04T09:08:08"]
    assert device["readings"]["time"] == "2024-03-04T09:08:08"
    assert all(value is not None for sample in device["samples"] for value in sample.values())


def test_files_that_no_device_was_read_from_are_listed_with_the_tool_that_wrote_them(dump):
    assert survey_folder(dump)["unread"] == [
        {"file": "b", "tool": "rocminfo", "form": "text", "why": "it tells of no device"},
        {"file": "c", "tool": None, "form": None, "why": "not an output of a device tool that is known"},
    ]


def test_what_recordings_of_a_kind_leave_open_comes_with_the_command_that_would_tell_it(dump):
    (untold,) = survey_folder(dump)["untold"]
    assert (untold["kind"], untold["how"]) == ("jetson", ["nvpmodel -q"])
    shutil.copy(FIXTURES / "nvpmodel" / "maxn.txt", dump / "d")
    assert survey_folder(dump)["untold"] == []


def test_a_device_without_readings_has_the_names_of_all_of_them_as_null():
    devices = survey_folder(FIXTURES / "rocminfo" / "mi300-6.3.txt")["devices"]
    assert devices
    for device in devices:
        assert device["samples"] == []
        assert device["unavailable"]["readings"] == list(READINGS)
        assert set(device["readings"].values()) == {None}


# --- a whole site ---


def test_of_recordings_of_many_tools_each_is_read_by_the_reader_of_its_tool(recordings):
    tools = {reader.tool for reader in READERS}
    document = survey_folder(recordings)
    read = {
        (source["file"], source["tool"]) for device in document["devices"] if (source := device["source"])
    }
    assert read
    assert {file: tool for file, tool in read if file.split("/")[0] != tool} == {}
    assert [one for one in document["unread"] if one["file"].split("/")[0] in tools] == []
    json.dumps(document, allow_nan=False)
