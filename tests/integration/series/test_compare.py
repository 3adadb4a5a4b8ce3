"""Stored numbers of two commits, branches or device classes side by side, the worst first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.services.access import Scope
from app.wiring import Service
from tests.factories.browser import Page
from tests.factories.histories import Poster, deliver, sha
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

FASTER, SLOWER, SAME = "faster", "slower", "same"


def post(poster: Poster, commit: int, factor: float, **fields: Any) -> None:
    """Post three benchmarks of a commit: one that the factor is good for, one that it is bad for, one that stays."""
    document = posted_document(
        posted_result(FASTER, [10.0 / factor, 10.1 / factor]),
        posted_result(SLOWER, [10.0 * factor, 10.1 * factor]),
        posted_result(SAME, [10.0, 10.1]),
        posted_result(
            "throughput", [10.0 * factor, 10.1 * factor], metric="rate", unit="1/s", better="higher"
        ),
        commit=sha(commit),
        **fields,
    )
    answer = post_results(poster.client, poster.token, document)
    assert answer.status_code == 201, answer.text


@pytest.fixture
def two(poster: Poster) -> Poster:
    """Two commits of `main` on one device class, the second on a better one, too."""
    post(poster, 0, 1.0)
    post(poster, 1, 2.0, parent=sha(0))
    post(poster, 1, 4.0, device_class="cpu-better")
    deliver(poster.service)
    return poster


def compare(poster: Poster, base: str, head: str, **more: str) -> dict[str, Any]:
    return poster.get("compare", project="acme/vision", base=base, head=head, **more)


def changes(document: dict[str, Any]) -> dict[str, float]:
    return {pair["benchmark"]: pair["change"] for pair in document["series"]}


def test_two_commits_are_compared_on_the_devices_that_both_have(two: Poster) -> None:
    found = compare(two, sha(0), sha(1))
    assert changes(found) == pytest.approx({FASTER: -0.5, SLOWER: 1.0, SAME: 0.0, "throughput": 1.0})
    assert {pair["device_class"] for pair in found["only_head"]} == {"cpu-better"}
    assert [pair["base_commit"] for pair in found["series"]] == [sha(0)] * 4


def test_a_branch_is_the_newest_that_each_series_has_on_it(two: Poster) -> None:
    post(two, 7, 3.0, branch="release")
    deliver(two.service)
    found = compare(two, "main", "release")
    assert (found["base"], found["head"]) == ("main", "release")
    assert changes(found)[SLOWER] == pytest.approx(0.5)
    assert {pair["head_commit"] for pair in found["series"]} == {sha(7)}


def test_one_device_class_is_held_against_another(two: Poster) -> None:
    found = compare(two, "main", "main", base_device_class="cpu-test-2t", head_device_class="cpu-better")
    assert changes(found)[FASTER] == pytest.approx(-0.5)
    assert (found["only_base"], found["only_head"]) == ([], [])


def test_a_device_class_on_one_side_narrows_that_side_alone(two: Poster) -> None:
    found = compare(two, sha(1), sha(1), base_device_class="cpu-better")
    assert len(found["series"]) == 4
    assert len(found["only_head"]) == 4


def look(poster: Poster, query: str, token: str | None = None, status: int = 200) -> str:
    headers = {"Authorization": f"Bearer {token or poster.token}", "Accept": "text/html"}
    answer = poster.client.get(f"/compare{query}", headers=headers)
    assert answer.status_code == status, answer.text
    return answer.text


def rows(html: str) -> list[str]:
    """Return the benchmarks of the table in its order."""
    return re.findall(r'<th scope="row"><a href="/series/\d+"><bdi[^>]*>(\w+)', html)


def test_the_page_begins_with_the_worst_and_ends_with_what_overlaps(two: Poster) -> None:
    html = look(two, f"?base={sha(0)}&head={sha(1)}")
    assert rows(html)[0] == SLOWER
    assert rows(html)[-1] == SAME
    text = Page(html).text
    assert "1 worse" in text
    assert "2 better" in text
    assert "1 whose values overlap" in text


def test_words_narrow_it(two: Poster) -> None:
    assert rows(look(two, f"?base={sha(0)}&head={sha(1)}&q=RATE+put")) == ["throughput"]


def test_means_are_geometric(two: Poster) -> None:
    text = Page(look(two, f"?base={sha(0)}&head={sha(1)}")).text
    assert re.search(r"latency_p50 lower is better 3 0(\.0+)? %", text), "a half, twice and the same"


def test_both_columns_have_the_unit(two: Poster) -> None:
    text = Page(look(two, f"?base={sha(0)}&head={sha(1)}")).text
    assert "10.05 ms n = 2 20.10 ms n = 2" in text


def test_a_comparison_with_one_side_says_what_is_missing(two: Poster) -> None:
    assert "Choose a head, too." in Page(look(two, f"?base={sha(0)}")).text
    assert "Choose a base and a head, too." in Page(look(two, "?base_device_class=cpu-better")).text
    assert "Choose" not in Page(look(two, "")).text


def test_a_project_that_is_not_there_is_not_found(two: Poster) -> None:
    look(two, "?project=unknown&base=main&head=main", status=404)


def test_what_is_neither_commit_nor_branch_is_told_beside_the_form(two: Poster) -> None:
    text = Page(look(two, "?base=nope&head=main", status=404)).text
    assert "is no commit, and no branch or device class that has a history" in text


def test_the_form_offers_branches_and_device_classes(two: Poster) -> None:
    html = look(two, "")
    assert '<option value="main">' in html
    assert html.count("<option>cpu-better</option>") == 2


def test_whoever_is_bound_to_another_project_sees_nothing_of_this(
    two: Poster, client: TestClient, service: Service
) -> None:
    token = bound_token(service, "acme/other", Scope.RESULTS_READ)
    html = look(two, f"?project=acme/vision&base={sha(0)}&head={sha(1)}", token, status=404)
    assert SLOWER not in html
    assert "cpu-better" not in html
