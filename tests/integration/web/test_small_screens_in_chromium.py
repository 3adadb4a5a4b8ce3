"""Pages of runs, checks and comparisons on a phone: nothing sticks out, what scrolls has a name, links can be hit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, BrowserContext, Page

from app.domain.results import ControlProbe, DeviceReading, DeviceState
from app.domain.verdicts import Conclusion, Verdict
from app.reports.html import render_report
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import Poster, sha, stepped
from tests.factories.posted_results import post_results, posted_document, posted_result
from tests.factories.serving import served
from tests.integration.series.conftest import grown
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]

LONG = "acme-research/" + "w" * 230
HELLO = "مرحبا"

PAGES = ["/runs", "/runs/1", "/runs/upload-1", "/checks/1", f"/commits/{sha(1)}?project={LONG}", "/compare"]

TOO_LOW = """
  () => [...document.querySelectorAll('td a, th a, .facts dd a, .crumbs a, figcaption > a')]
    .filter(one => one.getClientRects().length && one.getBoundingClientRect().height < 24)
    .map(one => one.textContent)
"""

UNNAMED = """
  () => [...document.querySelectorAll('.scroll, .canvas:has(svg), .canvas[tabindex]')]
    .filter(one => one.tabIndex || !one.matches('[role=region], [role=img]') || !one.getAttribute('aria-label'))
    .map(one => one.outerHTML.slice(0, 80))
"""


@pytest.fixture
def phone(
    browser: Browser, service: Service, client: TestClient, admin_token: str
) -> Iterator[BrowserContext]:
    """A phone on a service with a run, and posted results of a project with a very long name."""
    for number in (1, 2):
        its = posted_result(HELLO, params={HELLO: HELLO, "batch": number})
        document = posted_document(its, posted_result("w" * 200), project=LONG, commit=sha(number))
        assert post_results(client, admin_token, document).status_code == 201
    with service.database.session() as session:
        stored.device(session, stored.worker(session), "cpu-xeon-platinum-8488c-8t")
        stored.check(session, results.regressed())
    with served(service) as address:
        context = browser.new_context(
            base_url=address,
            viewport={"width": 390, "height": 844},
            has_touch=True,
            is_mobile=True,
            extra_http_headers={"Authorization": f"Bearer {admin_token}"},
        )
        yield context
        context.close()


def each_page(phone: BrowserContext) -> Iterator[tuple[str, Page]]:
    page = phone.new_page()
    for path in PAGES:
        page.goto(path)
        yield path, page


def test_nothing_sticks_out(phone: BrowserContext) -> None:
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert [path for path, page in each_page(phone) if page.evaluate(over)] == []


def test_links_in_rows_are_as_high_as_a_finger_needs(phone: BrowserContext) -> None:
    assert [(path, low) for path, page in each_page(phone) if (low := page.evaluate(TOO_LOW))] == []


def test_what_scrolls_sideways_can_be_reached_by_keys_and_has_a_name(phone: BrowserContext) -> None:
    assert [(path, bad) for path, page in each_page(phone) if (bad := page.evaluate(UNNAMED))] == []


def test_a_chart_can_be_reached_by_keys_and_has_a_name_also_where_no_script_runs(
    browser: Browser, service: Service, client: TestClient, admin_token: str
) -> None:
    poster = Poster(client, service, admin_token)
    grown(poster, stepped(60, 30, 0.2))
    headers = {"Authorization": f"Bearer {admin_token}"}
    page = browser.new_page(java_script_enabled=False)
    page.set_content(client.get(f"/series/{poster.series}", headers=headers).text)
    assert page.get_by_role("region", name="Chart").count() == 1
    assert page.evaluate(UNNAMED) == []
    page.set_content(client.get(f"/series/{poster.series}?first=900", headers=headers).text)
    assert page.get_by_text("The history has no rows").count() == 1
    assert page.locator(".canvas[tabindex]").count() == 0, "a sentence needs no keys"
    page.close()
    with served(service) as address:
        scripted = browser.new_page(extra_http_headers=headers)
        scripted.goto(f"{address}/series/{poster.series}")
        scripted.wait_for_selector(".canvas .u-over")
        assert scripted.evaluate(UNNAMED) == []
        scripted.close()


def test_the_parts_of_a_case_stand_in_their_order_whatever_their_direction(phone: BrowserContext) -> None:
    page = phone.new_page()
    page.goto("/runs/upload-1")
    parts = page.locator("figcaption a", has_text=HELLO).locator("bdi bdi")
    assert parts.all_text_contents() == [HELLO, "batch", "1", HELLO, HELLO]
    lefts = parts.evaluate_all("parts => parts.map(part => part.getBoundingClientRect().left)")
    assert lefts == sorted(lefts)


def test_readings_of_devices_scroll_in_a_region_with_a_name(browser: Browser, tmp_path: Path) -> None:
    readings = (DeviceReading("power_w", "W", (280.0, 290.0, 300.0), (300.0, 300.0, 300.0)),)
    probes = (ControlProbe("triad", 0.01, (), 0.01, "1 GB/s"),)
    job = replace(
        results.passed().suites[0], device_states=(DeviceState("GPU-1", readings, (), ()),), control=probes
    )
    file = tmp_path / "report.html"
    file.write_text(render_report(results.check(None, job)))
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto(file.as_uri())
    assert page.get_by_role("region", name="readings while base and head ran").count() == 1
    assert page.get_by_role("region", name="Frozen control workload").count() == 1
    assert page.evaluate(UNNAMED) == []
    page.close()


def test_no_name_is_torn_over_two_columns(browser: Browser, tmp_path: Path) -> None:
    cases = [
        results.untold(f"{n} " + "WWWWWWWW " * 12, Verdict.NOT_MEASURED, reason="missing", gating=True)
        for n in range(5)
    ]
    file = tmp_path / "report.html"
    file.write_text(render_report(results.check(Conclusion.NOT_MEASURED, results.suite(*cases))))
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(file.as_uri())
    torn = "names => names.filter(name => name.getClientRects().length > 1).length"
    assert page.locator(".names li").evaluate_all(torn) == 0
    assert page.locator(".names li").count() == 5
    page.close()
