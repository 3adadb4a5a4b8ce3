"""The pages of alerts as somebody uses them: what a refused form keeps, whose is which, and what tells rows apart."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session

from app.services.access import Role
from app.store.tables import Alert, AlertChange, ChangePoint, Commit, Series
from app.web.alerts_wanted import AlertsWanted
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser, shown
from tests.factories.histories import sha, stepped
from tests.factories.people import browser_of, person
from tests.integration.alerts.conftest import Team, team

pytestmark = pytest.mark.postgres

__all__ = ["team"]

PROJECT = "acme/vision"


@pytest.fixture
def two(team: Team) -> list[int]:
    """Two alerts on two branches, the older one first."""
    team.grow("resize", stepped(60, 30, 0.2, seed=1))
    team.grow("crop", stepped(60, 40, 0.3, seed=3))
    found = team.raised()[::-1]
    assert len(found) == 2
    return [alert["id"] for alert in found]


@pytest.fixture
def ada(service: Service, two: list[int]) -> TestClient:
    with service.database.session() as session:
        person(session, "ada", {PROJECT: Role.MAINTAINER})
        person(session, "eve", {PROJECT: Role.VIEWER})
        person(session, "sue", {"acme/other": Role.MAINTAINER})
    return browser_of(service, "ada")


def send(client: TestClient, path: str, **form: str) -> Page:
    """Send a form that is refused, and return the page that it is shown again on."""
    answer = client.post(path, data=form, headers=SAME_ORIGIN)
    assert 400 <= answer.status_code < 500, answer.text
    return Page(answer.text)


def fields(page: Page) -> dict[str, dict[str, str]]:
    return {its["name"]: its for tag, its in page.elements if tag == "input" and "name" in its}


def listed(page: Page) -> list[int]:
    return [int(name.removeprefix("alert ")) for name in fields(page) if name.startswith("alert ")]


# --- forms that are refused ---


def test_a_refused_answer_to_several_keeps_what_was_chosen_typed_and_filtered(
    team: Team, ada: TestClient, two: list[int]
) -> None:
    team.post(f"alerts/{two[0]}", owner="bob")
    here = "/alerts?project=acme%2Fvision&owner=bob"
    page = send(ada, "/alerts", **{f"alert {two[0]}": "on", "state": "accepted", "take": "1", "next": here})
    assert "accepting needs a reason" in page.text
    assert listed(page) == [two[0]], "the filter stays"
    assert "checked" in fields(page)[f"alert {two[0]}"]
    assert "checked" in fields(page)["take"]
    assert '<option value="accepted" selected>' in page.html
    assert fields(page)["next"]["value"] == here
    assert "checked" not in fields(shown(ada, here))[f"alert {two[0]}"]


def test_a_comment_is_kept_when_nothing_was_chosen(ada: TestClient) -> None:
    page = send(ada, "/alerts", comment="the cache & more", state="")
    assert "choose at least one" in page.text
    assert fields(page)["comment"]["value"] == "the cache & more"


def test_a_refused_answer_to_one_keeps_state_owner_and_comment(ada: TestClient, two: list[int]) -> None:
    page = send(ada, f"/alerts/{two[0]}", state="noise", owner="team-x", had="", comment="x" * 2_001)
    assert "2000 are stored at the most" in page.text
    assert fields(page)["comment"]["value"] == "x" * 2_001
    assert '<option value="noise" selected>' in page.html
    assert fields(page)["owner"]["value"] == "team-x"
    assert fields(page)["had"]["value"] == ""


def test_an_answer_to_several_of_which_one_is_gone_keeps_what_was_typed_and_answers_none(
    team: Team, ada: TestClient, two: list[int]
) -> None:
    form = {f"alert {two[0]}": "on", "alert 4711": "on", "take": "1", "comment": "the cache"}
    page = send(ada, "/alerts", **form)
    assert "there is no alert 4711 that you may see" in page.text
    assert "checked" in fields(page)[f"alert {two[0]}"]
    assert fields(page)["comment"]["value"] == "the cache"
    assert team.alerts(owner="ada") == []


@pytest.mark.parametrize("name", ["alert ²", "alert 99999999999999999999", "alert x", "alert -1", "alert "])
def test_what_is_no_alert_chooses_none(ada: TestClient, name: str) -> None:
    page = send(ada, "/alerts", **{name: "on", "comment": "x"})
    assert "choose at least one" in page.text


@pytest.mark.parametrize("field", ["comment", "owner"])
def test_a_character_that_cannot_be_stored_is_refused_in_words(
    ada: TestClient, two: list[int], field: str
) -> None:
    page = send(ada, f"/alerts/{two[0]}", **{"state": "noise", "comment": "mine", field: "a\x00b"})
    assert f"the {field} has a character that cannot be stored" in page.text
    assert '<option value="noise" selected>' in page.html


def test_a_way_back_that_is_none_shows_what_is_open(ada: TestClient, two: list[int]) -> None:
    for back in ("https://evil.example/alerts", "/alerts?state=nosuch", "/alerts?before=x", "//"):
        assert sorted(listed(send(ada, "/alerts", next=back))) == sorted(two)


# --- whose is which ---


def test_alerts_are_asked_for_by_whose_they_are_at_addresses_that_can_be_kept(
    team: Team, ada: TestClient, two: list[int]
) -> None:
    team.post(f"alerts/{two[0]}", owner="ada")
    page = shown(ada, "/alerts")
    assert "Anybody's Mine Nobody's" in page.text
    assert {"/alerts?owner=ada", "/alerts?owner="} <= set(page.links)
    assert listed(shown(ada, "/alerts?owner=ada")) == [two[0]]
    nobodys = shown(ada, "/alerts?owner=")
    assert listed(nobodys) == [two[1]]
    assert '<a href="/alerts?owner=" aria-current="true">' in nobodys.html
    assert "/alerts?state=all&owner=" in nobodys.links, "the other filters keep it"
    kept = {"page": "/alerts", "query": "owner=", "name": "nobody has"}
    answer = ada.post("/me/searches", data=kept, headers=SAME_ORIGIN)
    assert answer.headers["location"] == "/alerts?owner="
    assert "/alerts?owner=" in shown(ada, "/me").links


def test_nobody_in_particular_has_no_alerts_of_their_own(
    team: Team, service: Service, two: list[int]
) -> None:
    team.post(f"alerts/{two[0]}", owner="ada")
    service.settings.anonymous_read = True
    page = shown(browser(service), "/alerts")
    assert "Anybody's Nobody's ada" in page.text


def test_ones_own_and_nobodys_are_offered_also_where_nobody_has_any(ada: TestClient) -> None:
    assert "Anybody's Mine Nobody's" in shown(ada, "/alerts").text


def test_people_of_the_project_are_suggested_as_owners_and_others_are_taken(
    team: Team, ada: TestClient, two: list[int]
) -> None:
    team.post(f"alerts/{two[1]}", owner="team-x")
    page = shown(ada, f"/alerts/{two[0]}")
    suggested = page.html.partition('<datalist id="people">')[2].partition("</datalist>")[0]
    assert [its["value"] for tag, its in Page(suggested).elements if tag == "option"] == [
        "ada",
        "eve",
        "team-x",
    ]
    answer = {"owner": "somebody else", "had": ""}
    assert ada.post(f"/alerts/{two[0]}", data=answer, headers=SAME_ORIGIN).status_code == 303
    assert [alert["id"] for alert in team.alerts(owner="somebody else")] == [two[0]]


def test_a_token_is_not_told_who_the_people_of_a_project_are(
    team: Team, service: Service, ada: TestClient, two: list[int], admin_token: str
) -> None:
    team.post(f"alerts/{two[1]}", owner="team-x")
    page = shown(browser(service, admin_token), f"/alerts/{two[0]}")
    suggested = page.html.partition('<datalist id="people">')[2].partition("</datalist>")[0]
    assert suggested == '<option value="team-x">'


def copied(session: Session, row: Series | ChangePoint, **changed: Any) -> int:
    """Store a row once more with this changed, and return its id."""
    kept = {its.key: getattr(row, its.key) for its in inspect(type(row)).column_attrs if its.key != "id"}
    copy = type(row)(**kept | changed)
    session.add(copy)
    session.flush()
    return copy.id


def test_a_row_tells_all_devices_on_which_it_became_worse(
    ada: TestClient, service: Service, two: list[int]
) -> None:
    with service.database.session() as session:
        told = select(ChangePoint).join(AlertChange).where(AlertChange.alert_id == two[0])
        change = session.scalars(told).one()
        for name in ("cpu-a", "cpu-b", "cpu-c"):
            its = copied(session, session.get_one(Series, change.series_id), device_class=name)
            change_id = copied(session, change, series_id=its)
            session.add(AlertChange(alert_id=two[0], change_point_id=change_id))
    assert "on cpu-a, cpu-b, cpu-c and cpu-test-2t ·" in shown(ada, "/alerts").text


def test_rows_tell_device_author_and_the_branch_where_it_is_not_the_projects(
    ada: TestClient, service: Service, two: list[int]
) -> None:
    with service.database.session() as session:
        its = session.get_one(Alert, two[0])
        its.branch = "release/2"
        session.get_one(Commit, its.commit_id).author = "Grace"
    page = shown(ada, "/alerts")
    assert "acme/vision · on cpu-test-2t · branch release/2 ·" in page.text
    assert "by Grace" in page.text
    assert "branch main" not in page.text


def test_who_takes_an_alert_took_it_and_who_is_given_one_was_given_it(
    ada: TestClient, two: list[int]
) -> None:
    ada.post(f"/alerts/{two[0]}", data={"take": "1"}, headers=SAME_ORIGIN)
    ada.post(f"/alerts/{two[0]}", data={"owner": "eve", "had": "ada"}, headers=SAME_ORIGIN)
    text = shown(ada, f"/alerts/{two[0]}").text
    assert "ada took it" in text
    assert "ada gave it to eve" in text


def test_the_way_back_leads_to_the_list_that_the_alert_was_found_in_also_after_an_answer(
    ada: TestClient, two: list[int]
) -> None:
    here, found_in = f"/alerts/{two[0]}", "/alerts?state=all&owner="
    page = Page(ada.get(here, headers={"Referer": f"http://testserver{found_in}"}).text)
    assert page.links.count(found_in) == 1
    form = {"comment": "seen", "back": fields(page)["back"]["value"]}
    answer = ada.post(here, data=form, headers=SAME_ORIGIN)
    assert found_in in shown(ada, answer.headers["location"]).links
    assert found_in in send(ada, here, state="accepted", back=found_in).links
    elsewhere = shown(ada, f"{here}?back=https://evil.example/")
    assert not any("evil" in link for link in elsewhere.links)


OWNER = "山田太郎" * 15


def test_the_way_back_may_be_as_long_as_an_address_is_of_the_longest_owners(
    team: Team, ada: TestClient, two: list[int]
) -> None:
    here, found_in = f"/alerts/{two[0]}", AlertsWanted(owner=OWNER).address()
    team.post(f"alerts/{two[0]}", owner=OWNER)
    answer = ada.post(here, data={"comment": "seen", "back": found_in}, headers=SAME_ORIGIN)
    assert found_in in shown(ada, answer.headers["location"]).links
    assert listed(shown(ada, found_in)) == [two[0]]


@pytest.mark.parametrize("back", [f"/alerts?owner={'x' * 501}", "/alerts?owner=a\x00b", "\x00", "x" * 9_000])
def test_a_way_back_that_cannot_be_gone_is_left_out_after_an_answer(
    ada: TestClient, two: list[int], back: str
) -> None:
    here = f"/alerts/{two[0]}"
    answer = ada.post(here, data={"comment": "seen", "back": back}, headers=SAME_ORIGIN)
    assert answer.headers["location"] == here
    form = {f"alert {two[0]}": "on", "comment": "seen", "next": back}
    assert ada.post("/alerts", data=form, headers=SAME_ORIGIN).headers["location"] == "/alerts"


# --- changes that were missed ---


def missed_path(team: Team) -> str:
    return f"/series/{team.series['resize'].series}"


def test_a_missed_change_is_listed_where_it_was_told(team: Team, ada: TestClient) -> None:
    path = missed_path(team)
    form = {"commit": sha(12), "branch": "main", "note": "seen <by> eye"}
    answer = ada.post(f"{path}/missed", data=form, headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}?branch=main#missed")
    page = shown(ada, path)
    assert "A change was missed (1 told)" in page.text
    assert "told by ada" in page.text
    assert "seen <by> eye" in page.text


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"commit": "f" * 12, "note": "seen"}, "has no point of a commit"),
        ({"commit": sha(30), "note": "seen"}, "was found"),
        ({"commit": sha(12), "note": "a\x00b"}, "the note has a character that cannot be stored"),
    ],
)
def test_a_refused_missed_change_keeps_what_was_typed(
    team: Team, ada: TestClient, form: dict[str, str], why: str
) -> None:
    page = send(ada, f"{missed_path(team)}/missed", **form, branch="main")
    assert why in page.text
    assert "Newest points" in page.text
    assert fields(page)["commit"]["value"] == form["commit"]
    assert '<details class="fold" id="missed" open>' in page.html


def test_a_missed_change_that_was_told_before_says_so(team: Team, ada: TestClient) -> None:
    form = {"commit": sha(12), "branch": "main", "note": "first"}
    ada.post(f"{missed_path(team)}/missed", data=form, headers=SAME_ORIGIN)
    page = send(ada, f"{missed_path(team)}/missed", **(form | {"note": "second"}))
    assert "somebody has told of" in page.text
    assert fields(page)["note"]["value"] == "second"


def test_of_many_missed_changes_the_newest_are_listed(
    team: Team, ada: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.repositories.quality.MOST_MISSED", 2)
    for n in (12, 15, 18):
        form = {"commit": sha(n), "branch": "main", "note": f"note {n}"}
        ada.post(f"{missed_path(team)}/missed", data=form, headers=SAME_ORIGIN)
    text = shown(ada, missed_path(team)).text
    assert "note 18" in text
    assert "note 15" in text
    assert "note 12" not in text


# --- signing in from here ---


def test_to_sign_in_leads_back_to_what_was_asked_for(service: Service) -> None:
    service.settings.anonymous_read = True
    page = shown(browser(service), "/alerts?state=all&owner=ada")
    assert "/sign-in?next=/alerts%3Fstate%3Dall%26owner%3Dada" in page.links
