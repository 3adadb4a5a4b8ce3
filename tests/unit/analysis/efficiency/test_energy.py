import pytest

from app.analysis.efficiency.energy import (
    MIN_WINDOW_S,
    counter_energy,
    energy_net_per_iter,
    energy_per_iter,
    perf_per_watt,
)
from app.domain.derived import Given
from app.domain.errors import DataError


def of(value: float | None, unit: str, origin: str = "a test") -> Given:
    return Given(value, unit, origin)


ENERGY, ITERATIONS, WINDOW, IDLE = of(3500, "J"), of(700, "1"), of(10, "s"), of(70, "W")


def test_energy_of_an_iteration_is_the_counters_difference_over_iterations():
    drawn = counter_energy(of(1_000_000, "mJ", "NVML"), of(4500, "J", "NVML"))
    assert (drawn.value, drawn.unit) == (3500.0, "J")
    derived = energy_per_iter(drawn.as_given(), ITERATIONS, WINDOW)
    assert (derived.value, derived.unit, derived.notes) == (5.0, "J", ())
    assert [given.name for given in derived.inputs] == ["energy", "iterations", "window"]


def test_net_energy_leaves_out_what_an_idle_device_draws():
    derived = energy_net_per_iter(ENERGY, ITERATIONS, WINDOW, IDLE)
    assert derived.value == pytest.approx((3500 - 70 * 10) / 700)
    assert derived.unit == "J"


def test_less_than_idle_is_kept_and_marked():
    derived = energy_net_per_iter(of(500, "J"), of(100, "1"), WINDOW, IDLE)
    assert (derived.value, derived.codes) == (-2.0, ("below_idle",))


@pytest.mark.parametrize(("window", "codes"), [(4.999, ("energy_window_short",)), (5.0, ()), (5000.0, ())])
def test_window_below_five_seconds_gives_no_energy(window, codes):
    assert MIN_WINDOW_S == 5.0
    for derived in (
        energy_per_iter(ENERGY, ITERATIONS, of(window, "s")),
        energy_net_per_iter(of(3500, "kJ"), ITERATIONS, of(window, "s"), IDLE),
        perf_per_watt(of(7000, "samples"), ENERGY, of(window, "s")),
    ):
        assert derived.codes == codes
        assert (derived.value is None) == bool(codes)


def test_window_in_another_unit_of_time_is_understood():
    assert energy_per_iter(ENERGY, ITERATIONS, of(4000, "ms")).codes == ("energy_window_short",)
    assert energy_per_iter(ENERGY, ITERATIONS, of(1, "min")).value == 5.0


def test_counter_that_went_backwards_gives_no_energy_and_the_reason_travels():
    drawn = counter_energy(of(4500, "J"), of(12, "J", "NVML after a restart"))
    assert (drawn.value, drawn.codes) == (None, ("counter_went_back",))
    derived = energy_per_iter(drawn.as_given(), ITERATIONS, WINDOW)
    assert (derived.value, derived.codes) == (None, ("counter_went_back",))
    assert "NVML after a restart" in derived.notes[0].text


def test_counter_that_stood_still_is_no_energy_at_all():
    assert counter_energy(of(7, "J"), of(7, "J")).value == 0.0


def test_missing_readings_and_idle_power_give_none_with_a_reason():
    drawn = counter_energy(of(None, "J", "the driver has no counter"), of(4500, "J"))
    assert energy_per_iter(drawn.as_given(), ITERATIONS, WINDOW).codes == ("missing",)
    net = energy_net_per_iter(ENERGY, ITERATIONS, WINDOW, of(None, "W", "idle power was not measured"))
    assert (net.value, net.codes) == (None, ("missing",))
    assert energy_per_iter(ENERGY, of(0, "1"), WINDOW).codes == ("invalid_input",)
    assert energy_per_iter(ENERGY, ITERATIONS, of(None, "s", "no window")).value is None


@pytest.mark.parametrize(
    ("work", "unit"),
    [("samples", "samples/J"), ("tokens", "tokens/J"), ("1", "1/J"), ("k images", "images/J")],
)
def test_work_per_joule_is_in_the_unit_of_the_work(work, unit):
    derived = perf_per_watt(of(7000, work), ENERGY, WINDOW)
    assert derived.unit == unit
    assert derived.value == pytest.approx(2.0 * (1000 if work.startswith("k ") else 1))


def test_power_is_no_energy():
    with pytest.raises(DataError, match="different kinds of units"):
        energy_per_iter(of(350, "W"), ITERATIONS, WINDOW)
    with pytest.raises(DataError, match="different kinds of units"):
        energy_net_per_iter(ENERGY, ITERATIONS, WINDOW, of(70, "J"))
