"""Percentages as options."""

from __future__ import annotations

import click
import pytest

from app.commands.share import share


@pytest.mark.parametrize(
    ("text", "fraction"),
    [("0.5%", 0.005), ("0.005", 0.005), ("2 %", 0.02), ("0", 0.0), (" 3% ", 0.03), (0.02, 0.02)],
)
def test_percentage_and_fraction_mean_the_same_as_in_ratchet_toml(text: str | float, fraction: float):
    assert share(text) == pytest.approx(fraction, abs=1e-15)


@pytest.mark.parametrize("text", ["", "abc", "-1%", "-0.01", "100%", "nan", "inf", "5 percent", "1e400"])
def test_anything_else_is_refused_with_what_would_be_right(text: str):
    with pytest.raises(click.BadParameter, match=r'no percentage such as "0.5%"'):
        share(text)


def test_plain_number_that_was_meant_as_a_percentage_gets_a_hint():
    with pytest.raises(click.BadParameter, match=r'did you mean "5%"'):
        share("5")
