"""Reports and pages in a real browser: nothing scrolls sideways, nothing is fetched from elsewhere, no script fails."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from app.reports.html import render_report
from tests.factories.results import EVERY

CHROMIUM = shutil.which("chromium")
QUIET = [
    "--no-sandbox",
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", sorted(EVERY))
def test_report_fits_its_window_and_loads_nothing(
    browser: Browser, tmp_path: Path, name: str, width: int, scheme: str
) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(EVERY[name]()))
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    requests: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(file.as_uri())
    page.eval_on_selector_all("details", "folds => folds.forEach(fold => fold.open = true)")
    overhang = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    page.close()
    assert overhang <= 0
    assert requests == [file.as_uri()]
    assert faults == []
