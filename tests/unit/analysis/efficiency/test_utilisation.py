import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.accelerators.lookup import figures_of
from app.analysis.efficiency.utilisation import (
    bandwidth_util,
    bytes_per_s,
    flops_per_s,
    hfu,
    mfu,
    share_of_time,
)
from app.domain.derived import Given
from app.domain.errors import DataError


def of(value: float | None, unit: str, origin: str = "a test") -> Given:
    return Given(value, unit, origin)


H100 = figures_of("NVIDIA H100 80GB HBM3").peak("bf16")
STEP = {"flop": of(6.2e15, "FLOP"), "time": of(1.6, "s"), "devices": of(8, "1"), "peak": H100}


def test_mfu_is_model_flop_over_what_all_devices_could_do():
    derived = mfu(**STEP)
    assert derived.value == pytest.approx(6.2e15 / (1.6 * 8 * 989e12))
    assert derived.unit == "1"
    assert derived.formula == "model FLOP / (time · devices · peak)"
    assert [given.name for given in derived.inputs] == ["model FLOP", "time", "devices", "peak"]
    assert derived.inputs[-1].origin.startswith("H100-SXM (1 GPU), https://")
    assert derived.notes == ()


def test_hfu_is_the_same_of_executed_flop():
    derived = hfu(of(8.2e15, "FLOP"), STEP["time"], STEP["devices"], H100)
    assert derived.value == pytest.approx(8.2e15 / (1.6 * 8 * 989e12))
    assert derived.inputs[0].name == "executed FLOP"


def test_units_with_prefixes_are_brought_together():
    derived = mfu(of(6.2, "PFLOP"), of(1600, "ms"), of(8, "1"), of(989, "TFLOPS"))
    assert derived.value == pytest.approx(mfu(**STEP).value)


def test_mfu_of_an_unknown_device_is_none_and_says_which():
    derived = mfu(**STEP | {"peak": figures_of("NVIDIA GH200 480GB").peak("bf16")})
    assert (derived.value, derived.codes) == (None, ("unknown_peak",))
    assert "GH200" in derived.notes[0].text


def test_mfu_against_a_peak_that_nobody_compared_is_marked():
    derived = mfu(**STEP | {"peak": figures_of("NVIDIA A10G").peak("bf16"), "devices": of(100, "1")})
    assert derived.value is not None
    assert derived.codes == ("not_verified",)


@pytest.mark.parametrize(
    ("share", "codes"), [(0.4, ()), (1.0, ()), (1.019, ()), (1.03, ("beyond_peak",)), (7.0, ("beyond_peak",))]
)
def test_share_beyond_the_peak_is_kept_and_marked(share, codes):
    for derived in (
        mfu(of(share * 989e12, "FLOP"), of(1, "s"), of(1, "1"), H100),
        bandwidth_util(of(share * 3.35e12, "B"), of(1, "s"), of(3.35e12, "B/s")),
    ):
        assert derived.value == pytest.approx(share)
        assert derived.codes == codes


def test_bandwidth_util_is_declared_bytes_over_what_the_memory_could_move():
    derived = bandwidth_util(of(2.1, "GB"), of(1, "ms"), of(3.35, "TB/s"))
    assert derived.value == pytest.approx(2.1e9 / (1e-3 * 3.35e12))
    assert bandwidth_util(of(2.1, "GB"), of(1, "ms"), of(3.35, "TB/s"), of(2, "1")).value == derived.value / 2
    assert bandwidth_util(of(1, "B"), of(1, "s"), of(None, "B/s")).codes == ("unknown_peak",)


def test_achieved_rates_are_of_all_devices_together():
    assert flops_per_s(of(6e12, "FLOP"), of(2, "s")).value == 3e12
    assert bytes_per_s(of(8, "GB"), of(2, "s")).value == 4e9
    assert (flops_per_s(of(0, "FLOP"), of(2, "s")).value, flops_per_s(of(1, "FLOP"), of(0, "s")).value) == (
        0,
        None,
    )


@pytest.mark.parametrize(
    ("part", "share", "codes"), [(0.3, 0.3, ()), (0.0, 0.0, ()), (1.2, 1.2, ("beyond_step",))]
)
def test_share_of_time_is_part_over_step(part, share, codes):
    derived = share_of_time(of(part, "s"), of(1, "s"))
    assert (derived.value, derived.codes) == (pytest.approx(share), codes)


@pytest.mark.parametrize(
    "wrong",
    [{"time": of(1.6, "J")}, {"peak": of(3e12, "B/s")}, {"flop": of(6e15, "B")}, {"devices": of(8, "W")}],
)
def test_inputs_of_the_wrong_kind_are_refused(wrong):
    with pytest.raises(DataError) as refusal:
        mfu(**STEP | wrong)
    assert refusal.value.code == "mixed_units"


positive = st.floats(min_value=1e-3, max_value=1e3)


@settings(max_examples=100, deadline=None)
@given(positive, positive, st.integers(1, 1000))
def test_mfu_falls_with_time_and_devices_and_rises_with_work(work, time, devices):
    def share(work: float, time: float, devices: int) -> float:
        return mfu(of(work, "TFLOP"), of(time, "s"), of(devices, "1"), H100).value

    whole = share(work, time, devices)
    assert share(2 * work, time, devices) == pytest.approx(2 * whole)
    assert share(work, 2 * time, devices) == pytest.approx(whole / 2)
    assert share(work, time, 2 * devices) == pytest.approx(whole / 2)
