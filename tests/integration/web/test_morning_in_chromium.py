"""A morning's questions, asked as an engineer asks them: in a real browser, by keys and mouse, of a year's history."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from playwright.sync_api import Browser, BrowserContext, Page, expect

from app.services.access import Role
from app.wiring import Service
from tests.factories.histories import PROJECT
from tests.factories.people import PASSWORD, person
from tests.factories.serving import served
from tests.factories.snapshots import Beginnings
from tests.factories.year import (
    DAYS,
    DEVICES,
    EVERYWHERE,
    IN_SPRING,
    LONG_AGO,
    N_VALUES,
    ON_ONE,
    plant_a_year,
    sha,
)
from tests.integration.web.test_in_chromium import browser, needs_chromium

expect.set_options(timeout=30_000)  # a machine that does much else takes its time

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

DRAWN = "() => [...document.querySelectorAll('.canvas canvas')].map(one => one.toDataURL())"
"""What is drawn of a chart, to the last pixel."""

DRAWN_ANEW = f"""
  (before) => new Promise((done, fail) => {{
    setTimeout(() => fail("it stays as it was drawn"), 5000);
    const look = () => JSON.stringify(({DRAWN})()) !== JSON.stringify(before) ? done() : requestAnimationFrame(look);
    look();
  }})
"""


@pytest.fixture
def address(service: Service, client: TestClient, admin_token: str, beginnings: Beginnings) -> Iterator[str]:
    beginnings.have(lambda: plant_a_year(client, service, admin_token), [], own=(), name=plant_a_year)
    with service.database.session() as session:
        person(session, "ada", {PROJECT: Role.MAINTAINER})
    with served(service) as its_address:
        yield its_address


class Engineer:
    """Somebody at a browser, who sends a colleague the address of whatever she sees."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address
        self.faults: list[str] = []
        self._mine = self._context()
        self.page = self._page(self._mine)
        self.keys, self.mouse = self.page.keyboard, self.page.mouse

    def close(self) -> None:
        self._mine.close()

    def _context(self, **options: object) -> BrowserContext:
        return self._browser.new_context(viewport=WIDE, **options)  # type: ignore[arg-type]

    def _page(self, context: BrowserContext) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda said: self._hears(said.type, said.text))
        page.on("request", lambda asked: self._must_be_ours(asked.url))
        return page

    def _hears(self, kind: str, text: str) -> None:
        if kind == "error" and "422" not in text:  # what a form refuses is told on its page, and here as well
            self.faults.append(text)

    def _must_be_ours(self, url: str) -> None:
        if not url.startswith((self._address, "data:")):
            self.faults.append(f"fetched {url}")

    def open(self, path: str) -> None:
        self.page.goto(self._address + path)

    def sign_in(self) -> None:
        self.open("/")
        self.page.get_by_label("Name").fill("ada")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.keys.press("Enter")
        expect(self.page.get_by_role("link", name="ada")).to_be_visible()

    def sees(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text)

    def shares(self) -> None:
        """Have somebody else open this address in a fresh browser, and see the same."""
        here = self.page.evaluate("location.href")
        self.mouse.move(0, 0)
        self.page.keyboard.press("Escape")
        theirs = self._context(storage_state=self._signed_in())
        page = self._page(theirs)
        page.goto(here)
        if self.page.locator(".canvas canvas").count():
            page.wait_for_selector(".canvas .u-over")
            page.wait_for_load_state("networkidle")
        assert page.locator("h1").inner_text() == self.page.locator("h1").inner_text()
        assert _told(page) == _told(self.page)
        assert page.evaluate(DRAWN) == self.page.evaluate(DRAWN)
        assert page.evaluate("location.href") == here
        theirs.close()

    def _signed_in(self) -> object:
        return self._mine.storage_state()

    # --- the chart ---

    def place(self, share: float) -> tuple[float, float]:
        box = self.page.locator(".canvas .u-over").bounding_box()
        assert box is not None
        return box["x"] + 1 + (box["width"] - 2) * share, box["y"] + box["height"] / 2

    def drags(self, start: float, end: float) -> None:
        self.mouse.move(*self.place(start))
        self.mouse.down()
        self.mouse.move(*self.place((start + end) / 2))
        self.mouse.move(*self.place(end))
        self.mouse.up()

    def points_at(self, row: int, first: int, last: int) -> None:
        self.mouse.move(*self.place((row - first) / (last - first)))


def _told(page: Page) -> list[str]:
    """Return what the page says, line by line, without how long ago it was and without what a pointer has raised."""
    text = page.locator("main").inner_text()
    return [
        line
        for line in (re.sub(r"\b(just now|\d+ \w+ ago)\b", "", one).strip() for one in text.splitlines())
        if line
    ]


@pytest.fixture
def engineer(browser: Browser, address: str) -> Iterator[Engineer]:
    its = Engineer(browser, address)
    its.sign_in()
    yield its
    its.close()
    assert its.faults == []


def test_what_needs_attention_is_followed_from_the_alert_to_the_raw_values_and_back(
    engineer: Engineer,
) -> None:
    page = engineer.page
    engineer.sees("2 open alerts")
    assert LONG_AGO.benchmark not in page.locator(".attention").inner_text()
    engineer.shares()

    page.locator(".attention").get_by_role("link", name=re.compile(EVERYWHERE.benchmark)).click()
    engineer.sees(EVERYWHERE.subject, EVERYWHERE.author, "2 changes", *DEVICES)
    engineer.shares()

    page.get_by_role("row", name=re.compile(DEVICES[0])).get_by_role(
        "link", name=re.compile("resize")
    ).click()
    page.wait_for_selector(".canvas .u-over")
    engineer.sees(f"{DAYS} points", "+14.8 %", EVERYWHERE.subject)
    engineer.drags(0.9, 1.0)
    first, last = (
        int(found) for found in re.findall(r"(?:first|last)=(\d+)", page.evaluate("location.search"))
    )
    assert first < EVERYWHERE.at < last == DAYS - 1
    engineer.points_at(EVERYWHERE.at, first, last)
    tip = page.locator(".tip")
    expect(tip).to_contain_text(sha(EVERYWHERE.at)[:10])
    expect(tip).to_contain_text(EVERYWHERE.author)
    expect(tip).to_contain_text(EVERYWHERE.subject)
    zoomed = page.evaluate("location.href")
    engineer.shares()

    engineer.points_at(EVERYWHERE.at, first, last)
    engineer.mouse.down()
    engineer.mouse.up()
    tip.get_by_role("link", name=re.compile("upload-")).click()
    engineer.sees(
        "Posted results", EVERYWHERE.subject, f"n = {N_VALUES}", "What differs from before", "550.2"
    )
    expect(page.locator("figure.sample svg")).to_have_count(4)
    engineer.shares()

    page.go_back()
    page.wait_for_selector(".canvas .u-over")
    assert page.evaluate("location.href") == zoomed
    engineer.points_at(EVERYWHERE.at, first, last)
    expect(tip).to_contain_text(sha(EVERYWHERE.at)[:10])


def test_devices_benchmarks_and_commits_are_held_against_each_other(engineer: Engineer) -> None:
    _overlay_another_device(engineer)
    _find_by_keys(engineer)
    _compare_two_commits(engineer)


def _overlay_another_device(engineer: Engineer) -> None:
    page = engineer.page
    engineer.open("/series?q=resize+xeon")
    page.locator(".found tbody th > a").click()
    page.wait_for_selector(".canvas .u-over")
    page.get_by_text("Draw beside it").click()
    page.get_by_role("checkbox", name=DEVICES[1]).check()
    page.wait_for_url("**beside=*")
    engineer.points_at(EVERYWHERE.at, 0, DAYS - 1)
    expect(page.locator(".tip")).to_contain_text(f"{DEVICES[1]}: 6.")
    engineer.shares()


def _find_by_keys(engineer: Engineer) -> None:
    page = engineer.page
    page.keyboard.press("Escape")
    engineer.keys.press("/")
    engineer.keys.type("decode")
    suggested = page.locator("dialog .suggested li")
    expect(suggested).to_have_count(2)
    expect(suggested.first).to_contain_text("decode")
    engineer.keys.press("ArrowDown")
    engineer.keys.press("Enter")
    page.wait_for_url("**/series/*")
    engineer.sees("decode")
    engineer.keys.press("/")
    engineer.keys.type("decode")
    engineer.keys.press("Enter")
    page.wait_for_url("**/series?q=decode")
    engineer.sees("2 series")
    engineer.shares()
    page.locator("h1").click()
    for key in ("j", "j", "k", "j", "Enter"):
        engineer.keys.press(key)
    page.wait_for_url("**/series/*")
    engineer.sees("decode", DEVICES[1], ON_ONE.subject, IN_SPRING.subject)


def _compare_two_commits(engineer: Engineer) -> None:
    page = engineer.page
    engineer.open("/series")
    page.get_by_role("link", name="Compare").click()
    page.locator("[name=base]").fill(sha(EVERYWHERE.at - 5))
    page.locator("[name=head]").fill(sha(DAYS - 1))
    engineer.keys.press("Enter")
    page.wait_for_url("**base=*")
    engineer.sees("8 pairs")
    shown = [row.inner_text() for row in page.locator(".pairs tbody tr").all()]
    assert [re.split(r"[ \[]", row)[0] for row in shown[:3]] == ["resize", "resize", "decode"]
    changes = [float(found) for row in shown[:3] for found in re.findall(r"\+(\d+(?:\.\d+)?)\s*%", row)]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == 3
    engineer.shares()


def test_alerts_are_answered_and_searches_kept(engineer: Engineer) -> None:
    _answer_both_alerts(engineer)
    _keep_a_search(engineer)


def _answer_both_alerts(engineer: Engineer) -> None:
    page = engineer.page
    engineer.open("/alerts")
    page.get_by_role("link", name=re.compile("resize")).click()
    page.get_by_label("Move to").select_option("acknowledged")
    page.get_by_label("Comment").fill("Grace looks at it today")
    page.get_by_role("button", name="Answer").click()
    engineer.sees("acknowledged", "Grace looks at it today", "ada")
    engineer.shares()

    page.get_by_role("link", name="Alerts").first.click()
    page.get_by_role("link", name=re.compile("decode")).click()
    page.get_by_label("Move to").select_option("accepted")
    page.get_by_role("button", name="Answer", exact=True).click()
    engineer.sees("needs a reason")
    page.get_by_label("Move to").select_option("accepted")
    page.get_by_label("Comment").fill("exact results, wanted")
    page.get_by_role("button", name="Answer", exact=True).click()
    engineer.sees("accepted by ada", "exact results, wanted")
    engineer.open("/")
    engineer.sees("1 open alert")


def _keep_a_search(engineer: Engineer) -> None:
    page = engineer.page
    engineer.open("/series?q=decode")
    page.get_by_role("link", name=DEVICES[1]).click()
    page.wait_for_url("**device_class=*")
    there, found = page.evaluate("location.search"), page.locator(".found tbody tr").all_inner_texts()
    page.get_by_text("Keep this search").click()
    page.get_by_label("Name").fill("decoding")
    engineer.keys.press("Enter")
    expect(page.locator(".kept").get_by_role("link", name="decoding")).to_be_visible()
    engineer.open("/me")
    page.get_by_role("link", name="decoding").click()
    page.wait_for_url("**/series?*")
    assert sorted(page.evaluate("location.search")[1:].split("&")) == sorted(there[1:].split("&"))
    assert page.locator(".found tbody tr").all_inner_texts() == found


def test_all_of_it_is_there_in_the_dark_and_on_a_phone(engineer: Engineer) -> None:
    page = engineer.page
    paths = ["/", "/alerts/1", f"/series/7?first=300&last={DAYS - 1}", "/runs/upload-1", "/series?q=decode"]
    paths.append(f"/compare?project={PROJECT}&base={sha(300)}&head={sha(DAYS - 1)}")
    ground = "getComputedStyle(document.body).backgroundColor"
    for path in paths:
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="light")
        engineer.open(path)
        light, told = page.evaluate(ground), page.locator("h1").inner_text()
        drawn = page.evaluate(DRAWN)
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert page.evaluate(ground) != light, path
        assert page.locator("h1").inner_text() == told
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
        if drawn:
            page.evaluate(DRAWN_ANEW, drawn)
