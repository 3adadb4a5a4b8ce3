"""How long until a page stands in a real browser: fetched with all that it loads, laid out, its chart drawn."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator

from playwright.sync_api import Browser, sync_playwright

from benchmarks.figure import Figure, Note

LOADS = 10
"""How often each page is opened, each time by a browser that has kept nothing of it; the slowest counts."""

OPTIONS = ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-component-update"]

WATCH = """
  addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => {
    window.drawnAt = performance.now();
  })));
"""
"""Notes when the frame after everything was loaded is on the screen [ms since the page was asked for]."""

DRAWN = """
  () => new Promise((done) => {
    const paints = () => performance.getEntriesByType("paint").map((one) => one.startTime);
    const look = () => window.drawnAt ? done(Math.max(drawnAt, ...paints())) : requestAnimationFrame(look);
    look();
  })
"""


def figures(url: str, token: str, pages: Iterable[tuple[str, str]]) -> Iterator[Figure | Note]:
    """Yield of each page, given as what it is called and its path, how long until it is drawn [s]."""
    chromium = shutil.which("chromium")
    if chromium is None:
        yield Note("pages are not drawn: there is no chromium on PATH")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=OPTIONS)
        headers = {"Authorization": f"Bearer {token}"}
        for name, path in pages:
            _drawn_s(browser, url + path, headers)  # the service's own first time
            slowest = max(_drawn_s(browser, url + path, headers) for _ in range(LOADS))
            yield Figure(f"drawn: {name}, slowest of {LOADS}", slowest, 1, "s")
        browser.close()


def _drawn_s(browser: Browser, address: str, headers: dict[str, str]) -> float:
    context = browser.new_context(extra_http_headers=headers, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(WATCH)
    answer = page.goto(address)
    if answer is None or not answer.ok:
        raise RuntimeError(f"{address} was not answered")
    drawn_ms = page.evaluate(DRAWN)
    context.close()
    return float(drawn_ms) / 1000
