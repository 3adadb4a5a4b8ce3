"""The page of a commit: its results beside the points before, its changes, its neighbours, and who measured it."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.services.access import Scope
from app.services.publish import publish_run
from app.store.tables import Run
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, browser, counted, shown
from tests.factories.histories import Poster, deliver, sha, stepped
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from tests.integration.series.conftest import grown

pytestmark = pytest.mark.postgres

HERE = "/commits/{}?project=acme/vision"


def test_commit_of_a_history_has_its_change_its_neighbours_and_a_comparison_with_its_parent(
    poster: Poster, reader: TestClient
) -> None:
    grown(poster, stepped(60, 30, 0.2))
    page = shown(reader, HERE.format(sha(30)))
    assert "Changes that begin here" in page.text
    assert "resize[batch=32] latency_p50 cpu-test-2t" in page.text
    assert "1 worse than the point before, 0 better" in page.text
    assert {
        f"/commits/{sha(29)}?project=acme/vision",
        f"/commits/{sha(31)}?project=acme/vision",
        f"/compare?project=acme/vision&base={sha(29)}&head={sha(30)}",
        f"/series/{poster.series}",
        f"/series/{poster.series}?branch=main#change-1",
    } <= set(page.links)
    first = shown(reader, f"/commits/{sha(0)}")
    assert "Results that nothing is before" in first.text
    assert "Changes that begin here" not in first.text


def test_neighbours_that_nobody_named_are_those_of_the_histories(poster: Poster, reader: TestClient) -> None:
    for number in range(3):
        poster.post(10.0, number, position=number, subject=f"subject {number}")
    deliver(poster.service)
    text = shown(reader, HERE.format(sha(1))).text
    assert f"Measured before {sha(0)[:10]} subject 0 Measured next {sha(2)[:10]} subject 2" in text
    assert "Compare with the commit measured before" in text


def test_head_of_a_check_stands_beside_the_base_that_the_same_run_measured(
    reader: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        stored.worker(session)
        stored.check(session, results.regressed())
        publish_run(session, session.scalars(select(Run)).one())
    head = shown(reader, HERE.format(results.HEAD.sha))
    assert results.HEAD.subject in head.text
    assert "by Grace Murray" in head.text
    assert {"/checks/1", "/runs/1", f"/commits/{results.BASE.sha}?project=acme/vision"} <= set(head.links)
    assert "worse than the point before" in head.text
    base = shown(reader, HERE.format(results.BASE.sha[:7]))
    assert {"/checks/1", "/runs/1"} <= set(base.links)
    assert "Results that nothing is before" in base.text


def test_a_page_costs_the_same_statements_however_many_results_there_are(
    client: TestClient, reader: TestClient, service: Service, admin_token: str
) -> None:
    sent = []
    for n in (1, 30):
        for number in (0, 1):
            document = posted_document(
                *(posted_result(f"bench {i}", [1.0, 1.1 + number]) for i in range(n)),
                commit=sha(number),
                position=number,
            )
            assert post_results(client, admin_token, document).status_code == 201
        deliver(service)
        with counted(service.database.engine) as statements:
            page = shown(reader, HERE.format(sha(1)))
        sent.append(len(statements))
    assert "30 series: " in page.text
    assert sent[0] == sent[1] <= 16


def test_commit_without_results_says_how_to_measure_it(poster: Poster, reader: TestClient) -> None:
    poster.post(10.0, 1, parent=sha(0))
    with poster.service.database.session() as session:
        stored.check(session, results.check(None))
    page = shown(reader, HERE.format(results.HEAD.sha))
    assert "No results of this commit" in page.text
    assert f"--head {results.HEAD.sha[:12]}" in page.text
    assert "nothing is known of it" in shown(reader, HERE.format(sha(1))).text


def test_what_is_no_commit_is_a_page_that_says_so(
    poster: Poster, reader: TestClient, service: Service
) -> None:
    poster.post(10.0, "1234567a" + "0" * 32)
    poster.post(10.0, "1234567b" + "0" * 32)
    for digits, words in (
        ("abcdef0", "has no commit abcdef0"),
        ("1234567", "beginning of several commits"),
        ("main", "give at least 7 hexadecimal digits"),
    ):
        answer = reader.get(HERE.format(digits))
        assert answer.status_code in (400, 404)
        assert words in Page(answer.text).text
    other = browser(service, bound_token(service, "acme/other", Scope.RESULTS_READ))
    assert other.get(HERE.format("1234567a")).status_code == 404
    assert "say of which the commit is" in Page(reader.get("/commits/1234567a").text).text
