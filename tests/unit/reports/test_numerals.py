"""Levels and probabilities as people read them."""

from __future__ import annotations

import math

import pytest

from app.reports.numerals import levels, probability


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (12.4123, 13.1701, "12.41 → 13.17"),
        (0.0124123, 0.0131701, "0.01241 → 0.01317"),
        (1204000.0, 1351000.0, "1204000 → 1351000"),
        (100.001, 100.003, "100.0010 → 100.0030"),
        (1e-12, 2e-12, "1e−12 → 2e−12"),
        (1e300, 2e300, "1e+300 → 2e+300"),
        (0.0, 5.0, "0 → 5"),
        (-1.5, 2.25, "−1.500 → 2.250"),
        (3.0, 3.0, "3.000 → 3.000"),
    ],
)
def test_levels_have_digits_enough_to_tell_them_apart(before: float, after: float, text: str):
    assert levels(before, after) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (1.0, "1"),
        (0.0312, "0.031"),
        (0.001, "0.001"),
        (2.3e-9, "2e−9"),
        (9.7e-4, "1e−3"),
        (0.0, "0"),
        (math.nan, "–"),
    ],
)
def test_probability_is_short(p: float, text: str):
    assert probability(p) == text
