"""What is said of two device classes: which is best, by how much, and what nobody knows."""

from __future__ import annotations

import pytest

from app.domain.hardware import (
    HardwareCase,
    HardwareComparison,
    HardwareSide,
    Kind,
    Level,
    Mean,
    Price,
    Quantity,
    Ratio,
    Source,
)
from app.reports.hardware_words import hardware_sentence, level_range, level_text, metric_of, price_text
from app.reports.quantities import factor, factors


def compared(*ratios: Ratio | None, head: str = "h100") -> HardwareComparison:
    """Of performance, energy, work per joule and cost, over three cases."""
    nothing = [Quantity(kind, None, None, None) for kind in Kind]
    means = tuple(
        Mean(kind, 3, ratio) if ratio else Mean(kind, 0, None, "head: no price is known")
        for kind, ratio in zip(Kind, ratios, strict=True)
    )
    return HardwareComparison(
        HardwareSide("l4"), HardwareSide(head), (HardwareCase("resize", {}, *nothing),) * 3, means
    )


def sentence(found: HardwareComparison) -> str:
    return hardware_sentence(found, named=str)


def level(value: float, unit: str, low: float | None = None, high: float | None = None, **more: str) -> Level:
    return Level("samples_per_s", unit, "higher", value, low, high, 3, "12", "c0", Source.MEASURED, **more)


def test_the_sentence_names_the_winner_of_each_with_how_many_times_and_of_how_many_cases():
    found = compared(
        Ratio(2.31, 2.2, 2.4), Ratio(1.6, 1.5, 1.7), Ratio(0.625, 0.6, 0.65), Ratio(0.8, None, None)
    )
    assert sentence(found) == (
        "Best performance: h100, 2.31 times as fast as l4 over 3 cases; "
        "best performance per watt: l4, 1.60 times the work per joule of h100 over 3 cases; "
        "best cost: h100, 0.800 times the cost of l4 over 3 cases."
    )


def test_what_the_range_leaves_open_and_what_is_not_known_is_said():
    found = compared(Ratio(1.012, 0.97, 1.05), None, None, None)
    assert sentence(found) == (
        "Best performance: open (h100, 1.012 times as fast as l4, 0.970 … 1.050, over 3 cases); "
        "best performance per watt: not known (head: no price is known); "
        "best cost: not known (head: no price is known)."
    )


def test_without_cases_there_is_nothing_to_say():
    found = HardwareComparison(HardwareSide("l4"), HardwareSide("h100"), (), ())
    assert sentence(found) == "No case is on both device classes, so that neither can be said to be better."


def test_names_are_held_together_and_cannot_reorder_the_sentence():
    found = compared(*[Ratio(2.0, None, None)] * 4, head="\u202eh100\x1b[2J" + "x" * 200)
    text = hardware_sentence(found)
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert "\u2068l4\u2069" in text
    assert len(text) < 800


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (2.314, "2.31"), (0.61, "0.610"), (12.34, "12.3"), (1234.5, "1234"), (1.0042, "1.004"), (0.98765, "0.988"),
        (0.00123, "0.00123"), (2.5e7, "2.5e7"), (None, "–"), (float("inf"), "–"),
    ],
)  # fmt: skip
def test_a_factor_has_three_digits_and_near_one_four(times: float | None, text: str):
    assert factor(times) == text


def test_a_range_of_factors_has_both_ends_or_is_empty():
    assert factors(0.97, 1.2) == "0.970 … 1.20"
    assert factors(None, 1.2) == ""
    assert factors(2.0, 2.0) == ""


def test_a_value_has_its_unit_and_of_how_much_work_it_is():
    assert level_text(level(0.69, "EUR", per="million samples")) == "0.69 EUR per million samples"
    assert level_text(level(0.0294, "J/iteration")) == "29.4 mJ/iteration"
    assert level_text(None) == "–"
    assert level_range(level(2.0, "s", 1.9, 2.1)) == "1.900 … 2.100 s"
    assert level_range(level(2.0, "s")) == ""


def test_a_price_says_when_and_for_what_it_was_stated():
    price = Price(2.49, "EUR", "2026-11-01", "nvidia-h100-*")
    assert (
        price_text(HardwareSide("x", price)) == "2.49 EUR an hour, stated for nvidia-h100-* as of 2026-11-01"
    )
    assert price_text(HardwareSide("x", None, "no entry")) == "price not known: no entry"


def test_what_both_sides_are_made_of_is_said_once():
    one, other = level(1.0, "1"), level(1.0, "1", formula="1 / energy_per_iter")
    assert metric_of(Quantity(Kind.ENERGY, one, one, None)) == "samples_per_s"
    assert metric_of(Quantity(Kind.ENERGY, one, other, None)) == ""
