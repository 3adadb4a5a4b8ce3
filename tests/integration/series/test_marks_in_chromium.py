"""What stands beside a trend in a real browser: told with the points, and there in every view of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.factories.histories import sha
from tests.integration.history.conftest import Branch, branch
from tests.integration.series.test_in_chromium import Window, address, browser, looking, page
from tests.integration.series.test_marks import marked
from tests.integration.web.test_accessibility_in_chromium import RULES
from tests.integration.web.test_in_chromium import needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["address", "branch", "browser", "marked", "page"]


@pytest.fixture
def window(page: Page, address: str, marked: Branch) -> Iterator[Window]:
    page.emulate_media(color_scheme="light")
    with looking(page, address) as its:
        yield its


def told_at(window: Window, row: int, last: int = 6) -> str:
    window.point(row / last)
    return window.page.locator(".tip").inner_text()


def test_each_point_tells_what_is_marked_at_it_and_right_before_it(window: Window) -> None:
    window.open("/series/1")
    assert "1 of 2 values void: another process was on the device" in told_at(window, 2)
    assert "control 0 %" in told_at(window, 2)
    fifth = told_at(window, 4)
    assert "Another machine: driver 550.54 → 560.28" in fifth
    assert "control +5 %" in fifth
    newest = told_at(window, 6)
    assert f"Before it, no point of {sha(6)[:10]}: Fails on base" in newest
    assert f"After it, no point of {sha(8)[:10]}: The worker's disk was full" in newest


@pytest.mark.parametrize("query", ["", "?log=1", f"?relative={sha(2)}", "?beside=1"])
def test_every_view_has_the_marks(window: Window, query: str) -> None:
    window.open(f"/series/1{query}")
    assert window.page.locator(".strip canvas").count() == 1
    assert "Another machine" in told_at(window, 4)


def test_a_chart_by_time_has_them_too(window: Window) -> None:
    window.open("/series/1?time=1")
    assert window.page.locator(".strip canvas").count() == 1
    assert "Before it, no point of" in told_at(window, 6)


def test_a_part_keeps_what_is_marked_in_it(window: Window) -> None:
    window.open("/series/1")
    window.drag(0.4, 0.95)
    assert window.page.locator(".strip canvas").count() == 1
    assert "Another machine" in told_at(window, 1, 2)
    assert "void" not in told_at(window, 0, 2)


def test_nothing_scrolls_sideways_on_a_phone(window: Window) -> None:
    window.page.set_viewport_size({"width": 390, "height": 844})
    window.open("/series/1")
    assert window.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_the_page_breaks_no_rule_of_accessibility(window: Window, scheme: str, width: int) -> None:
    window.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    window.page.set_viewport_size({"width": width, "height": 900})
    window.open("/series/1")
    found = Axe().run(window.page, options={"runOnly": RULES, "resultTypes": ["violations"]})
    assert found.response["violations"] == []
