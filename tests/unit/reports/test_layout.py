"""The report in a real browser: nothing scrolls sideways, nothing is loaded, nothing fails."""

import shutil
from pathlib import Path

import pytest

from app.reports.html import render_report
from tests.factories import efficient, results

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


KINDS = {**results.EVERY, "efficient": efficient.efficient, "hostile_efficient": efficient.hostile}


@pytest.mark.parametrize("kind", ["regressed", "hostile", "efficient", "hostile_efficient"])
def test_page_never_scrolls_sideways_and_loads_nothing(browser, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(KINDS[kind]()), "utf-8")
    page = browser.new_page()
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    for width in (390, 800, 1000, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []
    page.close()


def test_filter_shows_only_the_rows_that_match(browser, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(render_report(results.large(60)), "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    page.get_by_role("searchbox").fill("WAV2VEC")
    assert page.locator("#cases .cases tbody:visible").count() == 2
    assert page.locator("output").inner_text() == "2 of 60 shown"
    page.close()
