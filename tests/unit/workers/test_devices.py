import json
from pathlib import Path

import pytest

from workers.devices import KINDS, detect
from workers.devices.base import CACHE_VARIABLES, Host, Lack
from workers.errors import InUseError, UsageError
from workers.readings.record import READINGS, tick

SCRIPT = {"class": "sim-a100", "hardware_id": "sim-0"}


@pytest.fixture
def host(tmp_path):
    script = tmp_path / "devices.json"
    script.write_text(json.dumps([SCRIPT]))
    return Host(tmp_path / "state", tmp_path, script)


@pytest.fixture(params=("cpu", "simulated"))
def device(request, host):
    """A device of each kind that every machine can have; the others are tried on doubles of their drivers."""
    return detect((request.param,), host)[0]


def scripted(tmp_path, *scripts):
    file = tmp_path / "devices.json"
    file.write_text(json.dumps(scripts))
    return detect(("simulated",), Host(tmp_path / "state", tmp_path, file))


# --- what every kind does ---


def test_a_device_introduces_itself(device):
    report = device.report()
    assert (report.kind, report.hardware_id) == (device.kind, device.hardware_id)
    assert report.device_class
    assert set(report.fingerprint) == {"machine", "identity", "soft", "unavailable"}
    assert report.machine_hash == device.report().machine_hash


def test_every_reading_is_there_or_listed_as_unavailable(device):
    reading = device.telemetry()
    assert set(reading) == {*READINGS, "unavailable"}
    assert set(reading["unavailable"]) == {name for name in READINGS if reading[name] is None}
    json.dumps(reading, allow_nan=False)


def test_a_device_is_measured_on_by_one_agent_at_a_time(device, host):
    twin = detect((device.kind,), host)[0]
    device.lock()
    with pytest.raises(InUseError, match=device.device_class):
        twin.lock()
    device.unlock()
    twin.lock()
    twin.unlock()


def test_a_device_belongs_to_one_agent(device, host):
    with device.agent_lock, pytest.raises(InUseError, match="belongs to another agent"):
        detect((device.kind,), host)[0].agent_lock.acquire()


def test_belonging_to_an_agent_and_being_measured_on_are_apart(device):
    with device.agent_lock:
        device.lock()
        device.unlock()


def test_every_compile_cache_is_pointed_into_the_folder(device):
    variables = device.cache_env(Path("/caches/base"))
    assert set(variables) == set(CACHE_VARIABLES)
    assert len({value for value in variables.values() if value.startswith("/caches/base/")}) == len(
        CACHE_VARIABLES
    )


def test_the_rest_of_the_interface_answers(device):
    device.sync()
    assert device.device_timer() is None
    assert isinstance(device.processes(), list)
    assert isinstance(device.flush_cache(), bool)


def test_a_reading_that_does_not_exist_is_a_mistake():
    with pytest.raises(AssertionError, match="colour"):
        tick(colour=3)


# --- simulated ---


def test_a_simulated_device_is_what_its_script_says(tmp_path):
    (device,) = scripted(
        tmp_path,
        SCRIPT
        | {
            "model": "Simulated A100",
            "fingerprint": {"machine": {"driver": "1.2", "device_count": 8}, "identity": {"serial": "x"}},
            "telemetry": {"temp_c": 45.0, "foreign_pids": [7]},
        },
    )
    report = device.report()
    assert (report.device_class, report.hardware_id, report.model) == ("sim-a100", "sim-0", "Simulated A100")
    machine = report.fingerprint["machine"]
    assert (machine["driver"], machine["device_count"], machine["kind"]) == ("1.2", 8, "simulated")
    assert report.fingerprint["identity"]["serial"] == "x"
    assert (device.telemetry()["temp_c"], device.processes()) == (45.0, [7])


def test_the_readings_of_a_script_change_with_each_look_and_the_last_stays(tmp_path):
    ticks = [{"temp_c": 50.0}, {"temp_c": 60.0, "foreign_pids": [7]}, {}]
    (device,) = scripted(tmp_path, SCRIPT | {"telemetry": {"temp_c": 45.0}, "ticks": ticks})
    seen = [(device.telemetry()["temp_c"], device.processes()) for _ in range(4)]
    assert seen == [(50.0, []), (60.0, [7]), (45.0, []), (45.0, [])]


def test_another_driver_in_the_script_is_another_machine(tmp_path):
    hashes = {
        scripted(tmp_path, SCRIPT | {"fingerprint": {"machine": {"driver": driver}}})[0].report().machine_hash
        for driver in ("1", "2")
    }
    assert len(hashes) == 2


def test_the_harness_is_told_of_noise_and_faults(tmp_path):
    (device,) = scripted(
        tmp_path,
        SCRIPT | {"noise_sd": 0.02, "seed": 5, "faults": [{"kind": "slow", "factor": 1.5, "arm": "head"}]},
    )
    device.begin("base", 0)
    assert device.simulation() == {"noise_sd": 0.02, "drift": 0.0, "seed": 5, "faults": []}
    device.begin("head", 0)
    assert device.simulation()["faults"] == [{"kind": "slow", "factor": 1.5}]


def test_devices_without_a_seed_draw_apart_but_repeatably(tmp_path):
    def seeds():
        return [
            device.simulation()["seed"]
            for device in scripted(tmp_path, SCRIPT, SCRIPT | {"hardware_id": "sim-1"})
        ]

    assert seeds() == seeds()
    assert len(set(seeds())) == 2


@pytest.mark.parametrize(
    ("scripts", "problem"),
    [
        ([], "the list is empty"),
        ([SCRIPT, SCRIPT], "two devices have the hardware_id 'sim-0'"),
        ([{"class": "x"}], "0.hardware_id: Field required"),
        ([SCRIPT | {"noise": 0.1}], "0.noise: Extra inputs"),
        ([SCRIPT | {"noise_sd": -1}], "0.noise_sd"),
        ([SCRIPT | {"faults": [{"kind": "explode"}]}], "0.faults.0.kind"),
        ([SCRIPT | {"telemetry": {"colour": 1}}], "no reading named colour"),
        ([SCRIPT | {"ticks": [{"colour": 1}]}], "no reading named colour"),
    ],
)
def test_a_wrong_script_is_refused_with_file_and_place(tmp_path, scripts, problem):
    with pytest.raises(UsageError, match=f"devices.json: .*{problem}"):
        scripted(tmp_path, *scripts)


def test_a_script_that_is_no_json_is_refused(tmp_path):
    (tmp_path / "devices.json").write_text("{")
    with pytest.raises(UsageError, match="no readable JSON"):
        detect(("simulated",), Host(tmp_path, tmp_path, tmp_path / "devices.json"))


def test_simulated_devices_need_a_script(tmp_path):
    with pytest.raises(UsageError, match="RATCHET_SIMULATED"):
        detect(("simulated",), Host(tmp_path, tmp_path))


def test_a_kind_that_this_host_has_no_device_of_is_refused_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(KINDS["nvidia"], "detect", classmethod(lambda cls, host: []))
    lack = Lack("telemetry", "the driver is not loaded", "load it")
    monkeypatch.setattr(KINDS["nvidia"], "absent", classmethod(lambda cls: lack))
    with pytest.raises(UsageError, match=r"--kind nvidia: .* the driver is not loaded; load it"):
        detect(("nvidia",), Host(tmp_path / "state", tmp_path))
