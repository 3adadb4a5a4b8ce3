"""Every page by the rules of WCAG 2.2 AA that a program can check, in both colour schemes and at both widths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi.testclient import TestClient
from playwright.sync_api import Browser

from app.domain.week import week_of
from app.integrations.github.identity import Account
from app.services.access import Role, Scope, issue_token
from app.services.alerts.raise_alerts import raise_alerts
from app.services.github_accounts import link_account
from app.services.sign_in import Browser as Elsewhere
from app.services.sign_in import begin_session
from app.store.repositories import saved_searches
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.histories import Poster, deliver, sha, stepped
from tests.factories.people import PASSWORD, person
from tests.factories.serving import served
from tests.integration.series.conftest import grown
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

PAGES = [
    "/",
    "/checks/1",
    "/checks/1/report",
    "/alerts?state=all",
    "/alerts/1",
    "/series",
    "/series/1",
    f"/compare?project=acme/vision&base={sha(29)}&head={sha(30)}",
    "/compare?project=acme/vision&base=cpu-test-2t&head=gpu-x",
    "/runs",
    "/runs/1",
    "/runs/upload-1",
    f"/commits/{sha(30)}?project=acme/vision",
    "/benchmarks?project=acme/vision&name=resize",
    "/workers",
    "/weekly",
    f"/weekly/{week_of(datetime.now(UTC))}",
    "/health",
    "/sign-in",
    "/me",
    "/projects/acme/vision/access",
    "/projects/acme/vision/notifiers",
    "/series?q=resize",
    "/nothing",
]


@pytest.fixture
def address(service: Service, client: TestClient, admin_token: str) -> Iterator[str]:
    """A service with something of everything."""
    service.settings.anonymous_read = True
    poster = Poster(client, service, admin_token)
    grown(poster, stepped(60, 30, 0.2))
    poster.post([4.5, 5.5], 59, device_class="gpu-x")
    deliver(service)
    with service.database.session() as session:
        raise_alerts(session, 1)
        stored.device(session, stored.worker(session), "cpu-xeon-platinum-8488c-8t")
        stored.check(session, results.regressed())
        stored.check(session, results.running())
        service.settings.github_login_client_id = "Iv1.0"
        ada = person(session, "ada", {"acme/vision": Role.ADMIN, "acme/speech": Role.VIEWER})
        link_account(session, ada, Account(7, "Ada-K"), by="service")
        saved_searches.keep(session, ada.id, "/series", "mine", "q=resize")
        begin_session(session, service.settings, ada, Elsewhere())
        its = {"project_id": 1, "user_id": ada.id}
        issue_token(session, "nightly", [Scope.RESULTS_READ], **its)
    with served(service) as its_address:
        yield its_address


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_no_page_breaks_a_rule(browser: Browser, address: str, scheme: str, width: int) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
    )
    page, broken = context.new_page(), []
    page.goto(f"{address}/sign-in")
    page.fill("#name", "ada")
    page.fill("#password", PASSWORD)
    page.click("main button >> nth=0")
    page.wait_for_selector(".top a[href='/me']")
    for path in PAGES:
        page.goto(address + path)
        found = Axe().run(page, options={"runOnly": RULES, "resultTypes": ["violations"]})
        for rule in found.response["violations"]:
            places = [f"{node['target'][0]}: {node['failureSummary']}" for node in rule["nodes"][:3]]
            broken.append((path, rule["id"], *places))
    context.close()
    assert broken == []


def test_a_page_of_something_that_goes_on_is_renewed_where_it_stands(
    browser: Browser, address: str, service: Service, admin_token: str
) -> None:
    page = browser.new_page()
    page.set_extra_http_headers({"Authorization": f"Bearer {admin_token}"})
    page.goto(f"{address}/")
    page.evaluate("document.querySelector('.brand').id = 'same'")
    with service.database.session() as session:
        number = stored.check(session, results.failing()).id
    page.wait_for_selector(f"main a[href='/checks/{number}']", timeout=15_000)
    assert page.locator("#same").count() == 1, "the page was not loaded anew"
    title = page.locator("main time").first.get_attribute("title") or ""
    assert re.fullmatch(r"[A-Z][a-z]{2} \d+, \d{4}, \d+:\d\d:\d\d\s[AP]M UTC", title), "told by the browser"
    page.close()
