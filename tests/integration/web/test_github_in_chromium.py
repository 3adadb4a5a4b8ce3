"""Signing in with GitHub in a real browser, which minds policies and cookies: GitHub is another site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from app.integrations.github.identity import Account
from app.services.github_accounts import link_account
from app.wiring import Service
from tests.factories.github_people import CLIENT_ID, CLIENT_SECRET, GitHubPeople
from tests.factories.people import PASSWORD, person
from tests.factories.serving import served
from tests.integration.web.test_in_chromium import browser, needs_chromium

pytestmark = [pytest.mark.postgres, *needs_chromium]

__all__ = ["browser"]


@pytest.fixture
def github() -> Iterator[GitHubPeople]:
    github = GitHubPeople()
    github.person("Ada-K", 7)
    with github.serving():
        github.url = github.url.replace("127.0.0.1", "localhost")
        yield github


@pytest.fixture
def address(service: Service, github: GitHubPeople, tmp_path: Path) -> Iterator[str]:
    """A service at 127.0.0.1, whose GitHub is at localhost."""
    secret = tmp_path / "secret"
    secret.write_text(CLIENT_SECRET)
    settings = service.settings
    settings.github_url = github.url
    settings.github_login_client_id, settings.github_login_secret_file = CLIENT_ID, str(secret)
    with service.database.session() as session:
        link_account(session, person(session, "ada"), Account(7, "Ada-K"), by="service")
        person(session, "bob")
    with served(service) as its_address:
        settings.public_url = its_address
        yield its_address


@pytest.mark.parametrize("scripts", [True, False])
def test_one_press_leads_to_github_and_back_to_where_one_wanted_to_go(
    browser: Browser, address: str, scripts: bool
) -> None:
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{address}/me#tokens")
    page.click("text=Sign in with GitHub")
    page.wait_for_url(f"{address}/me")
    assert "Ada" in page.inner_text("h1")
    assert "Ada-K" in page.inner_text("#github")
    assert {cookie["name"] for cookie in context.cookies()} == {"ratchet_session"}
    assert [text for text in said if "Content Security Policy" in text] == []
    context.close()


def test_account_is_linked_from_ones_own_page(browser: Browser, address: str, github: GitHubPeople) -> None:
    github.person("bobby", 21)
    page = browser.new_page()
    page.goto(f"{address}/sign-in?next=/me")
    page.fill("#name", "bob")
    page.fill("#password", PASSWORD)
    page.press("#password", "Enter")
    page.click("text=Link a GitHub account")
    page.wait_for_selector("#github :text('bobby')")
    assert page.url == f"{address}/me"
    page.click("text=Unlink")
    page.wait_for_selector("text=Link a GitHub account")
    page.close()
