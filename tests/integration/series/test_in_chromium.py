"""A series in a real browser: the chart takes the picture's place, tells of its points, and fits its window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page

from app.wiring import Service
from tests.factories.histories import Poster, noisy, sha, stepped, store_all
from tests.factories.serving import served
from tests.integration.series.conftest import grown
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """The service on a port of its own, open to everybody."""
    service.settings.anonymous_read = True
    with served(service) as its_address:
        yield its_address


class Window:
    """A page in the browser, with what went wrong in it and what it fetched."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.faults: list[str] = []
        self.fetched: list[str] = []
        self._heard = {
            "pageerror": lambda error: self.faults.append(str(error)),
            "console": lambda said: self.faults.append(said.text) if said.type == "error" else None,
            "request": lambda request: self.fetched.append(request.url),
        }
        for what, heard in self._heard.items():
            page.on(what, heard)  # type: ignore[call-overload]  # it has a signature for each name

    def leave(self) -> None:
        """Leave the page to the next test, as if nothing had been done in it."""
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        for what, heard in self._heard.items():
            self.page.remove_listener(what, heard)

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.page.wait_for_selector(".canvas .u-over")

    def here(self) -> str:
        """Return the path and query that the window has now; what Playwright tells of them comes later."""
        return self.page.evaluate("location.pathname + location.search")

    def whole_address(self) -> str:
        """Return where the window is, with what a link leads to."""
        return self.here() + self.page.evaluate("location.hash")

    def point(self, share: float) -> None:
        """Put the pointer over the chart, this far to the right."""
        self.page.mouse.move(*self.place(share))

    def place(self, share: float) -> tuple[float, float]:
        """Return where that is on the page."""
        box = self.page.locator(".canvas .u-over").bounding_box()
        assert box is not None
        return box["x"] + 1 + (box["width"] - 2) * share, box["y"] + box["height"] / 2

    def drag(self, start: float, end: float) -> None:
        """Choose a part of the chart."""
        self.page.mouse.move(*self.place(start))
        self.page.mouse.down()
        self.page.mouse.move(*self.place((start + end) / 2))
        self.page.mouse.move(*self.place(end))
        self.page.mouse.up()

    def told_at(self, share: float) -> str:
        """Return the beginning of the commit that the chart tells there."""
        self.point(share)
        return self.page.locator(".tip code").inner_text()

    def value_at(self, share: float) -> float:
        """Return the number that the chart tells there, without its unit."""
        self.point(share)
        return float(self.page.locator(".tip b").inner_text().split()[0])


@contextmanager
def looking(page: Page, address: str, *, width: int = 1280) -> Iterator[Window]:
    """Yield a window on a page that others look at, too, and at the end have nothing gone wrong in it."""
    page.set_viewport_size({"width": width, "height": 900})
    its = Window(page, address)
    yield its
    its.leave()
    assert its.faults == []


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    """One page for all tests of a file: to make one takes longer than to look at what it shows."""
    return browser.new_page()


@pytest.fixture
def window(page: Page, address: str, poster: Poster) -> Iterator[Window]:
    grown(poster, stepped(60, 30, 0.2))
    with looking(page, address) as its:
        yield its
    assert [url for url in its.fetched if not url.startswith(address)] == []


def test_the_chart_tells_of_the_point_under_the_pointer(window: Window) -> None:
    window.open("/series/1")
    assert window.page.locator("svg.trend").count() == 0, "the chart is in its place"
    window.point(0.0)
    assert sha(0)[:10] in window.page.locator(".tip").inner_text()
    window.point(1.0)
    assert sha(59)[:10] in window.page.locator(".tip").inner_text()


def test_values_can_be_read_relative_to_any_commit_and_the_address_keeps_that(window: Window) -> None:
    window.open("/series/1")
    window.point(0.1)
    window.page.mouse.down()
    window.page.mouse.up()
    assert window.page.locator(f".tip a[href='/commits/{sha(6)}?project=acme%2Fvision']").count() == 1
    window.page.get_by_role("button", name="Relative to this").click()
    assert window.value_at(0.9) == pytest.approx(20, abs=5)
    kept = window.here()
    assert f"relative={sha(6)}" in kept
    window.open(kept)
    assert window.value_at(0.9) == pytest.approx(20, abs=5)


def test_scales_are_kept_in_the_address(window: Window) -> None:
    window.open("/series/1")
    window.page.get_by_label("log scale").check()
    window.page.get_by_label("by time").check()
    window.open(window.here())
    assert window.page.get_by_label("log scale").is_checked()
    assert window.page.get_by_label("by time").is_checked()


def test_a_part_is_dragged_out_kept_in_the_address_and_left_by_a_double_click(window: Window) -> None:
    window.open("/series/1")
    window.drag(0.25, 0.75)
    assert window.told_at(0.0) == sha(15)[:10]
    assert "first=15&last=44" in window.here()
    assert not window.page.locator(".tip.held").count(), "a drag keeps no point"
    window.point(0.5)
    window.page.mouse.dblclick(*window.place(0.5))
    assert "first" not in window.here()
    assert window.told_at(0.0) == sha(0)[:10]


def test_a_page_of_a_part_leads_to_the_whole(window: Window) -> None:
    window.open("/series/1?first=10&last=19")
    assert window.told_at(0.0) == sha(10)[:10]
    window.page.get_by_role("button", name="Show all").click()
    window.page.wait_for_url("**/series/1")
    assert window.told_at(0.0) == sha(0)[:10]


def test_another_series_is_drawn_beside_it_by_the_commits_that_they_share(
    window: Window, poster: Poster
) -> None:
    other = Poster(poster.client, poster.service, poster.token, {"params": {"batch": 8}})
    grown(other, noisy(50, level=20.0))
    window.open("/series/1")
    window.page.get_by_text("Draw beside it").click()
    window.page.get_by_role("checkbox", name="batch=8").check()
    window.page.wait_for_url("**/series/1?beside=2")
    window.point(0.0)
    assert "batch=8: 2" in window.page.locator(".tip").inner_text()
    window.point(1.0)
    assert "batch=8" not in window.page.locator(".tip").inner_text(), "it has no point of this commit"
    window.open("/series/1?beside=2")
    window.page.wait_for_selector(".beside .drawn:not([hidden])")
    window.page.get_by_role("checkbox", name="batch=8").uncheck()
    window.page.wait_for_url("**/series/1")


def test_of_a_long_history_a_part_is_fetched_with_all_of_its_points(window: Window, poster: Poster) -> None:
    store_all(poster.service, poster.series, noisy(7_000, level=0.01), first=60)
    poster.tell(10.0, 7_060)
    window.open("/series/1")
    drawn = "JSON.parse(document.getElementById('trend-data').textContent).points.row.length"
    assert window.page.evaluate(drawn) < 7_061
    with window.page.expect_response(lambda answer: "/trend?" in answer.url) as told:
        window.drag(0.5, 0.6)
    part = told.value.json()
    assert part["thinned"] is False
    assert len(part["points"]["row"]) == part["last"] - part["first"] + 1
    assert f"first={part['first']}" in window.here()


def test_points_are_reached_by_the_keyboard(window: Window) -> None:
    window.open("/series/1")
    chart = window.page.locator(".canvas")
    assert "60 points" in (chart.get_attribute("aria-label") or "")
    chart.focus()
    for key in ("ArrowRight", "ArrowRight", "Enter"):
        window.page.keyboard.press(key)
    assert sha(1)[:10] in window.page.locator(".tip.held").inner_text()
    window.page.keyboard.press("Escape")
    assert window.page.locator(".tip").is_hidden()


def test_values_of_many_magnitudes_have_a_logarithmic_scale(window: Window, poster: Poster) -> None:
    for commit, value in enumerate((0.01, 1.0, 100.0, 10_000.0), 60):
        poster.tell(value, commit)
    window.open("/series/1?log=1")
    assert window.told_at(1.0) == sha(63)[:10]


def test_results_of_one_moment_are_shown_by_time_too(window: Window, poster: Poster) -> None:
    for commit in (60, 61):
        poster.tell(10.0, commit, time="2026-11-01T00:00:00Z", branch="release")
    window.open("/series/1?branch=release&time=1")
    assert window.told_at(0.5) in (sha(60)[:10], sha(61)[:10])


def test_keys_look_for_a_series_and_go_through_a_list(window: Window) -> None:
    keyboard = window.page.keyboard
    window.page.goto(window.address + "/health")
    keyboard.press("/")
    look = window.page.get_by_role("dialog", name="Look for a series")
    assert look.is_visible()
    keyboard.press("Escape")
    assert not look.is_visible()
    window.page.goto(window.address + "/series")
    keyboard.press("Escape")
    window.page.locator("h1").click()
    keyboard.press("?")
    assert window.page.get_by_role("dialog").is_visible()
    keyboard.press("Escape")
    keyboard.press("j")
    keyboard.press("Enter")
    window.page.wait_for_url("**/series/1")


def test_keys_are_text_while_one_types(window: Window) -> None:
    window.page.goto(window.address + "/series")
    window.page.locator("#q").fill("")
    window.page.locator("#q").type("j/k?")
    assert window.page.locator("#q").input_value() == "j/k?"


@pytest.mark.parametrize("path", ["/series", "/series/1"])
def test_nothing_scrolls_sideways_on_a_phone(window: Window, path: str) -> None:
    window.page.set_viewport_size({"width": 390, "height": 844})
    window.page.goto(window.address + path)
    assert window.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
