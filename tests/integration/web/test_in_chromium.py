"""Reports and pages in a real browser: nothing scrolls sideways, nothing is fetched from elsewhere, no script fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from app.reports.html import render_report
from tests.factories.results import EVERY

CHROMIUM = shutil.which("chromium")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_chromium = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium on PATH"),
]
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        its_browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield its_browser
        its_browser.close()


class Shown:
    """A page that shows one report after the other, what the last one asked for, and what went wrong in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requests: list[str] = []
        self.faults: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, address: str, width: int, scheme: str) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        self.requests.clear()
        self.faults.clear()
        self.page.goto(address)


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Shown:
    return Shown(browser.new_page())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", sorted(EVERY))
def test_report_fits_its_window_and_loads_nothing(
    shown: Shown, tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(EVERY[name]()))
    shown.open(file.as_uri(), width, scheme)
    shown.page.eval_on_selector_all("details", "folds => folds.forEach(fold => fold.open = true)")
    assert shown.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    assert shown.requests == [file.as_uri()]
    assert shown.faults == []
