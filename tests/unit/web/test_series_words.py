"""Words of a series' page: how far it moved, and what an address asks for in vain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.web.series_words import change_text, empty_part, left_out
from tests.unit.web.test_series_pictures import change, trend


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"change": -0.0312}, "−3.1 %"),
        ({"change": 1.03e14}, "×1.03e14"),
        ({"change": None, "before": -1.51, "after": 1.33}, "−1.51 → 1.33"),
    ],
)
def test_a_change_is_a_share_or_from_where_to_where_it_went(fields: dict[str, Any], told: str) -> None:
    assert change_text(replace(change(5), **fields), "1") == told


def test_a_part_without_points_says_what_is_wrong_with_it() -> None:
    its = trend([1.0] * 10)
    assert empty_part(its, 50, 10) == "Nothing is from row 50 to row 10: the last is before the first."
    assert empty_part(replace(its, rows=range(10, 10)), 50, None) == (
        "The history has no rows 10 and later: it has 10 points."
    )


def test_what_is_asked_for_and_not_shown_is_told() -> None:
    its = trend([1.0] * 10)
    assert left_out(replace(its, reference=1.0), "a" * 40, [7], [7, 8]) == []
    assert left_out(its, "", [9, 9], [7]) == [
        "Series 9 is not drawn: it is not among those that are offered here."
    ]
    assert left_out(its, "deadbeef", [], []) == [
        "No point on main is of a commit with the whole id deadbeef: values are as they were measured, not relative."
    ]
    assert left_out(replace(its, reference=0.0), "a" * 40, [], []) == [
        "The value of aaaaaaaaaa is 0: values are as they were measured, not relative."
    ]
