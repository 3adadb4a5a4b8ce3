"""A series as block characters."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from app.reports.sparkline import BLOCKS, MARK, sparkline


def test_rise_goes_from_the_lowest_block_to_the_highest():
    assert sparkline(np.arange(8.0), [], 20) == BLOCKS


def test_long_series_is_the_median_of_what_falls_on_a_block():
    values = np.repeat([1.0, 2.0], 500)
    values[::7] = 1.0
    assert sparkline(values, [], 10) == "▁▁▁▁▁█████"


def test_change_is_marked_and_no_block_mixes_two_regimes():
    values = np.repeat([1.0, 2.0], [497, 503])
    assert sparkline(values, [497], 11) == "▁▁▁▁▁│█████"


def test_regime_of_one_point_keeps_a_block():
    values = np.repeat([1.0, 2.0], [999, 1])
    assert sparkline(values, [999], 12).endswith("│█")


def test_more_changes_than_there_is_room_for_are_not_marked():
    values = np.tile([1.0, 2.0], 50)
    assert MARK not in sparkline(values, list(range(1, 100)), 20)


def test_constant_series_is_flat_and_an_empty_one_is_empty():
    assert set(sparkline(np.full(50, 3.0), [], 10)) == {"▅"}
    assert sparkline(np.empty(0), [], 10) == ""


def test_quiet_series_looks_quiet():
    values = 100 + np.random.default_rng(1).standard_normal(40)
    assert set(sparkline(values, [], 40, spread=1.0)) <= set("▂▃▄▅▆▇")
    assert set(sparkline(values, [], 40)) >= {"▁", "█"}


def test_single_outlier_does_not_flatten_the_rest():
    values = np.tile([1.0, 2.0], 30)
    values[30] = 1e9
    line = sparkline(values, [], 60)
    assert line[30] == "█"
    assert set(line) == {"▁", "█"}


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=80),
    width=st.integers(1, 90),
    data=st.data(),
)
@settings(max_examples=200, deadline=None)
def test_any_series_fits_and_holds_only_blocks_and_marks(values, width, data):
    changes = (
        sorted(data.draw(st.sets(st.integers(1, max(len(values) - 1, 1)), max_size=5)))
        if len(values) > 1
        else []
    )
    line = sparkline(np.array(values), changes, width)
    assert 1 <= len(line) <= width
    assert set(line) <= set(BLOCKS + MARK)
    assert line.count(MARK) in (0, len(changes))
