"""Ticks of a chart's axis: round in the unit that is shown, and never without their numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.web.ticks import ticks


@pytest.mark.parametrize(
    ("low", "high", "unit", "numbers", "told_in"),
    [
        (0.0115, 0.0142, "s", ["11.5", "12.0", "12.5", "13.0", "13.5", "14.0"], "ms"),
        (4_600.0, 5_120.0, "samples/s", ["4.6", "4.7", "4.8", "4.9", "5.0", "5.1"], "k samples/s"),
        (530.0 * 2**20, 541.0 * 2**20, "B", ["530", "532", "534", "536", "538", "540"], "MiB"),
        (0.0112, 0.0148, "s", ["11.5", "12.0", "12.5", "13.0", "13.5", "14.0", "14.5"], "ms"),
        (-1.0, 1.0, "1", ["−1.0", "−0.5", "0.0", "0.5", "1.0"], ""),
        (1.4e18, 1.62e18, "1", ["1400", "1450", "1500", "1550", "1600"], "P"),
        (9.4e299, 1.05e300, "1", ["0.94", "0.96", "0.98", "1.00", "1.02", "1.04"], "× 10²⁸⁵ P"),
        (9.4e-301, 1.05e-300, "1", ["0.94", "0.96", "0.98", "1.00", "1.02", "1.04"], "× 10⁻³⁰⁰"),
    ],
)
def test_steps_are_round_in_the_unit_that_is_shown(
    low: float, high: float, unit: str, numbers: list[str], told_in: str
) -> None:
    found = ticks(low, high, unit)
    assert (found.numbers, found.unit) == (numbers, told_in)
    assert all(low * 0.999_999 <= abs(value) <= high * 1.000_001 for value in found.values if low > 0)


@given(
    st.floats(-1e15, 1e15),
    st.floats(1e-6, 1e6),
    st.sampled_from(["s", "B", "1", "B/s", "tokens/s", "widgets"]),
)
def test_every_range_has_ticks_that_are_told_apart(low: float, share: float, unit: str) -> None:
    size = max(abs(low), 1e-9) * share
    found = ticks(low, low + size, unit)
    assert 2 <= len(found.values) <= 9
    assert len(set(found.numbers)) == len(found.numbers)
