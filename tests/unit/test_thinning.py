"""What stays of a curve is what makes it look as it does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.domain.thinning import PER_COLUMN, thinned

CURVES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400)
COLUMNS = st.integers(1, 40)


def test_few_points_all_stay() -> None:
    assert thinned([3.0, 1.0, 2.0], 1) == [0, 1, 2]


def test_a_spike_of_one_point_stays_however_many_there_are() -> None:
    values = [1.0] * 10_000
    values[4_321], values[7_777] = 9.0, -9.0
    kept = thinned(values, 50)
    assert {4_321, 7_777} <= set(kept)
    assert len(kept) <= PER_COLUMN * 50


def test_what_must_stay_does() -> None:
    assert {500, 501} <= set(thinned([1.0] * 1_000, 10, keep=[500, 501, 5_000, -1]))


@given(CURVES, COLUMNS)
def test_ends_and_extremes_stay_in_order(values: list[float], columns: int) -> None:
    kept = thinned(values, columns)
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    shown = [values[index] for index in kept]
    assert (min(shown), max(shown)) == (min(values), max(values))
    assert len(kept) <= max(PER_COLUMN * columns, 1)
