"""What the chart's scripts make of numbers: what the server's pages do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from app.reports.quantities import between, quantity
from app.web.picture_scale import ladder
from app.web.static import static_text
from app.web.ticks import ticks
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = needs_chromium

__all__ = ["browser"]

UNITS = ["s", "1", "B", "B/s", "tokens/s", "W", "widgets"]
VALUES = [1.234e-7, 0.0123, 0.5, 1.5, 9.998, 13.76, 123.4, 4_321.0, 5.1e6, 7.25e9, -0.46875]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    its = browser.new_page()
    for name in ("numbers.js", "ticks.js"):
        its.add_script_tag(content=static_text(name))
    yield its
    its.close()


def told(page: Page, unit: str, call: str, *given: Any) -> Any:
    """Return what a function of the scripts answers for values of a unit."""
    numbers = f"numbersOf({json.dumps(ladder(unit))}, {{isCount: {json.dumps(unit == '1')}}})"
    return page.evaluate(f"given => {numbers}.{call}(...given)", list(given))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_told_as_in_the_table(page: Page, unit: str, value: float) -> None:
    assert told(page, unit, "told", value) == quantity(value, unit)


RANGES = [
    (unit, value, value * share)
    for unit in UNITS
    for value in VALUES
    for share in (1.0001, 1.009, 1.5, 30.0)
    if "e" not in between(value, value * share, unit).removesuffix(unit)
]


@pytest.mark.parametrize(("unit", "low", "high"), RANGES)
def test_a_range_has_the_digits_of_the_table(page: Page, unit: str, low: float, high: float) -> None:
    assert told(page, unit, "between", low, high) == between(low, high, unit)


def test_a_range_of_whole_numbers_has_all_of_their_digits(page: Page) -> None:
    assert told(page, "1", "between", 12_345, 12_352) == "12345 … 12352"


def test_a_range_of_one_value_is_not_told_again(page: Page) -> None:
    assert told(page, "s", "between", 0.013, 0.013) == ""


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (11.2, 14.8, [11.5, 12, 12.5, 13, 13.5, 14, 14.5]),
        (0.4, 9, [0.5, 1, 2, 5]),
        (0.9e-6, 4e8, [1e-6, 1e-4, 0.01, 1, 100, 1e4, 1e6, 1e8]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round(
    page: Page, low: float, high: float, wanted: list[float]
) -> None:
    found = page.evaluate(
        "([low, high]) => ticksOf(numbersOf([[0, 1, '']])).logarithmic(low, high)", [low, high]
    )
    assert found == wanted


@pytest.mark.parametrize(("low", "high"), [(11.2, 14.8), (1.0, 1.7), (300.1, 302.9), (2.0, 7.9)])
def test_the_chart_has_the_steps_of_the_picture(page: Page, low: float, high: float) -> None:
    found = page.evaluate(
        "([low, high]) => ticksOf(numbersOf([[0, 1, '']])).logarithmic(low, high)", [low, high]
    )
    assert found == pytest.approx(ticks(low, high, "widgets").values)
