import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.analysis.efficiency.roofline import arithmetic_intensity, ridge_point, roofline
from app.analysis.efficiency.utilisation import bandwidth_util, mfu
from app.domain.derived import Given


def of(value: float | None, unit: str, origin: str = "a test") -> Given:
    return Given(value, unit, origin)


PEAK, BANDWIDTH = of(989e12, "FLOP/s"), of(3.35e12, "B/s")


def test_ridge_is_where_the_roofs_meet():
    ridge = ridge_point(PEAK, BANDWIDTH)
    assert ridge.value == pytest.approx(989 / 3.35)
    assert ridge.unit == "FLOP/B"


def test_intensity_is_operations_for_each_byte():
    assert arithmetic_intensity(of(6, "GFLOP"), of(2, "GB")).value == 3.0
    assert arithmetic_intensity(of(6, "GFLOP"), of(0, "B")).value is None


def test_work_left_of_the_ridge_is_under_the_memorys_roof():
    place = roofline(of(1e12, "FLOP"), of(1e12, "B"), of(0.5, "s"), PEAK, BANDWIDTH)
    assert place.side == "memory"
    assert place.intensity.value == 1.0
    assert place.achieved.value == 2e12
    assert place.attainable.value == pytest.approx(3.35e12)
    assert place.share.value == pytest.approx(2 / 3.35)


def test_work_right_of_the_ridge_is_under_the_arithmetic_roof():
    place = roofline(of(1e15, "FLOP"), of(1e12, "B"), of(2, "s"), PEAK, BANDWIDTH)
    assert (place.side, place.attainable.value) == ("compute", 989e12)
    assert place.share.value == pytest.approx(500 / 989)


def test_everything_is_for_one_device():
    one = roofline(of(1e12, "FLOP"), of(1e12, "B"), of(0.5, "s"), PEAK, BANDWIDTH)
    eight = roofline(of(8e12, "FLOP"), of(8e12, "B"), of(0.5, "s"), PEAK, BANDWIDTH, of(8, "1"))
    assert eight.achieved.value == one.achieved.value
    assert eight.share.value == pytest.approx(one.share.value)


def test_work_above_the_roof_is_kept_and_marked():
    place = roofline(of(4e12, "FLOP"), of(1e12, "B"), of(0.1, "s"), PEAK, BANDWIDTH)
    assert place.share.value == pytest.approx(40 / (4 * 3.35))
    assert place.share.codes == ("beyond_peak",)


@pytest.mark.parametrize("missing", ["peak", "bandwidth"])
def test_without_a_roof_only_what_was_done_is_known(missing):
    unknown = of(None, "FLOP/s" if missing == "peak" else "B/s", "no such model is listed")
    roofs = {"peak": PEAK, "bandwidth": BANDWIDTH} | {missing: unknown}
    place = roofline(of(1e12, "FLOP"), of(1e12, "B"), of(0.5, "s"), **roofs)
    assert (place.side, place.ridge.value, place.attainable.value, place.share.value) == (None,) * 4
    assert place.share.codes == ("unknown_peak",)
    assert "no such model is listed" in place.share.notes[0].text
    assert (place.intensity.value, place.achieved.value) == (1.0, 2e12)


def test_doubt_about_a_roof_reaches_the_share():
    doubtful = Given(989e12, "FLOP/s", "a page", is_verified=False)
    place = roofline(of(1e15, "FLOP"), of(1e12, "B"), of(2, "s"), doubtful, BANDWIDTH)
    assert "not_verified" in place.share.codes


positive = st.floats(min_value=1e6, max_value=1e18)


@settings(max_examples=200, deadline=None)
@given(positive, positive, st.floats(min_value=1e-6, max_value=1e3))
def test_share_of_the_roof_is_the_larger_of_mfu_and_bandwidth_util(flop, moved, time):
    place = roofline(of(flop, "FLOP"), of(moved, "B"), of(time, "s"), PEAK, BANDWIDTH)
    compute = mfu(of(flop, "FLOP"), of(time, "s"), of(1, "1"), PEAK).value
    memory = bandwidth_util(of(moved, "B"), of(time, "s"), BANDWIDTH).value
    assert place.share.value == pytest.approx(max(compute, memory))
    assert (place.side == "memory") == (place.intensity.value < place.ridge.value)
