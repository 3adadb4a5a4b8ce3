"""The page of who may do what in a project: for those who administer it."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session

from app.services.access import Role, Scope, issue_token
from app.store.repositories import access, projects
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser, shown
from tests.factories.people import browser_of, person

pytestmark = pytest.mark.postgres

PROJECT = "acme/vision"
PATH = f"/projects/{PROJECT}/access"


@pytest.fixture
def peopled(service: Service) -> Service:
    """A service with Ada, who administers a project, Bob, who maintains it, and Zoe, who has no role."""
    with service.database.session() as session:
        person(session, "ada", {PROJECT: Role.ADMIN})
        person(session, "bob", {PROJECT: Role.MAINTAINER})
        person(session, "zoe")
    return service


@pytest.fixture
def ada(peopled: Service) -> TestClient:
    return browser_of(peopled, "ada")


def send(client: TestClient, path: str, **form: str) -> Page:
    """Send a form, and return the page that it leads to."""
    answer = client.post(f"{PATH}/{path}", data=form, headers=SAME_ORIGIN)
    if answer.status_code == 303:
        answer = client.get(answer.headers["location"])
    return Page(answer.text)


def test_page_shows_members_by_name_with_their_roles(ada: TestClient) -> None:
    text = shown(ada, PATH).text
    assert re.search(r"admin Ada ada .* maintainer Bob bob", text)
    assert "Zoe" not in text
    assert PATH in shown(ada, "/me").links


def test_whoever_does_not_administer_is_refused_and_has_no_link(peopled: Service) -> None:
    bob = browser_of(peopled, "bob")
    assert bob.get(PATH).status_code == 403
    assert PATH not in shown(bob, "/me").links


def test_role_is_given_changed_and_taken(ada: TestClient, peopled: Service) -> None:
    zoe = browser_of(peopled, "zoe")
    assert zoe.get("/").status_code == 403
    assert "viewer Zoe" in send(ada, "members", user=" Zoe", role="viewer").text
    assert zoe.get("/").status_code == 200
    assert "admin Zoe" in send(ada, "members", user="zoe", role="admin").text
    assert zoe.get(PATH).status_code == 200
    assert "Zoe" not in send(ada, "members", user="zoe", role="none").text
    assert zoe.get("/").status_code == 403


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"user": "nobody", "role": "viewer"}, "no user 'nobody'"),
        ({"user": "", "role": "viewer"}, "no user ''"),
        ({"user": "zoe", "role": "king"}, "Choose a role"),
    ],
)
def test_wrong_form_is_told_and_changes_nothing(ada: TestClient, form: dict[str, str], why: str) -> None:
    assert why in send(ada, "members", **form).text
    assert "Zoe" not in shown(ada, PATH).text


def test_a_refused_form_keeps_what_was_typed(ada: TestClient) -> None:
    member = send(ada, "members", user="nosuch", role="maintainer")
    assert 'value="nosuch"' in member.html
    assert '<option value="maintainer" selected>' in member.html
    token = send(ada, "tokens", name="nightly", days="400", **{"scope jobs:create": "on"})
    assert 'value="nightly"' in token.html
    assert 'value="400"' in token.html
    assert 'name="scope jobs:create" checked' in token.html


def test_token_of_the_project_is_shown_once_and_stays_when_its_maker_leaves(
    ada: TestClient, peopled: Service
) -> None:
    page = send(ada, "tokens", name="ci", days="30", **{"scope results:read": "on"})
    found = re.search(r"ratchet_([0-9a-f]{12})_[0-9a-f]{64}", page.text)
    assert found
    again = ada.get(PATH).text
    assert found[0] not in again
    assert again.count("/revoke") == 1, "to load the page anew issues no second one"
    send(ada, "members", user="ada", role="none")
    headers = {"Authorization": f"Bearer {found[0]}"}
    answer = browser(peopled).get(f"/api/v1/projects/{PROJECT}/schedules", headers=headers)
    assert answer.status_code == 200
    with peopled.database.session() as session:
        person(session, "eve", {PROJECT: Role.ADMIN})
    eve = browser_of(peopled, "eve")
    assert "No live token" in send(eve, f"tokens/{found[1]}/revoke").text
    assert browser(peopled).get("/api/v1/checks", headers=headers).status_code == 401


NEW = {"name": "ci", "days": "30", "scope results:read": "on"}
SECRET = "ratchet_[0-9a-f]{12}_[0-9a-f]{64}"


def test_another_page_that_is_loaded_before_that_of_a_new_token_leaves_the_token_to_be_shown(
    ada: TestClient,
) -> None:
    assert ada.post(f"{PATH}/tokens", data=NEW, headers=SAME_ORIGIN).status_code == 303
    assert not re.search(SECRET, ada.get("/me").text)
    page = ada.get(PATH)
    assert re.search(SECRET, page.text)
    assert page.headers["cache-control"] == "no-store"
    assert not ada.cookies.get("ratchet_issued")


def test_to_sign_out_takes_a_token_that_was_not_shown_from_the_browser(ada: TestClient) -> None:
    ada.post(f"{PATH}/tokens", data=NEW, headers=SAME_ORIGIN)
    assert ada.cookies.get("ratchet_issued")
    ada.post("/sign-out", headers=SAME_ORIGIN)
    assert not list(ada.cookies)


@pytest.mark.parametrize("name", ["zoe", "Zoe", "zoe/ci", "github"])
def test_token_is_not_called_as_somebody_else_is(ada: TestClient, name: str) -> None:
    page = send(ada, "tokens", name=name, days="30", **{"scope results:read": "on"})
    assert "is what somebody else is called here" in page.text


def test_tokens_of_a_project_are_none_of_the_installations(session: Session) -> None:
    project = projects.project(session, PROJECT)
    issue_token(session, "admin", [Scope.RESULTS_READ], project_id=project.id)
    assert not access.has_token_named(session, "admin")
    access.revoke_named(session, "admin")
    assert access.has_project_token_named(session, "Admin")


def test_token_that_is_not_bound_to_the_project_is_not_there(ada: TestClient, peopled: Service) -> None:
    with peopled.database.session() as session:
        other = projects.project(session, "acme/speech")
        told = [
            issue_token(session, "all", [Scope.RESULTS_READ]),
            issue_token(session, "other", [Scope.RESULTS_READ], project_id=other.id),
        ]
    ids = [text.split("_")[1] for text in told]
    page = ada.get(PATH).text
    assert not any(public_id in page for public_id in ids)
    for public_id in ids:
        answer = ada.post(f"{PATH}/tokens/{public_id}/revoke", data={}, headers=SAME_ORIGIN)
        assert answer.status_code == 404


def test_administrators_token_gives_roles_too(peopled: Service, admin_token: str) -> None:
    first = browser(peopled, admin_token)
    assert PATH in shown(first, "/me").links
    assert "viewer Zoe" in send(first, "members", user="zoe", role="viewer").text
