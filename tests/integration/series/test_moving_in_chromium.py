"""Moving about in a chart in a real browser: what it tells covers no point, the way back leads through the parts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.factories.histories import Poster, noisy, stepped
from tests.integration.series.conftest import grown
from tests.integration.series.test_in_chromium import Window, address, browser, looking
from tests.integration.web.test_in_chromium import needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["address", "browser"]


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """One page for all tests, of a reader in New York."""
    return browser.new_page(timezone_id="America/New_York", locale="en-US")


@pytest.fixture
def window(page: Page, address: str, poster: Poster) -> Iterator[Window]:
    grown(poster, stepped(60, 30, 0.2))
    with looking(page, address, width=1440) as its:
        yield its


def keep(window: Window, share: float) -> None:
    """Have the chart keep what it tells there."""
    window.page.mouse.click(*window.place(share))
    window.page.wait_for_selector(".tip.held")


@pytest.mark.parametrize("share", [0.0, 0.5, 0.97, 1.0])
def test_what_is_told_stands_beside_its_point(window: Window, share: float) -> None:
    window.open("/series/1")
    keep(window, share)
    tip, inside = window.page.locator(".tip").bounding_box(), window.page.locator("#trend").bounding_box()
    assert tip is not None
    assert inside is not None
    x, _ = window.place(share)
    assert tip["x"] > x + 4 or tip["x"] + tip["width"] < x - 4
    assert inside["x"] <= tip["x"]
    assert tip["x"] + tip["width"] <= inside["x"] + inside["width"]


def test_its_links_are_whole_and_lie_above_the_crosshair(window: Window) -> None:
    window.open("/series/1")
    keep(window, 1.0)
    lines = window.page.eval_on_selector_all(
        ".tip .links > *", "all => all.map(one => one.getClientRects().length)"
    )
    assert lines == [1, 1, 1]
    above = window.page.evaluate(
        "getComputedStyle(document.querySelector('.tip')).zIndex"
        " - getComputedStyle(document.querySelector('.u-cursor-x')).zIndex"
    )
    assert above > 0


def test_it_has_the_digits_of_the_table(window: Window) -> None:
    window.open("/series/1")
    window.point(1.0)
    told, row = window.page.locator(".tip").inner_text(), window.page.locator(".newest tbody tr").first
    assert told.startswith(row.locator("td.num").first.inner_text())


def test_a_range_is_told_as_in_the_table(window: Window, poster: Poster) -> None:
    poster.tell([13.71, 13.75, 13.87], 60)
    window.open("/series/1")
    window.point(1.0)
    row = window.page.locator(".newest tbody tr").first
    assert row.locator("td.num").nth(1).inner_text() == "13.71 … 13.87 ms"
    assert "13.71 … 13.87 ms, n = 3" in window.page.locator(".tip").inner_text()


def test_times_are_in_the_readers_zone_and_name_it(window: Window, poster: Poster) -> None:
    poster.tell(10.0, 60, time="2026-11-20T16:17:26Z")
    window.open("/series/1")
    window.point(1.0)
    assert "Nov 20, 2026, 11:17 AM EST" in window.page.locator(".tip").inner_text()
    titles = window.page.eval_on_selector_all(".newest time", "all => all.map(one => one.title)")
    assert titles[0] == "Nov 20, 2026, 11:17:26 AM EST"


def test_without_a_script_times_are_in_utc(browser: Browser, window: Window) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{window.address}/series/1")
    title = page.locator(".newest time").first.get_attribute("title") or ""
    page.close()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", title)


def test_the_way_back_leads_from_a_part_to_the_one_before(window: Window) -> None:
    window.open("/series/1")
    before = window.page.evaluate("history.length")
    window.drag(0.25, 0.75)
    window.page.wait_for_url("**first=15&last=44")
    window.drag(0.1, 0.6)
    window.page.wait_for_url("**first=18&last=32")
    assert window.page.evaluate("history.length") == before + 2, "a drag is one step"
    window.page.go_back()
    assert window.here() == "/series/1?first=15&last=44"
    assert window.told_at(1.0) == f"{45:040x}"[:10]
    window.page.go_back()
    assert window.here() == "/series/1"
    assert window.told_at(1.0) == f"{60:040x}"[:10]
    window.page.go_forward()
    assert window.here() == "/series/1?first=15&last=44"


def test_what_a_link_leads_to_stays_in_the_address(window: Window) -> None:
    window.open("/series/1#missed")
    assert window.whole_address() == "/series/1#missed"
    window.page.get_by_label("by time").check()
    assert window.whole_address() == "/series/1?time=1#missed"


def test_the_address_of_a_refused_form_is_that_of_the_series_on_its_branch(
    browser: Browser, address: str, poster: Poster
) -> None:
    grown(poster, noisy(6))
    page = browser.new_page(extra_http_headers={"Authorization": f"Bearer {poster.token}"})
    its = Window(page, address)
    its.open("/series/1#missed")
    page.locator("#missed summary").click()
    page.get_by_label("First commit of the new level").fill("f" * 12)
    page.get_by_role("button", name="Tell").click()
    page.get_by_role("alert").wait_for()
    page.wait_for_selector(".canvas .u-over")
    assert its.whole_address() == "/series/1?branch=main"
    page.reload()
    page.wait_for_selector(".canvas .u-over")
    assert its.whole_address() == "/series/1?branch=main"
    assert page.get_by_role("alert").count() == 0
    page.close()


def test_other_choices_are_no_steps_of_the_way_back(window: Window) -> None:
    window.open("/series/1")
    before = window.page.evaluate("history.length")
    window.page.get_by_label("log scale").check()
    window.page.get_by_label("by time").check()
    window.page.mouse.dblclick(*window.place(0.5))
    assert window.page.evaluate("history.length") == before


def test_each_series_beside_has_the_line_that_it_is_drawn_with(window: Window, poster: Poster) -> None:
    for batch in (2, 4, 8, 16):
        grown(Poster(poster.client, poster.service, poster.token, {"params": {"batch": batch}}), noisy(3))
    window.open("/series/1")
    window.page.get_by_text("Draw beside it").click()
    assert window.page.locator(".beside .drawn:visible").count() == 0, "no room is left for lines not drawn"
    for batch in (2, 4, 8, 16):
        window.page.get_by_role("checkbox", name=f"batch={batch}", exact=False).first.check()
        window.page.wait_for_function(
            "n => document.querySelectorAll('.beside .drawn:not([hidden])').length === n",
            arg=(2, 4, 8, 16).index(batch) + 1,
        )
    lines = window.page.eval_on_selector_all(
        ".beside .drawn path",
        "all => all.map(one => [one.getAttribute('stroke'), one.getAttribute('stroke-dasharray')])",
    )
    assert len({dash for _, dash in lines}) == len({colour for colour, _ in lines}) == 4


def test_without_a_script_a_phone_shows_the_newest_points_and_says_that_the_picture_scrolls(
    browser: Browser, window: Window
) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(f"{window.address}/series/1")
    picture, around = page.locator(".canvas svg").bounding_box(), page.locator(".canvas").bounding_box()
    assert picture is not None
    assert around is not None
    assert picture["x"] + picture["width"] == pytest.approx(around["x"] + around["width"], abs=1)
    assert page.locator(".sideways").is_visible()
    heights = [box["height"] for text in page.locator(".canvas text").all() if (box := text.bounding_box())]
    context.close()
    assert min(heights) > 10
