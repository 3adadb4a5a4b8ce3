"""A series in a real browser: the chart takes the picture's place, tells of its points, and fits its window."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from app.main import create_app
from app.wiring import Service
from tests.factories.histories import Poster, sha, stepped
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """The service on a port of its own, open to everybody."""
    service.settings.anonymous_read = True
    config = uvicorn.Config(
        create_app(service), host="127.0.0.1", port=0, log_level="warning", lifespan="off"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


class Window:
    """A page in the browser, with what went wrong in it and what it fetched."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.faults: list[str] = []
        self.fetched: list[str] = []
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: self.fetched.append(request.url))

    def open(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.page.wait_for_selector(".u-over")

    def point(self, share: float) -> None:
        """Put the pointer over the chart, this far to the right."""
        box = self.page.locator(".u-over").bounding_box()
        assert box is not None
        self.page.mouse.move(box["x"] + box["width"] * share, box["y"] + box["height"] / 2)

    def value_at(self, share: float) -> float:
        """Return the number that the chart tells there, without its unit."""
        self.point(share)
        return float(self.page.locator(".tip b").inner_text().split()[0])


@pytest.fixture
def window(browser: Browser, address: str, poster: Poster) -> Iterator[Window]:
    poster.tell_all(stepped(60, 30, 0.2))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    its = Window(page, address)
    yield its
    page.close()
    assert its.faults == []
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
    window.page.get_by_role("button", name="Relative to this").click()
    assert window.value_at(0.9) == pytest.approx(20, abs=5)
    kept = window.page.url
    assert f"relative={sha(6)}" in kept
    window.open(kept.removeprefix(window.address))
    assert window.value_at(0.9) == pytest.approx(20, abs=5)


def test_scales_are_kept_in_the_address(window: Window) -> None:
    window.open("/series/1")
    window.page.get_by_label("log scale").check()
    window.page.get_by_label("by time").check()
    window.open(window.page.url.removeprefix(window.address))
    assert window.page.get_by_label("log scale").is_checked()
    assert window.page.get_by_label("by time").is_checked()


@pytest.mark.parametrize("path", ["/series", "/series/1"])
def test_nothing_scrolls_sideways_on_a_phone(window: Window, path: str) -> None:
    window.page.set_viewport_size({"width": 390, "height": 844})
    window.page.goto(window.address + path)
    assert window.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
