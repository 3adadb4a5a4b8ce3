"""The wait before an invocation, on simulated devices whose readings change from one look to the next."""

import json
import threading

import pytest

from tests.unit.workers.fake_clock import FakeClock
from workers.devices import detect
from workers.devices.base import Host
from workers.devices.group import DeviceGroup
from workers.measuring.settling import Settling, is_near


def settling(folder, *devices, clock):
    """A wait on simulated devices; each is given by its temperatures, or its ticks, in the order of the looks."""
    scripts = [
        {
            "class": "sim",
            "hardware_id": f"sim-{number}",
            "ticks": [tick if isinstance(tick, dict) else {"temp_c": tick} for tick in ticks],
        }
        for number, ticks in enumerate(devices)
    ]
    (folder / "devices.json").write_text(json.dumps(scripts))
    found = detect(("simulated",), Host(folder / "state", folder, folder / "devices.json"))
    return Settling(DeviceGroup(found), clock, longest_s=60.0, poll_s=0.5)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def running():
    """A lease that goes on."""
    return threading.Event()


@pytest.mark.parametrize(
    ("starts", "now_c", "near"),
    [
        ([], 90.0, True),
        ([50.0], 53.0, True),
        ([50.0], 47.0, True),
        ([50.0], 53.1, False),
        ([50.0], 46.9, False),
        ([50.0, 50.0, 90.0], 51.0, True),
        ([50.0], None, True),
    ],
)
def test_near_is_within_three_degrees_of_the_median_of_earlier_starts(starts, now_c, near):
    assert is_near(now_c, starts) is near


def test_the_first_invocation_waits_for_no_temperature(tmp_path, clock, running):
    assert settling(tmp_path, [90.0], clock=clock).wait(running) == []
    assert clock.waits == []


def test_a_device_that_became_warm_is_waited_for_until_it_has_cooled_down(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 60.0, 55.0, 52.0], clock=clock)
    assert [wait.wait(running), clock.waits] == [[], []]
    assert [wait.wait(running), clock.waits] == [[], [0.5, 0.5]]


def test_a_device_that_stays_warm_is_measured_after_the_longest_wait_and_flagged(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 70.0], clock=clock)
    wait.wait(running)
    assert wait.wait(running) == ["temp_not_equalised"]
    assert sum(clock.waits) == pytest.approx(60.0)


def test_a_device_that_is_too_cold_is_flagged_at_once_as_waiting_warms_nothing(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 40.0], clock=clock)
    wait.wait(running)
    assert [wait.wait(running), clock.waits] == [["temp_not_equalised"], []]


def test_what_a_device_was_measured_at_in_spite_of_it_becomes_usual(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 70.0], clock=clock)
    flags = [wait.wait(running) for _ in range(5)]
    assert flags == [[], ["temp_not_equalised"], ["temp_not_equalised"], [], []]


def test_an_unknown_temperature_is_not_waited_for(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, None, 50.0, None], clock=clock)
    assert [wait.wait(running) for _ in range(4)] == [[]] * 4
    assert clock.waits == []


def test_each_of_several_devices_has_its_own_usual_temperature(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 50.0, 50.0], [80.0, 90.0, 81.0], clock=clock)
    assert [wait.wait(running) for _ in range(2)] == [[], []]
    assert clock.waits == [0.5]


def test_a_foreign_process_is_waited_for_even_where_the_temperature_is_unknown(tmp_path, clock, running):
    busy, free = {"foreign_pids": [7]}, {"foreign_pids": []}
    wait = settling(tmp_path, [free], [busy, busy, free], clock=clock)
    assert [wait.wait(running), clock.waits] == [[], [0.5, 0.5]]


def test_a_foreign_process_that_stays_is_flagged_by_its_own_name(tmp_path, clock, running):
    wait = settling(tmp_path, [{"temp_c": 50.0, "foreign_pids": [7]}], clock=clock)
    assert wait.wait(running) == ["foreign_process"]
    assert sum(clock.waits) == pytest.approx(60.0)


def test_the_end_of_the_lease_ends_the_wait_at_once(tmp_path, clock, running):
    wait = settling(tmp_path, [50.0, 70.0], clock=clock)
    wait.wait(running)
    running.set()
    wait.wait(running)
    assert clock.waits == []
