"""Shares with their intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.proportion import proportion


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_wilson(k: int, n: int, low: float, high: float) -> None:
    its = proportion(k, n)
    assert (its.low, its.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_nothing_counted_has_no_share() -> None:
    assert (proportion(0, 0).share, proportion(0, 0).low) == (None, None)


@given(n=st.integers(1, 10_000), data=st.data())
def test_the_share_lies_in_its_interval(n: int, data: st.DataObject) -> None:
    its = proportion(data.draw(st.integers(0, n)), n)
    assert 0 <= its.low <= its.share <= its.high <= 1
