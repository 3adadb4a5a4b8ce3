from app.domain.results import ControlProbe, DeviceReading, DeviceState
from app.reports.device_states import control_views, state_views


def state(*readings, throttled=(), unavailable=()):
    return DeviceState("GPU-1", tuple(readings), throttled, unavailable)


def row(*state_parts, **kwargs):
    (view,) = state_views([state(*state_parts, **kwargs)])
    return view.rows[0]


def test_a_reading_shows_the_middle_of_each_arm_and_its_ends_with_the_unit_once():
    shown = row(DeviceReading("power_w", "W", (280.0, 290.0, 300.0), (300.0, 300.0, 300.0)))
    assert (shown.name, shown.base, shown.base_range) == ("Power", "290 W", "280 … 300 W")
    assert (shown.head, shown.head_range) == ("300 W", "")


def test_shares_and_temperatures_have_their_own_units():
    assert row(DeviceReading("util", "1", (0.5, 0.9, 1.0), None)).base_range == "50.0 … 100 %"
    assert row(DeviceReading("temp_c", "°C", (50.0, 55.0, 61.5), None)).base_range == "50 … 61.5 °C"
    assert row(DeviceReading("util", "1", None, (0.5, 0.5, 0.5))).base == "–"


def test_both_ends_of_a_range_have_the_digits_of_the_middle():
    shown = row(DeviceReading("host_cpu_foreign", "processors", (0.2137, 0.51, 0.8), (0.0, 0.25, 0.8)))
    assert (shown.base_range, shown.head_range) == ("0.21 … 0.8", "0 … 0.8")


def test_what_differs_between_the_arms_is_marked():
    assert row(DeviceReading("temp_c", "°C", (50.0,) * 3, (60.0,) * 3)).differs
    assert not row(DeviceReading("temp_c", "°C", (50.0,) * 3, (51.0,) * 3)).differs
    assert row(DeviceReading("util", "1", (0.5,) * 3, (0.6,) * 3)).differs
    assert row(throttled=(("power_cap", 0.0, 0.9),)).differs


def test_reasons_that_held_the_clock_down_are_rows():
    shown = row(throttled=(("sw_thermal", 0.1, 0.1),))
    assert (shown.name, shown.base, shown.head) == ("Held back: sw thermal", "10.0 %", "10.0 %")


def test_a_device_that_told_nothing_is_not_shown():
    assert state_views([state()]) == ()


def test_what_a_device_does_not_tell_is_named():
    reading = DeviceReading("util", "1", (0.5,) * 3, None)
    (view,) = state_views([state(reading, unavailable=("power_w", "mem_temp_c"))])
    assert view.missing == "power, memory temperature"


def test_two_devices_are_shown_apart():
    reading = DeviceReading("temp_c", "°C", (54, 55, 56), None)
    assert [view.each for view in state_views([state(reading)] * 2)] == [(), ()]


def test_more_devices_are_shown_together_with_each_behind_them():
    devices = [
        state(DeviceReading("temp_c", "°C", (t - 1, t, t + 1), (t, t + 9, t + 9)), unavailable=("util",))
        for t in (50, 60, 70)
    ]
    (view,) = state_views(devices)
    (its,) = view.rows
    assert view.name.shown == "3 devices together"
    assert (its.base, its.base_range) == ("60 °C", "49 … 71 °C")
    assert (its.head, its.head_range, its.differs) == ("69 °C", "50 … 79 °C", True)
    assert view.missing == "utilisation"
    assert [one.rows[0].base for one in view.each] == ["50 °C", "60 °C", "70 °C"]


def test_of_devices_together_one_that_was_held_back_is_seen():
    quiet, held = (state(throttled=[("power_cap", 0.0, share)]) for share in (0.0, 0.4))
    (its,) = state_views([quiet, quiet, held])[0].rows
    assert (its.head, its.head_range, its.differs) == ("0 %", "0 … 40.0 %", True)


def test_the_control_is_told_as_change_since_the_start():
    (view,) = control_views([ControlProbe("gemm_fp32", 0.010, (0.011, 0.0105), 0.0099, "1 GFLOP/s")])
    assert (view.name, view.start, view.blocks, view.end) == ("gemm fp32", "10 ms", "+7.5 %", "−1.0 %")


def test_a_control_without_a_start_shows_its_times():
    (view,) = control_views([ControlProbe("triad", None, (), 0.02)])
    assert (view.start, view.blocks, view.end, view.rate) == ("–", "–", "20 ms", "–")
