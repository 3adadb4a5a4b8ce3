"""Asked for on a page: the form, the button of a check, and what came of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from app.services.access import Scope, issue_token
from app.store.repositories import projects
from tests.factories.browser import SAME_ORIGIN, Page, browser
from tests.integration.forge.conftest import SETTINGS, Begin, World
from tests.integration.forge.test_branch import asked, push
from tests.integration.forge.test_measure import measured
from tests.integration.forge.test_pull_life import measure
from tests.integration.forge.test_schedules import TOMORROW, strike

pytestmark = pytest.mark.postgres

FORM = "/measure?project=acme/vision"


@pytest.fixture
def connected(world: World, begin: Begin) -> World:
    """A repository whose newest commit was measured."""
    begin(known, world)
    return world


def known(world: World) -> None:
    """Have a second commit pushed and measured, and all done that follows."""
    measured(world)
    world.settle()


@pytest.fixture
def asker(connected: World, admin_token: str) -> TestClient:
    return browser(connected.service, admin_token)


def reader_of(world: World) -> TestClient:
    """Somebody who may only look."""
    with world.service.database.session() as session:
        token = issue_token(session, "reader", [Scope.RESULTS_READ])
    return browser(world.service, token)


def send(client: TestClient, path: str = "/measure", **fields: str) -> Response:
    return client.post(path, data={"project": "acme/vision", **fields}, headers=SAME_ORIGIN)


def test_the_list_leads_to_the_form_and_the_form_to_the_check(connected: World, asker: TestClient) -> None:
    head = connected.commit("third", 3)
    assert FORM in Page(asker.get("/").text).links
    answer = send(asker, what="main")
    assert answer.status_code == 303
    where = answer.headers["location"]
    waiting = Page(asker.get(where).text)
    assert (waiting.refresh_s, "Fetching the commits" in waiting.text) == (2, True)
    connected.settle()
    assert asker.get(where).headers["location"] == "/checks/2"
    assert asked(connected)[-1][1:3] == (connected.base, head)


@pytest.mark.parametrize("what", ["#1", "1"])
def test_a_number_is_a_pull_request(connected: World, asker: TestClient, what: str) -> None:
    head = connected.push(1, "a change")
    send(asker, what=what)
    connected.settle()
    assert connected.run_of(head)["status"] == "queued"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"what": " "}, "Name a pull request"),
        ({"what": "a..b"}, "names no commit"),
        ({"what": "#1", "base": "main"}, "has its own base"),
    ],
)
def test_a_mistake_is_told_beside_what_was_filled_in(
    asker: TestClient, fields: dict[str, str], says: str
) -> None:
    answer = send(asker, **fields)
    assert answer.status_code == 422
    page = Page(answer.text)
    assert says in page.text
    filled = {a["name"]: a["value"] for tag, a in page.elements if tag == "input" and a["type"] == "text"}
    assert filled["what"] == fields["what"]


def test_suites_that_are_chosen_are_measured(connected: World, asker: TestClient) -> None:
    two = SETTINGS + '[[suite]]\nname = "other"\nbenchmarks = "benchmarks/bench_*.py"\ndevices = ["cpu-*"]\n'
    connected.commit("two suites", 3, settings=two)
    send(asker, what="main")
    connected.settle()
    page = Page(asker.get(FORM).text)
    boxes = [a["name"] for tag, a in page.elements if tag == "input" and a["type"] == "checkbox"]
    assert boxes == ["suite inference", "suite other"]
    send(asker, what="main", **{"suite other": "on"})
    connected.settle()
    assert "other" in Page(asker.get("/checks/3").text).text
    assert "inference" not in Page(asker.get("/checks/3").text).text


def test_why_there_is_no_check_is_said(connected: World, asker: TestClient) -> None:
    connected.push(1, "from afar", fork=True)
    where = send(asker, what="#1").headers["location"]
    connected.settle()
    page = Page(asker.get(where).text)
    assert page.refresh_s is None
    assert "Not measured Pull request 1: it comes from a fork" in page.text


def test_the_button_of_a_check_measures_the_same_again(connected: World, asker: TestClient) -> None:
    page = Page(asker.get("/checks/1").text)
    assert ("form", {"method": "post", "action": "/checks/1/again"}) in page.elements
    answer = send(asker, "/checks/1/again")
    connected.settle()
    assert asker.get(answer.headers["location"]).headers["location"] == "/checks/2"
    (first, again) = asked(connected)
    assert first[1:3] == again[1:3]


def test_the_button_of_a_pull_requests_check_makes_that_again(connected: World, asker: TestClient) -> None:
    head = connected.push(1, "a change")
    connected.happens(1, "opened")
    measure(connected)
    connected.settle()
    send(asker, "/checks/2/again")
    connected.settle()
    assert [run["status"] for run in connected.github.runs_of(head)] == ["completed", "queued"]


@pytest.mark.parametrize("path", ["/measure", "/checks/1/again"])
def test_who_may_only_look_is_shown_no_button_and_refused(connected: World, path: str) -> None:
    reader = reader_of(connected)
    for shown in ("/checks/1", FORM):
        assert "Measure again" not in reader.get(shown).text
        assert 'action="/measure"' not in reader.get(shown).text
    assert send(reader, path, what="main").status_code == 403
    assert len(asked(connected)) == 1


@pytest.mark.parametrize("path", ["/measure", "/checks/1/again"])
def test_a_form_from_elsewhere_is_refused(connected: World, asker: TestClient, path: str) -> None:
    answer = asker.post(path, data={"project": "acme/vision", "what": "main"})
    assert answer.status_code == 403
    assert len(asked(connected)) == 1


def test_nobody_asks_unnamed_even_where_reading_is_open(connected: World) -> None:
    connected.service.settings.anonymous_read = True
    stranger = browser(connected.service)
    assert stranger.get(FORM).status_code == 200
    assert send(stranger, what="main").headers["location"].startswith("/sign-in")


def test_a_project_of_somebody_else_is_not_there(connected: World) -> None:
    with connected.service.database.session() as session:
        other = projects.project(session, "acme/other").id
        token = issue_token(session, "elsewhere", [Scope.JOBS_CREATE], project_id=other)
    elsewhere = browser(connected.service, token)
    assert elsewhere.get(FORM).status_code == 404
    assert send(elsewhere, what="main").status_code == 404
    assert send(elsewhere, "/checks/1/again").status_code == 404


def test_a_project_without_a_repository_shows_how_else(connected: World, asker: TestClient) -> None:
    with connected.service.database.session() as session:
        session.connection().exec_driver_sql("update repository set is_connected = false")
    assert "/measure?project=acme/vision" not in Page(asker.get("/").text).links
    assert "Measure again" not in asker.get("/checks/1").text
    assert "ratchet check --repo" in asker.get(FORM).text


def test_schedules_say_what_followed(connected: World, asker: TestClient) -> None:
    nightly = SETTINGS.replace("paths =", 'on = ["nightly"]\npaths =')
    connected.commit("at night", 3, settings=nightly)
    push(connected)
    assert "nightly It was not due yet 0 2 * * * UTC" in Page(asker.get(FORM).text).text
    strike(connected)
    assert "Check 2 : " in Page(asker.get(FORM).text).text
    strike(connected, TOMORROW + timedelta(days=1))
    assert "Not measured: nothing is new since" in Page(reader_of(connected).get(FORM).text).text
