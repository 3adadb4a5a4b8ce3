"""What devices did while a case was timed: only readings in its window count, and few of them say nothing."""

import base64
import json
import zlib

import pytest

from app.analysis.efficiency.watched import FEWEST, POWER, THERMAL, unpacked, watched
from workers.measuring import gates
from workers.measuring.sampling import packed

TENTH = 100_000_000


def device(**columns):
    """Readings ten times a second; a column of one value holds for all of them."""
    length = max(map(len, columns.values()))
    return {"t_ns": [n * TENTH for n in range(length)], **columns}


def test_only_readings_within_the_window_count():
    busy = device(util=[0.0] * 10 + [1.0] * 10 + [0.0] * 10)
    assert watched([busy], (10 * TENTH, 19 * TENTH), [None])["util"] == 1.0
    assert watched([busy], (5 * TENTH, 14 * TENTH), [None])["util"] == 0.5
    assert watched([busy], None, [None])["util"] == pytest.approx(1 / 3)


def test_few_readings_say_nothing():
    busy = device(util=[0.4] * 20, sm_clock_hz=[1e9] * 20, throttle_reasons=[[]] * 20)
    assert watched([busy], (0, (FEWEST - 2) * TENTH), [2e9]) == {}
    assert watched([busy], (0, (FEWEST - 1) * TENTH), [2e9]).keys() == {
        "util",
        "clock_share",
        "power_throttle_share",
        "thermal_throttle_share",
    }


def test_column_of_one_value_holds_for_every_reading():
    told = watched([{"t_ns": [n * TENTH for n in range(8)], "tensor_active": [0.7]}], (0, 8 * TENTH), [None])
    assert told == {"tensor_active": pytest.approx(0.7)}


@pytest.mark.parametrize("strange", [float("nan"), float("inf"), True, "busy", 10**400])
def test_reading_that_is_no_finite_number_is_none(strange):
    assert watched([device(util=[strange] * 9)], None, [None]) == {}
    assert watched([device(util=[0.5] * 9 + [strange])], None, [None])["util"] == 0.5


def test_readings_that_unpack_to_too_much_are_none():
    spaces = " " * (32 * 2**20)
    assert unpacked(zlib.compress(f"[{spaces}]".encode())) == []


def test_limits_of_power_and_of_heat_are_told_apart_and_idle_is_none():
    reasons = [["power_cap"], ["power_cap", "sw_thermal"], ["idle"], [], ["application_clocks"]]
    told = watched([device(throttle_reasons=reasons)], None, [None])
    assert told == {"power_throttle_share": 0.4, "thermal_throttle_share": 0.2}


def test_reasons_are_those_of_the_agents_gates():
    assert frozenset(gates.POWER) == POWER
    assert frozenset(gates.THERMAL) == THERMAL


def test_clock_is_the_median_while_the_device_had_work_over_its_highest():
    one = device(sm_clock_hz=[3e8] * 9 + [1.5e9] * 6, util=[0.0] * 9 + [0.9] * 6)
    assert watched([one], None, [2e9])["clock_share"] == 0.75
    assert "clock_share" not in watched([one], None, [None])
    assert "clock_share" not in watched([one], None, [])


def test_of_several_devices_work_is_their_mean_and_the_worst_limit_counts():
    first = device(util=[1.0] * 6, sm_clock_hz=[1.8e9] * 6, throttle_reasons=[[]] * 6)
    second = device(util=[0.5] * 6, sm_clock_hz=[1.2e9] * 6, throttle_reasons=[["power_cap"]] * 6)
    told = watched([first, second], None, [2e9, 2e9])
    assert (told["util"], told["clock_share"], told["power_throttle_share"]) == (0.75, 0.6, 1.0)


def test_what_one_device_does_not_tell_is_not_told_of_all():
    assert watched([device(util=[1.0] * 6), device(temp_c=[60] * 6)], None, [None, None]) == {}


def test_readings_that_are_missing_are_left_out_of_the_mean():
    told = watched([device(util=[None, 1.0, None, 0.5, 1.0, 0.5, 1.0])], None, [None])
    assert told["util"] == 0.8


def test_what_an_agent_packs_is_read_again():
    ticks = [[{"t_ns": n * TENTH, "util": 0.5, "throttle_reasons": ["power_cap"]} for n in range(6)]] * 2
    devices = unpacked(base64.b64decode(packed(ticks)))
    assert len(devices) == 2
    assert watched(devices, None, []) == {
        "util": 0.5,
        "power_throttle_share": 1.0,
        "thermal_throttle_share": 0.0,
    }


@pytest.mark.parametrize(
    "ticks",
    [
        b"",
        b"no zlib",
        zlib.compress(b"[{}]")[:-3],
        zlib.compress(b"no json"),
        zlib.compress(b"{}"),
        zlib.compress(b"[3]"),
        zlib.compress(json.dumps([{"t_ns": 3}]).encode()),
        zlib.compress(b"[" * 100_000),
    ],
)
def test_what_cannot_be_read_is_no_reading(ticks):
    assert unpacked(ticks) == []


def test_columns_of_the_wrong_length_or_kind_are_passed_over():
    odd = {"t_ns": [0, TENTH, None, "x", 4 * TENTH] * 2, "util": [0.5] * 3, "sm_active": ["a"] * 10}
    odd |= {"throttle_reasons": [[["power_cap"]]] * 10}
    assert watched([odd], (0, 9 * TENTH), [None]) == {
        "power_throttle_share": 0.0,
        "thermal_throttle_share": 0.0,
    }
    assert watched([{"util": [0.5] * 6}], None, [None]) == {}
