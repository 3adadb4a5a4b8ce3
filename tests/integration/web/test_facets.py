"""What the list of series is narrowed by: where there is much of it, some is offered and the rest can be reached."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from app.services.explore_series import MOST_OF_A_FACET
from app.wiring import Service
from tests.factories.browser import Page, browser, shown
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

MORE = 20
ALL = MOST_OF_A_FACET + MORE


@pytest.fixture
def reader(service: Service, client: TestClient, admin_token: str) -> TestClient:
    """Somebody who looks at series of many benchmarks."""
    document = posted_document(*(posted_result(f"case{n:02}") for n in range(ALL)))
    assert post_results(client, admin_token, document).status_code == 201
    return browser(service, admin_token)


def offered(page: Page) -> int:
    return sum(link.startswith("/series?benchmark=case") for link in page.links)


def test_values_that_are_not_offered_are_counted_and_led_to(reader: TestClient) -> None:
    page = shown(reader, "/series")
    assert offered(page) == MOST_OF_A_FACET
    assert f"… and {MORE} more" in page.text
    whole = shown(reader, next(link for link in page.links if "whole=" in link))
    assert offered(whole) == ALL
    assert " more" not in whole.text


def test_a_facet_that_does_not_exist_is_not_offered_whole(reader: TestClient) -> None:
    assert offered(shown(reader, "/series?whole=nosuch")) == MOST_OF_A_FACET


def test_what_is_looked_for_counts_what_it_leaves_out(reader: TestClient) -> None:
    page = shown(reader, "/series?q=case1")
    assert page.links.count("/series?q=case1&benchmark=case10") == 1
    assert " more" not in page.text


def test_a_value_that_is_chosen_beyond_those_that_are_offered_is_there(reader: TestClient) -> None:
    page = shown(reader, f"/series?benchmark=case{ALL - 1}")
    assert f"case{ALL - 1} " in page.text
    assert f"… and {MORE - 1} more" in page.text


def test_a_value_that_is_chosen_and_nothing_has_is_none_of_those_that_are_counted(reader: TestClient) -> None:
    page = shown(reader, "/series?benchmark=nosuch")
    assert "nosuch" in page.text
    assert f"… and {MORE} more" in page.text


def test_more_values_than_are_ever_offered_are_to_be_looked_for(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.services.explore_series.ALL_OF_A_FACET", ALL - 3)
    page = shown(reader, "/series?whole=benchmark")
    assert "… and 3 more: look for them by their words" in page.text
    assert not any("whole=" in link for link in page.links)
