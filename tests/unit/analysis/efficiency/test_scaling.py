import pytest

from app.analysis.efficiency.scaling import scaling_efficiency, step_time
from app.domain.derived import Given
from app.domain.errors import DataError


def of(value: float | None, unit: str = "1") -> Given:
    return Given(value, unit, "a test")


@pytest.mark.parametrize(
    ("mode", "n0", "n", "base", "scaled", "unit", "efficiency"),
    [
        ("strong", 1, 8, 8.0, 1.25, "s", 8.0 / (8 * 1.25)),
        ("strong", 2, 8, 4.0, 1.25, "s", 2 * 4.0 / (8 * 1.25)),
        ("weak", 1, 8, 1.0, 1.25, "s", 0.8),
        ("weak", 4, 8, 1.0, 1.25, "s", 0.8),
        ("strong", 1, 8, 100.0, 640.0, "samples/s", 0.8),
        ("weak", 1, 8, 100.0, 640.0, "samples/s", 0.8),
        ("weak", 2, 8, 200.0, 640.0, "tokens/s", 0.8),
        ("strong", 1, 4, 10.0, 2.0, "s", 1.25),
    ],
)
def test_efficiency_is_the_speed_up_over_the_devices(mode, n0, n, base, scaled, unit, efficiency):
    derived = scaling_efficiency(mode, of(n), of(n0), of(base, unit), of(scaled, unit))
    assert derived.value == pytest.approx(efficiency)
    assert (derived.unit, derived.notes) == ("1", ())


def test_times_of_perfect_scaling_and_the_rates_that_they_make_agree():
    n, work = 16, 3200.0
    times = scaling_efficiency("strong", of(n), of(1), of(work / 100, "s"), of(work / 1200, "s"))
    rates = scaling_efficiency("strong", of(n), of(1), of(100, "samples/s"), of(1200, "samples/s"))
    assert times.value == pytest.approx(rates.value) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("mode", "n", "n0", "named"),
    [
        (None, 8, 1, "scaling_mode must"),
        ("strong", None, 1, "n must"),
        ("weak", 8, None, "n0 must"),
        (None, None, None, "scaling_mode and n and n0 must"),
    ],
)
def test_efficiency_without_mode_or_devices_is_none_and_says_what_is_missing(mode, n, n0, named):
    derived = scaling_efficiency(mode, of(n), of(n0), of(8.0, "s"), of(1.25, "s"))
    assert (derived.value, derived.codes) == (None, ("scaling_mode_missing",))
    assert named in derived.notes[0].text
    assert [given.name for given in derived.inputs] == ["n", "n0", "base", "scaled"]


def test_time_and_rate_are_not_mixed():
    with pytest.raises(DataError) as refusal:
        scaling_efficiency("strong", of(8), of(1), of(8.0, "s"), of(640.0, "samples/s"))
    assert refusal.value.code == "mixed_units"


def test_measurement_that_is_missing_gives_none():
    assert scaling_efficiency("weak", of(8), of(1), of(None, "s"), of(1.0, "s")).codes == ("missing",)


@pytest.mark.parametrize(
    ("ranks", "time"),
    [
        ([[1.0, 2.0, 3.0], [1.5, 1.0, 4.0]], 2.0),
        ([[1.0, 9.0, 1.0]], 1.0),
        ([[1.0, 2.0], [3.0]], 3.0),
        ([], None),
        ([[], [1.0]], None),
    ],
)
def test_time_of_a_step_is_the_median_of_the_slowest_rank(ranks, time):
    assert step_time(ranks) == time
