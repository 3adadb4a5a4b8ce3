"""The pages of series: found by words and by what they have in common, and one of them as a trend."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.services.access import Scope
from app.wiring import Service
from tests.factories.browser import Page
from tests.factories.histories import Poster, sha, stepped
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from tests.integration.series.conftest import grown

pytestmark = pytest.mark.postgres

HOSTILE = "</script><script>alert(1)</script> & **b** \u05d0\u05d1 🙂"


@pytest.fixture
def several(poster: Poster, client: TestClient) -> Poster:
    """Six series of two projects on two device classes."""
    for project, device in (("acme/vision", "cpu-a"), ("acme/vision", "cpu-b"), ("acme/speech", "cpu-a")):
        document = posted_document(
            posted_result("resize", params={"batch": 32}),
            posted_result(
                "tokenize 100%_fast",
                params={"lang": "日本語"},
                metric="throughput",
                unit="tokens/s",
                better="higher",
            ),
            project=project,
            device_class=device,
        )
        assert post_results(client, poster.token, document).status_code == 201
    return poster


def found(poster: Poster, query: str) -> list[str]:
    """Return the addresses of the series that the list has."""
    page = Page(look(poster, f"/series{query}"))
    return [
        a["href"]
        for tag, a in page.elements
        if tag == "a" and re.fullmatch(r"/series/\d+", a.get("href", ""))
    ]


def look(poster: Poster, path: str, token: str | None = None) -> str:
    answer = poster.client.get(path, headers={"Authorization": f"Bearer {token or poster.token}"})
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("query", "n"),
    [
        ("", 6),
        ("?q=resize", 3),
        ("?q=RESIZE+cpu-b", 1),
        ("?q=32+speech", 1),
        ("?q=日本", 3),
        ("?q=100%25_", 3),
        ("?q=%25", 3),
        ("?q=re_ize", 0),
        ("?metric=throughput&device_class=cpu-a", 2),
        ("?project=acme/speech&q=resize", 1),
        ("?benchmark=nothing", 0),
        ("?at=2", 0),
    ],
)
def test_series_are_found_by_words_and_by_what_they_have_in_common(
    several: Poster, query: str, n: int
) -> None:
    assert len(found(several, query)) == n


def test_what_they_have_in_common_is_offered_with_numbers_and_can_be_taken_back(several: Poster) -> None:
    page = Page(look(several, "/series?q=resize&device_class=cpu-a"))
    links = {a["href"] for tag, a in page.elements if tag == "a" and a.get("href", "").startswith("/series?")}
    assert "/series?q=resize" in links, "the device class is taken back"
    assert "/series?q=resize&device_class=cpu-b" in links, "or changed for another"
    assert "/series?q=resize&project=acme%2Fspeech&device_class=cpu-a" in links
    assert "cpu-b 1" in page.text


def test_whoever_is_bound_to_a_project_sees_no_other(several: Poster, service: Service) -> None:
    token = bound_token(service, "acme/speech", Scope.RESULTS_READ)
    text = Page(look(several, "/series", token)).text
    assert "2 series" in text
    assert "vision" not in text
    assert several.client.get("/series/1", headers={"Authorization": f"Bearer {token}"}).status_code == 404


def test_a_service_without_series_says_how_one_begins(poster: Poster) -> None:
    assert "No series yet" in Page(look(poster, "/series")).text


def test_the_list_tells_the_newest_value_and_the_last_change(poster: Poster) -> None:
    grown(poster, stepped(60, 30, 0.2))
    text = Page(look(poster, "/series")).text
    assert re.search(r"\+(19|20|21)(\.\d)? %.*30 points ago", text)
    assert "ms" in text


def test_a_series_is_shown_with_its_points_and_changes(poster: Poster) -> None:
    grown(poster, stepped(60, 30, 0.2))
    html = look(poster, f"/series/{poster.series}")
    page = Page(html)
    assert "60 points on main" in page.text
    assert sha(30)[:10] in page.text
    assert '<svg class="trend"' in html, "there is a picture without a script"
    assert data_of(html)["n"] == 60


def test_a_part_of_the_history_has_an_address(poster: Poster) -> None:
    grown(poster, stepped(60, 30, 0.2))
    html = look(poster, f"/series/{poster.series}?first=10&last=19")
    assert data_of(html)["points"]["row"] == list(range(10, 20))
    assert "Show the whole history" in html


def test_an_address_that_asks_for_what_is_not_there_says_so(poster: Poster) -> None:
    grown(poster, stepped(20, 10, 0.2))
    assert "the last is before the first" in look(poster, "/series/1?first=15&last=10")
    assert "The history has no rows 20 and later: it has 20 points." in look(poster, "/series/1?first=90")
    assert "No point on main is of a commit with the whole id deadbeef" in look(
        poster, "/series/1?relative=deadbeef"
    )
    assert "Series 999999 is not drawn" in look(poster, "/series/1?beside=999999")
    assert "left-out" not in look(poster, f"/series/1?relative={sha(3)}&first=2&last=9")


def test_names_are_text_wherever_they_are(poster: Poster, client: TestClient) -> None:
    document = posted_document(posted_result(HOSTILE, params={"note": HOSTILE}), device_class=HOSTILE)
    answer = post_results(client, poster.token, document)
    assert answer.status_code == 201, answer.text
    for path in ("/series", f"/series/{answer.json()['series'][0]['id']}", f"/series?q={HOSTILE}"):
        html = look(poster, path)
        assert "<script>alert" not in html
        assert "</script><script>" not in html.replace('</script><script src="', "")


def test_a_series_whose_results_are_in_no_history_says_so(poster: Poster) -> None:
    poster.post(10.0, 0)
    assert "Nothing of this series is in a history yet" in look(poster, f"/series/{poster.series}")


@pytest.mark.parametrize("path", ["/series/999", "/series/1?branch=nope", "/series/0", "/series?at=0"])
def test_what_is_not_there_is_a_page_that_says_so(poster: Poster, path: str) -> None:
    poster.tell(10.0, 0)
    answer = poster.client.get(
        path, headers={"Authorization": f"Bearer {poster.token}", "Accept": "text/html"}
    )
    assert answer.status_code in (404, 422)
    assert "<h1" in answer.text


def data_of(html: str) -> dict[str, Any]:
    """Return what the page hands to its script."""
    (told,) = re.findall(r'<script type="application/json" id="trend-data">(.*?)</script>', html, re.DOTALL)
    document: dict[str, Any] = json.loads(told)
    return document
