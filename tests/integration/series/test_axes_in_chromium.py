"""The axes of a chart in a real browser: every label is whole, round in its unit and like no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from tests.factories.histories import Poster, sha
from tests.integration.history.conftest import Branch, branch
from tests.integration.series.conftest import grown
from tests.integration.series.test_in_chromium import Window, address, browser, looking
from tests.integration.series.test_marks import marked
from tests.integration.web.test_in_chromium import needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["address", "branch", "browser", "marked"]

RECORD = """
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const share = {right: 1, end: 1, center: .5}[this.textAlign] ?? 0, width = this.measureText(text).width;
    const here = this.getTransform().e;
    const begin = x + here - share * width;
    window.written.push([text, begin, begin + width, this.canvas.width, this.textAlign]);
    return write.apply(this, arguments);
  };
"""
"""Has the page keep what is written on a canvas, and where from and to on how wide a one."""


class Label(NamedTuple):
    """A text on a canvas: where it begins and ends, how wide the canvas is, and how the text is aligned."""

    text: str
    begin: float
    end: float
    width: float
    align: str


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """One page for all tests, which tells what is written on its canvases."""
    page = browser.new_page(locale="en-US")
    page.add_init_script(RECORD)
    return page


@pytest.fixture
def window(page: Page, address: str) -> Iterator[Window]:
    with looking(page, address, width=1440) as its:
        yield its


def labels(window: Window, path: str = "/series/1") -> list[Label]:
    """Return what the chart has written when it was drawn anew."""
    window.open(path)
    window.page.evaluate("window.written.length = 0; window.dispatchEvent(new Event('resize'))")
    window.page.get_by_label("by time").check()
    window.page.evaluate("window.written.length = 0")
    window.page.get_by_label("by time").uncheck()
    window.page.wait_for_function("window.written.length")
    return [Label(*its) for its in window.page.evaluate("window.written")]


def ticks(found: list[Label]) -> list[str]:
    """Return what is written beside the vertical axis."""
    return [label.text for label in found if label.align == "right"]


def unit(window: Window) -> str:
    """Return what stands above the axis."""
    return window.page.locator(".canvas .unit").inner_text()


def posted(poster: Poster, values: list[float], told_in: str) -> None:
    poster.result |= {"unit": told_in, "metric": "some_metric", "better": "higher"}
    for commit, value in enumerate(values):
        poster.tell(value, commit)


@pytest.mark.parametrize(
    ("values", "told_in", "above", "some"),
    [
        ([117.2e6, 120.0e6, 123.4e6], "tokens/s", "M tokens/s", ["118", "119", "120"]),
        ([4.61e3, 4.9e3, 5.09e3], "samples/s", "k samples/s", ["4.7", "4.8", "4.9"]),
        ([24e3, 24.4e3, 24.9e3], "MiB", "GiB", ["23.6", "23.7"]),
        ([1.43e18, 1.5e18, 1.6e18], "1", "P", ["1500", "1520"]),
        ([0.7e300, 0.8e300, 0.9e300], "1", "× 10²⁸⁴ P", ["7.25", "7.50"]),
        ([1.0e-300, 1.1e-300, 1.2e-300], "1", "× 10⁻³⁰⁰", ["1.050", "1.075"]),
        ([-2.0, 0.0, 2.0], "1", "", ["−0.5", "0.0", "0.5"]),
    ],
)
def test_the_unit_is_said_once_and_its_steps_are_round(
    window: Window, poster: Poster, values: list[float], told_in: str, above: str, some: list[str]
) -> None:
    posted(poster, values, told_in)
    found = labels(window)
    assert unit(window) == above
    assert " ".join(some) in " ".join(ticks(found)), ticks(found)


@pytest.mark.parametrize(
    ("values", "query"),
    [
        ([1e300, -1e300], ""),
        ([0.3, 0.30000000000000004], ""),
        ([5e-324, 1e-323], "?log=1"),
        ([1e-300, 1e300], f"?relative={sha(0)}"),
    ],
)
def test_whatever_is_stored_has_an_axis_of_few_labels_unlike_each_other(
    window: Window, poster: Poster, values: list[float], query: str
) -> None:
    posted(poster, values, "1")
    told = ticks(labels(window, f"/series/1{query}"))
    assert 2 <= len(told) == len(set(told)) <= 12, told
    assert not {"NaN", "Infinity"} & set(told)


@pytest.mark.parametrize(("width", "query"), [(390, "?log=1"), (1440, "")])
def test_no_label_is_cut(window: Window, poster: Poster, width: int, query: str) -> None:
    posted(poster, [1e3, 2e7, 3e9, 12_345_678_901.0], "tokens/s")
    window.page.set_viewport_size({"width": width, "height": 900})
    found = labels(window, f"/series/1{query}")
    assert len(found) > 4
    assert [label for label in found if label.begin < 0 or label.end > label.width] == []


def test_the_last_point_has_its_day_in_full(window: Window, poster: Poster) -> None:
    for day in range(1, 8):
        poster.tell(10.0 + day, day, time=f"2026-11-{day + 14}T12:00:00Z")
    found = labels(window)
    (last,) = [label for label in found if label.text == "Nov 21, 2026"]
    assert last.end <= last.width


def test_the_control_has_its_labels_and_begins_where_the_chart_does(window: Window, marked: Branch) -> None:
    found = labels(window)
    assert {"control", "+5 %", "−5 %"} <= set(ticks(found))
    assert [label for label in found if label.begin < 0] == []
    edges = window.page.eval_on_selector_all(
        ".u-over",
        "all => all.map(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])",
    )
    assert len(edges) == 2
    assert edges[0] == edges[1]


def test_a_narrow_logarithmic_axis_has_even_steps_with_the_same_digits(
    window: Window, poster: Poster
) -> None:
    grown(poster, [11.4, 11.9, 13.0, 14.0])
    assert ticks(labels(window, "/series/1?log=1")) == [f"{tenths / 10:.1f}" for tenths in range(110, 150, 5)]
    assert unit(window) == "ms"


def test_a_wide_logarithmic_axis_has_powers_of_ten_each_with_its_prefix(
    window: Window, poster: Poster
) -> None:
    posted(poster, [1e-3, 1.0, 1e3, 1e7], "1")
    assert ticks(labels(window, "/series/1?log=1")) == ["0.001", "0.1", "10", "1 k", "100 k", "10 M"]


def test_where_no_logarithm_can_be_the_scale_is_not_offered_and_says_why(
    window: Window, poster: Poster
) -> None:
    posted(poster, [-1.0, 1.0, 2.0], "1")
    window.open("/series/1?log=1")
    choice = window.page.get_by_label("log scale (needs values above 0)")
    assert choice.is_disabled()
    assert not choice.is_checked()
    assert window.here() == "/series/1"


def test_percent_have_no_logarithmic_scale_until_values_are_shown_again(
    window: Window, poster: Poster
) -> None:
    grown(poster, [10.0, 11.0, 12.0])
    window.open("/series/1?log=1")
    window.page.mouse.click(*window.place(0.0))
    window.page.get_by_role("button", name="Relative to this").click()
    assert window.page.get_by_label("log scale (not of percent)").is_disabled()
    assert "log" not in window.here()
    assert unit(window) == "%"
    window.page.get_by_role("button", name="Show values, not percent").click()
    assert window.page.get_by_label("log scale").is_checked()
    assert "log=1" in window.here()
