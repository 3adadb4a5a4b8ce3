"""Forms, keys and fingers in a real browser: all are chosen at once, keys go where the eye is, targets can be hit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from app.services.access import Role
from app.store.repositories import projects
from app.store.tables import Alert
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.people import PASSWORD, person
from tests.factories.serving import served
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]

PROJECT = "acme/vision"
PRESSED = "header a, header button, .filter-by a, .alerts input, .choose-all input"
SMALL = """(pressed) => [...document.querySelectorAll(pressed)].map((its) => its.getBoundingClientRect())
  .filter((its) => its.width && Math.min(its.height, its.width) < 24).length"""


@pytest.fixture
def address(service: Service) -> Iterator[str]:
    """A service with Ada, three alerts and a check."""
    with service.database.session() as session:
        stored.check(session, results.regressed())
        person(session, "ada", {PROJECT: Role.MAINTAINER})
        its = projects.project(session, PROJECT)
        base, head = (projects.commit(session, its.id, digit * 40) for digit in "ab")
        commits = {"previous_commit_id": base.id, "commit_id": head.id}
        session.add_all(Alert(project_id=its.id, branch="main", state="new", **commits) for _ in range(3))
    with served(service) as its_address:
        service.settings.public_url = its_address
        yield its_address


def signed_in(browser: Browser, address: str, path: str, width: int = 1280, *, scripts: bool = True) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        has_touch=width < 760,
        is_mobile=width < 760,
        java_script_enabled=scripts,
    )
    page = context.new_page()
    page.goto(f"{address}/sign-in?next={path}")
    page.fill("#name", "ada")
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.wait_for_url(f"{address}{path}")
    return page


def chosen(page: Page) -> int:
    return page.locator(".alerts input:checked").count()


def test_all_alerts_are_chosen_at_once_and_none_again(browser: Browser, address: str) -> None:
    page = signed_in(browser, address, "/alerts")
    page.check("[data-choose]")
    assert chosen(page) == 3
    page.locator(".alerts input").first.uncheck()
    assert page.evaluate("document.querySelector('[data-choose]').indeterminate")
    page.check("[data-choose]")
    page.uncheck("[data-choose]")
    assert chosen(page) == 0


def test_without_a_script_nothing_offers_to_choose_all(browser: Browser, address: str) -> None:
    page = signed_in(browser, address, "/alerts", scripts=False)
    assert not page.locator("[data-choose]").is_visible()
    page.locator(".alerts input").first.check()
    page.select_option("select[name=state]", "accepted")
    page.click(".answer button")
    assert page.locator(".problem").is_visible()
    assert chosen(page) == 1


def test_keys_go_through_the_alerts_of_the_home_page(browser: Browser, address: str) -> None:
    page = signed_in(browser, address, "/")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "/alerts/3"
    for _ in range(3):
        page.keyboard.press("j")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "/checks/1"


def test_the_list_of_series_leaves_keys_to_the_page_until_somebody_seeks(
    browser: Browser, address: str
) -> None:
    page = signed_in(browser, address, "/series")
    page.wait_for_timeout(300)
    page.keyboard.press("j")
    assert page.input_value("main input[name=q]") == ""
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "q"


def test_a_finger_hits_what_it_points_at(browser: Browser, address: str) -> None:
    page = signed_in(browser, address, "/alerts", 390)
    page.tap("[data-choose]")
    assert chosen(page) == 3
    page.tap(".filter-by a >> text=All 3")
    page.wait_for_url(f"{address}/alerts?state=all")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("path", ["/", "/alerts"])
def test_what_is_pressed_is_large_enough_to_be_hit(
    browser: Browser, address: str, path: str, width: int
) -> None:
    page = signed_in(browser, address, path, width)
    assert page.locator(PRESSED).count() > 0
    assert page.evaluate(SMALL, PRESSED) == 0
