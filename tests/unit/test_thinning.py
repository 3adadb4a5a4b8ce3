"""What stays of a curve is what makes it look as it does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.thinning import PER_COLUMN, thinned

CURVES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)
COLUMNS = st.integers(1, 40)


def stay(values: list[float], columns: int) -> list[int]:
    """Return what stays of a curve without a band."""
    return thinned(values, values, values, columns)


def test_few_points_all_stay() -> None:
    assert stay([3.0, 1.0, 2.0], 1) == [0, 1, 2]


def test_a_spike_of_one_point_stays_however_many_there_are() -> None:
    values = [1.0] * 10_000
    values[4_321], values[7_777] = 9.0, -9.0
    kept = stay(values, 50)
    assert {4_321, 7_777} <= set(kept)
    assert len(kept) <= PER_COLUMN * 50


def test_what_must_stay_does() -> None:
    flat = [1.0] * 1_000
    assert {500, 501} <= set(thinned(flat, flat, flat, 10, keep=[500, 501, 5_000, -1]))


def test_the_outermost_of_the_band_stays() -> None:
    flat, low, high = [1.0] * 1_000, [0.9] * 1_000, [1.1] * 1_000
    low[321], high[654] = 0.1, 9.0
    assert {321, 654} <= set(thinned(flat, low, high, 10))


@given(CURVES, COLUMNS)
def test_ends_and_extremes_stay_in_order(values: list[float], columns: int) -> None:
    kept = stay(values, columns)
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    shown = [values[index] for index in kept]
    assert (min(shown), max(shown)) == (min(values), max(values))
    assert len(kept) <= max(PER_COLUMN * columns, 1)
