"""The devices of a lease, asked as one."""

import json
import os

import pytest

from workers.devices import detect
from workers.devices.base import Host
from workers.devices.group import DeviceGroup
from workers.devices.simulated.device import SimulatedDevice
from workers.errors import InUseError
from workers.host.fingerprint import machine_hash


def scripted(folder, *scripts):
    """Simulated devices `sim-0`, `sim-1`, … that differ in what these scripts say."""
    file = folder / "devices.json"
    named = [{"class": "sim", "hardware_id": f"sim-{n}", **script} for n, script in enumerate(scripts)]
    file.write_text(json.dumps(named))
    return detect(("simulated",), Host(folder / "state", folder, file))


def group(folder, *scripts):
    return DeviceGroup(scripted(folder, *scripts))


def is_free(device):
    try:
        device.lock()
    except InUseError:
        return False
    device.unlock()
    return True


def test_a_group_of_one_answers_as_its_device(tmp_path):
    (device,) = scripted(tmp_path, {"telemetry": {"temp_c": 45.0, "foreign_pids": [7]}})
    one = DeviceGroup([device])
    assert machine_hash(one.fingerprint()) == device.report().machine_hash
    assert one.telemetry() | {"t_ns": 0} == device.telemetry() | {"t_ns": 0}
    assert one.processes() == device.processes() == [7]
    assert one.addresses == [device.address]
    assert one.simulation() == [device.simulation()]
    assert one.cache_env(tmp_path) == device.cache_env(tmp_path)


def test_every_device_is_locked_and_free_again_afterwards(tmp_path):
    three, twins = scripted(tmp_path, {}, {}, {}), scripted(tmp_path, {}, {}, {})
    with DeviceGroup(three[:2]).locked() as descriptors:
        assert len(set(descriptors)) == 2
        assert all(os.fstat(descriptor) for descriptor in descriptors)
        assert [is_free(twin) for twin in twins] == [False, False, True]
    assert all(is_free(twin) for twin in twins)


@pytest.mark.parametrize("busy", [0, 1, 2])
def test_a_busy_device_frees_all_others_and_is_named(tmp_path, busy):
    three, twins = scripted(tmp_path, {}, {}, {}), scripted(tmp_path, {}, {}, {})
    twins[busy].lock()
    with pytest.raises(InUseError, match=f"sim-{busy}"), DeviceGroup(three).locked():
        pass
    twins[busy].unlock()
    assert all(is_free(twin) for twin in twins)


def test_locks_are_taken_in_one_order_whatever_the_groups(tmp_path):
    first, second = scripted(tmp_path, {}, {}), scripted(tmp_path, {}, {})
    taken = []
    for device in (*first, *second):
        lock = device.lock
        device.lock = lambda lock=lock, name=device.hardware_id: taken.append(name) or lock()
    for devices in (first, second[::-1]):
        with DeviceGroup(devices).locked():
            pass
    assert taken == ["sim-0", "sim-1", "sim-0", "sim-1"]


def test_the_fingerprint_counts_all_devices_and_lists_what_differs(tmp_path):
    both = group(tmp_path, {}, {"fingerprint": {"machine": {"driver": "2"}}, "model": "other"}).fingerprint()
    assert both["machine"]["device_count"] == 2
    assert both["machine"]["device_model"] == ["simulated", "other"]
    assert both["machine"]["driver"] == [None, "2"]
    assert both["machine"]["kind"] == "simulated"
    assert both["identity"]["uuid"] == ["sim-0", "sim-1"]


def test_like_devices_are_one_machine_whichever_they_are(tmp_path):
    devices = scripted(tmp_path, {}, {}, {})
    hashes = {
        machine_hash(DeviceGroup(some).fingerprint())
        for some in (devices[:2], devices[1:], [devices[2], devices[0]])
    }
    assert len(hashes) == 1
    assert hashes != {machine_hash(DeviceGroup(devices).fingerprint())}
    assert hashes != {devices[0].report().machine_hash}


def test_telemetry_lists_each_devices_reading_and_names_what_one_does_not_tell(tmp_path):
    reading = group(tmp_path, {"telemetry": {"temp_c": 45.0}}, {"telemetry": {"temp_c": 50.0, "util": 1.0}})
    tick = reading.telemetry()
    assert tick["temp_c"] == [45.0, 50.0]
    assert tick["util"] == [None, 1.0]
    assert {"util", "power_w"} <= set(tick["unavailable"])
    assert "temp_c" not in tick["unavailable"]
    json.dumps(tick, allow_nan=False)


def test_a_process_on_any_device_is_foreign(tmp_path):
    crowded = group(
        tmp_path, {}, {"telemetry": {"foreign_pids": [9]}}, {"telemetry": {"foreign_pids": [9, 7]}}
    )
    assert crowded.processes() == [7, 9]


def test_measured_code_is_shown_exactly_the_groups_devices_in_its_order(tmp_path):
    devices = scripted(tmp_path, {}, {}, {})
    some = DeviceGroup([devices[2], devices[0]])
    assert some.visible_env() == {"SIMULATED_VISIBLE_DEVICES": "sim-2,sim-0"}
    assert some.addresses == ["cpu", "cpu"]


def test_the_processor_hides_no_device(tmp_path):
    cpu = DeviceGroup(detect(("cpu",), Host(tmp_path / "state", tmp_path)))
    assert cpu.visible_env() == {}
    assert cpu.simulation() is None


def test_work_and_caches_of_every_device_are_waited_for_and_flushed(tmp_path):
    devices, asked = scripted(tmp_path, {}, {}), []
    for device in devices:
        device.sync = lambda name=device.hardware_id: asked.append(name)
        device.flush_cache = lambda name=device.hardware_id: (
            bool(asked.append(f"flush {name}")) or name == "sim-1"
        )
    both = DeviceGroup(devices)
    both.sync()
    assert both.flush_cache() is False
    assert asked == ["sim-0", "sim-1", "flush sim-0", "flush sim-1"]


def test_slices_of_one_device_are_locked_once(tmp_path, monkeypatch):
    monkeypatch.setattr(SimulatedDevice, "lock_id", "the-parent")
    slices = scripted(tmp_path, {}, {})
    with DeviceGroup(slices).locked() as locks:
        assert len(locks) == 1
        assert not is_free(scripted(tmp_path, {})[0])
    assert is_free(slices[0])


def test_a_device_that_cannot_be_read_costs_its_readings_alone(tmp_path, monkeypatch):
    both = scripted(tmp_path, {"telemetry": {"temp_c": 45.0}}, {"telemetry": {"temp_c": 50.0}})
    monkeypatch.setattr(both[0], "telemetry", lambda: 1 / 0)
    assert DeviceGroup(both).temperatures_c() == [None, 50.0]
