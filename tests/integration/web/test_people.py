"""People who sign in by name: how they come in, who guesses, and what they do on their own page."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import func, select

from app.services import sign_in as sign_in_service
from app.services.access import Role, Scope, issue_token
from app.services.change_user import disable_user, set_password
from app.services.passwords import is_password
from app.services.sign_in import Browser, begin_session
from app.services.throttle import OF_ACCOUNT, OF_ADDRESS, WITHIN
from app.store.repositories import projects, saved_searches, users
from app.store.tables import Alert, AlertLog, AuditLog, BrowserSession, SignInAttempts
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import SAME_ORIGIN, Page, browser, shown
from tests.factories.people import PASSWORD, browser_of, person, sign_in_as

pytestmark = pytest.mark.postgres

PROJECT, OTHER = "acme/vision", "acme/speech"


@pytest.fixture
def peopled(service: Service) -> Service:
    """A service with Ada, who maintains a project and reads another, and Bob, who has no role."""
    with service.database.session() as session:
        stored.check(session, results.regressed())
        person(session, "ada", {PROJECT: Role.MAINTAINER, OTHER: Role.VIEWER})
        person(session, "bob")
    return service


@pytest.fixture
def stranger(peopled: Service) -> TestClient:
    return browser(peopled)


@pytest.fixture
def ada(peopled: Service) -> TestClient:
    return browser_of(peopled, "ada")


def send(client: TestClient, path: str, **form: str) -> Page:
    """Send a form, and return the page that it leads to."""
    answer = client.post(path, data=form, headers=SAME_ORIGIN)
    if answer.status_code == 303:
        answer = client.get(answer.headers["location"])
    return Page(answer.text)


def deeds(service: Service) -> list[tuple[str, str, str]]:
    with service.database.session() as session:
        rows = session.scalars(select(AuditLog).order_by(AuditLog.id)).all()
        return [(row.actor, row.action, row.object) for row in rows]


def sessions(service: Service) -> int:
    with service.database.session() as session:
        return session.scalar(select(func.count()).select_from(BrowserSession)) or 0


# --- coming in ---


def test_name_and_password_open_the_pages_and_lead_on(stranger: TestClient) -> None:
    answer = sign_in_as(stranger, "  Ada ", next="/runs?before=7")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?before=7")
    assert "ada Sign out" in shown(stranger, "/").text


def test_wrong_password_unknown_name_and_disabled_are_answered_the_same(peopled: Service) -> None:
    with peopled.database.session() as session:
        disable_user(session, "bob")
    wrong = [("ada", "something else"), ("nobody", PASSWORD), ("bob", PASSWORD), ("a\x00b", PASSWORD)]
    answers = [sign_in_as(browser(peopled), name, password) for name, password in wrong]
    assert {answer.status_code for answer in answers} == {401}
    pages = {
        answer.text.replace(f'value="{name}"', "") for answer, (name, _) in zip(answers, wrong, strict=True)
    }
    assert len(pages) == 1
    assert "Name or password is wrong" in Page(answers[0].text).text
    assert not any("set-cookie" in answer.headers for answer in answers)


def test_a_hash_is_computed_for_a_name_that_nobody_has(
    stranger: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[str | None] = []

    def noted(stored_hash: str | None, password: str) -> bool:
        looked_at.append(stored_hash)
        return is_password(stored_hash, password)

    monkeypatch.setattr(sign_in_service, "is_password", noted)
    sign_in_as(stranger, "nobody")
    sign_in_as(stranger, "no name at all")
    sign_in_as(stranger, "ada", "wrong")
    assert looked_at[:2] == [None, None]
    assert looked_at[2] is not None


def test_what_was_typed_wrongly_is_kept_nowhere(stranger: TestClient, peopled: Service) -> None:
    typed = "my-secret-typed-as-a-name"
    sign_in_as(stranger, typed, "x")
    with peopled.database.session() as session:
        for table in (AuditLog, SignInAttempts):
            assert typed not in str([vars(row) for row in session.scalars(select(table))])


def test_a_wrong_password_leaves_the_name_where_it_was_typed_and_the_password_to_be_typed(
    stranger: TestClient,
) -> None:
    page = Page(sign_in_as(stranger, "Ada", "wrong").text)
    fields = {its["name"]: its for tag, its in page.elements if tag == "input" and "name" in its}
    assert fields["name"]["value"] == "Ada"
    assert "autofocus" not in fields["name"]
    assert "autofocus" in fields["password"]
    assert "wrong" not in fields["password"].get("value", "")


def test_empty_form_says_what_is_missing(stranger: TestClient) -> None:
    answer = sign_in_as(stranger, "ada", "")
    assert answer.status_code == 401
    assert "Give your name and your password" in Page(answer.text).text


def test_cookie_is_new_at_each_login_and_the_one_before_ends(ada: TestClient, peopled: Service) -> None:
    before = ada.cookies["ratchet_session"]
    sign_in_as(ada, "ada")
    assert ada.cookies["ratchet_session"] != before
    assert sessions(peopled) == 1
    old = browser(peopled)
    old.cookies.set("ratchet_session", before)
    assert old.get("/").status_code == 303


def test_form_from_elsewhere_signs_nobody_in(stranger: TestClient) -> None:
    form = {"name": "ada", "password": PASSWORD}
    answer = stranger.post("/sign-in", data=form, headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_deeds_of_signing_in_are_in_the_audit_log(stranger: TestClient, peopled: Service) -> None:
    sign_in_as(stranger, "nobody")
    sign_in_as(stranger, "ada", "wrong")
    sign_in_as(stranger, "ada")
    assert [deed for deed in deeds(peopled) if deed[1].startswith("browser.")] == [
        ("unknown", "browser.refused", "unknown"),
        ("ada", "browser.refused", "ada"),
        ("ada", "browser.signed_in", "ada"),
    ]


# --- how long it lasts ---


def test_session_ends_when_it_is_not_used(ada: TestClient, peopled: Service) -> None:
    with peopled.database.session() as session:
        row = session.scalars(select(BrowserSession)).one()
        row.seen_at -= peopled.settings.session_idle
    assert ada.get("/").status_code == 303


def test_use_of_a_session_is_noted_once_a_minute(ada: TestClient, peopled: Service) -> None:
    with peopled.database.session() as session:
        row = session.scalars(select(BrowserSession)).one()
        row.seen_at = late = row.seen_at - timedelta(hours=3)
    ada.get("/")
    with peopled.database.session() as session:
        noted = session.scalars(select(BrowserSession.seen_at)).one()
        assert noted > late
    ada.get("/")
    with peopled.database.session() as session:
        assert session.scalars(select(BrowserSession.seen_at)).one() == noted


def test_session_ends_in_the_end_however_much_it_is_used(ada: TestClient, peopled: Service) -> None:
    with peopled.database.session() as session:
        row = session.scalars(select(BrowserSession)).one()
        assert row.expires_at - row.created_at < peopled.settings.session_ttl + timedelta(seconds=5)
        row.expires_at = row.created_at
    assert ada.get("/").status_code == 303


def test_all_sessions_end_with_another_password_and_when_somebody_is_disabled(peopled: Service) -> None:
    two = [browser_of(peopled, "ada") for _ in range(2)]
    with peopled.database.session() as session:
        user = users.named(session, "ada")
        assert user is not None
        set_password(session, user, "another horse entirely", by="service")
    assert [client.get("/").status_code for client in two] == [303, 303]
    assert sign_in_as(two[0], "ada").status_code == 401
    assert sign_in_as(two[0], "ada", "another horse entirely").status_code == 303
    with peopled.database.session() as session:
        disable_user(session, "ada")
    assert two[0].get("/").status_code == 303
    assert sessions(peopled) == 0


# --- guessing ---


def test_account_is_closed_to_guesses_for_a_while_even_to_the_right_one(peopled: Service) -> None:
    client = browser(peopled)
    guesses = [sign_in_as(client, "ada", f"guess {n}").status_code for n in range(OF_ACCOUNT)]
    assert guesses == [401] * OF_ACCOUNT
    answer = sign_in_as(client, "ada")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= WITHIN.total_seconds()
    assert "Too many attempts to sign in" in Page(answer.text).text
    assert sign_in_as(client, "bob").status_code == 303


def test_guesses_at_a_name_that_nobody_has_are_answered_the_same(peopled: Service) -> None:
    client = browser(peopled)
    known = [sign_in_as(client, "ada", "x").status_code for _ in range(OF_ACCOUNT + 1)]
    unknown = [sign_in_as(client, "nobody", "x").status_code for _ in range(OF_ACCOUNT + 1)]
    assert known == unknown


def test_guesses_begin_anew_after_a_while_and_after_the_right_password(peopled: Service) -> None:
    client = browser(peopled)
    for _ in range(OF_ACCOUNT):
        sign_in_as(client, "ada", "wrong")
    with peopled.database.session() as session:
        for row in session.scalars(select(SignInAttempts)):
            row.began_at -= WITHIN
    assert sign_in_as(client, "ada").status_code == 303
    assert [sign_in_as(client, "ada", "wrong").status_code for _ in range(OF_ACCOUNT)] == [401] * OF_ACCOUNT


def test_address_that_guesses_at_many_names_is_stopped_and_stores_no_more(peopled: Service) -> None:
    client = browser(peopled)
    with peopled.database.session() as session:
        session.add(SignInAttempts(key="address testclient", attempts=OF_ADDRESS - 1))
    answers = [sign_in_as(client, f"name-{n}").status_code for n in range(3)]
    assert answers == [401, 429, 429]
    with peopled.database.session() as session:
        assert len(session.scalars(select(SignInAttempts)).all()) == 2


def test_address_that_guesses_tokens_is_stopped_and_right_ones_do_not_count(
    peopled: Service, admin_token: str
) -> None:
    client = browser(peopled)
    with peopled.database.session() as session:
        session.add(SignInAttempts(key="address testclient", attempts=OF_ADDRESS - 2))

    def pasted(token: str) -> int:
        return client.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN).status_code

    assert [pasted(admin_token) for _ in range(3)] == [303] * 3
    assert [pasted("wrong") for _ in range(4)] == [401, 401, 429, 429]
    assert pasted(admin_token) == 429
    assert ("unknown", "browser.refused", "unknown") in deeds(peopled)


def test_counts_that_are_over_are_forgotten(peopled: Service) -> None:
    with peopled.database.session() as session:
        session.add(SignInAttempts(key="address 192.0.2.1", attempts=3, began_at=stored.now() - 2 * WITHIN))
    sign_in_as(browser(peopled), "ada")
    with peopled.database.session() as session:
        assert session.get(SignInAttempts, "address 192.0.2.1") is None


# --- what they see ---


def test_person_sees_the_projects_of_their_roles_and_no_others(ada: TestClient, peopled: Service) -> None:
    with peopled.database.session() as session:
        projects.project(session, "secret/project")
    assert {row["project"] for row in ada.get("/api/v1/projects").json()["projects"]} == {PROJECT, OTHER}
    assert ada.get("/checks/1").status_code == 200


def test_person_without_a_role_is_told_so_and_has_their_own_page(peopled: Service) -> None:
    bob = browser_of(peopled, "bob")
    answer = bob.get("/")
    assert answer.status_code == 403
    assert "role viewer" in Page(answer.text).text
    assert "You have no role in any project yet" in shown(bob, "/me").text


def test_what_a_person_did_bears_their_name(ada: TestClient, peopled: Service) -> None:
    token = token_in(issue(ada, scope_names=["jobs:create"]))
    answer = browser(peopled).post(
        "/api/v1/checks/1/cancel", headers={"Authorization": f"Bearer {token}", "Accept": "application/json"}
    )
    assert answer.status_code == 200
    assert ("ada/ci", "check.cancelled", "check/1") in deeds(peopled)


def test_answer_to_an_alert_bears_the_name_of_the_person(ada: TestClient, peopled: Service) -> None:
    raised(peopled, PROJECT)
    ada.post("/alerts/1", data={"comment": "the new filter", "take": "1"}, headers=SAME_ORIGIN)
    page = shown(ada, "/alerts/1")
    assert "the new filter" in page.text
    with peopled.database.session() as session:
        (alert,) = session.scalars(select(Alert))
        assert alert.owner == "ada"
        assert set(session.scalars(select(AlertLog.by))) == {"ada"}


def test_viewer_of_a_project_is_not_offered_to_answer_its_alerts(ada: TestClient, peopled: Service) -> None:
    raised(peopled, PROJECT)
    raised(peopled, OTHER)
    assert "Take it" in shown(ada, "/alerts/1").text
    assert "Take it" not in shown(ada, "/alerts/2").text
    boxes = [a for _, a in shown(ada, "/alerts").elements if a.get("type") == "checkbox"]
    chosen = {box["name"] for box in boxes if "name" in box}
    assert chosen == {"alert 1", "take"}
    both = {"alert 1": "on", "alert 2": "on", "comment": "seen"}
    answer = ada.post("/alerts", data=both, headers=SAME_ORIGIN)
    assert answer.status_code == 403
    assert "takes the role maintainer" in Page(answer.text).text
    with peopled.database.session() as session:
        assert session.scalars(select(AlertLog)).all() == []


def raised(service: Service, project: str) -> None:
    """An alert of a project."""
    with service.database.session() as session:
        its = projects.project(session, project)
        base, head = (projects.commit(session, its.id, digit * 40) for digit in "ab")
        commits = {"previous_commit_id": base.id, "commit_id": head.id}
        session.add(Alert(project_id=its.id, branch="main", state="new", **commits))


# --- their own page ---


def test_names_of_people_tokens_and_browsers_stay_text(peopled: Service) -> None:
    script = "<script>alert(1)</script>"
    with peopled.database.session() as session:
        eve = person(session, "eve", {script: Role.ADMIN})
        eve.display_name = eve.email = script
        saved_searches.keep(session, eve.id, "/series", script, "q=x")
        project = projects.project(session, script)
        issue_token(session, script, [Scope.RESULTS_READ], project_id=project.id, user_id=eve.id)
        begin_session(session, peopled.settings, eve, Browser(script, script))
    client = browser_of(peopled, "eve")
    for path in ("/me", "/projects/%3Cscript%3Ealert(1)%3C%2Fscript%3E/access", "/series?q=x"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text, path
        assert script in Page(answer.text).text, path


def test_page_shows_name_roles_and_this_browser(ada: TestClient) -> None:
    text = shown(ada, "/me").text
    assert "Ada" in text
    assert f"maintainer {PROJECT}" in text
    assert f"viewer {OTHER}" in text
    assert "this browser testclient" in text


def test_page_of_a_token_says_that_it_is_one(reader: TestClient) -> None:
    text = shown(reader, "/me").text
    assert "signed in with a token" in text
    assert "Password" not in text


def test_other_sessions_are_ended_one_by_one_or_all(ada: TestClient, peopled: Service) -> None:
    others = [browser_of(peopled, "ada") for _ in range(3)]
    (number, *_) = re.findall(r'action="/me/sessions/(\d+)/end"', ada.get("/me").text)
    send(ada, f"/me/sessions/{number}/end")
    assert sorted(client.get("/me").status_code for client in others) == [200, 200, 303]
    send(ada, "/me/sessions/end")
    assert [client.get("/me").status_code for client in others] == [303] * 3
    assert ada.get("/me").status_code == 200
    assert ("ada", "browser.ended", "ada") in deeds(peopled)


def test_password_is_changed_by_whoever_knows_it(ada: TestClient, peopled: Service) -> None:
    other = browser_of(peopled, "ada")
    new = "a mare in the sun"
    for old, first, again, why in [
        ("wrong", new, new, "not your password"),
        (PASSWORD, new, "other", "typed the same twice"),
        (PASSWORD, "short", "short", "12 to 256 characters"),
        (PASSWORD, PASSWORD, PASSWORD, "is the old one"),
    ]:
        assert why in send(ada, "/me/password", old=old, new=first, again=again).text
    assert other.get("/me").status_code == 200
    before = ada.cookies["ratchet_session"]
    send(ada, "/me/password", old=PASSWORD, new=new, again=new)
    assert ada.get("/me").status_code == 200
    assert ada.cookies["ratchet_session"] != before
    assert other.get("/me").status_code == 303
    assert ("ada", "user.password_set", "ada") in deeds(peopled)
    assert sign_in_as(browser(peopled), "ada", new).status_code == 303


def test_own_password_is_not_guessed_from_an_open_session_either(ada: TestClient) -> None:
    tried = {"new": "a mare in the sun", "again": "a mare in the sun"}
    for n in range(OF_ACCOUNT):
        send(ada, "/me/password", old=f"guess {n}", **tried)
    assert "Too many attempts" in send(ada, "/me/password", old=PASSWORD, **tried).text


def issue(client: TestClient, *, project: str = PROJECT, scope_names: list[str], **form: str) -> Page:
    chosen = {f"scope {name}": "on" for name in scope_names}
    return send(client, "/me/tokens", **{"name": "ci", "project": project, "days": "30", **chosen, **form})


def token_in(page: Page) -> str:
    found = re.search(r"ratchet_[0-9a-f]{12}_[0-9a-f]{64}", page.text)
    assert found, page.text
    return found[0]


def reads(service: Service, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    return browser(service).get("/api/v1/checks/1", headers=headers).status_code


def test_own_token_is_shown_once_works_and_is_revoked(ada: TestClient, peopled: Service) -> None:
    token = token_in(issue(ada, scope_names=["results:read"]))
    again = ada.get("/me")
    assert token not in again.text
    assert token.split("_")[1] in again.text
    assert reads(peopled, token) == 200
    (number,) = re.findall(r'action="/me/tokens/(\d+)/revoke"', again.text)
    send(ada, f"/me/tokens/{number}/revoke")
    assert reads(peopled, token) == 401
    done = [deed[1] for deed in deeds(peopled) if deed[0] == "ada"]
    assert done == ["browser.signed_in", "token.issued", "token.revoked"]


def test_to_load_the_page_of_a_new_token_anew_issues_no_other_and_shows_no_secret(
    ada: TestClient, peopled: Service
) -> None:
    form = {"name": "ci", "project": PROJECT, "days": "30", "scope results:read": "on"}
    answer = ada.post("/me/tokens", data=form, headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    once = ada.get("/me")
    token_in(Page(once.text))
    assert once.headers["cache-control"] == "no-store"
    again = Page(ada.get("/me").text)
    assert not re.search("ratchet_[0-9a-f]{12}_", again.text)
    assert again.html.count("/revoke") == 1


def test_a_token_that_somebody_else_put_into_the_browser_is_not_shown_as_ones_own(ada: TestClient) -> None:
    ada.cookies.set("ratchet_issued", f"ratchet_{'0' * 12}_{'1' * 64}")
    assert "1" * 64 not in ada.get("/me").text


def test_a_refused_token_form_keeps_what_was_typed(ada: TestClient) -> None:
    page = issue(ada, scope_names=["jobs:create"], name="nightly", days="400")
    assert "1 to 365 days" in page.text
    fields = {its["name"]: its for tag, its in page.elements if tag == "input" and "name" in its}
    assert (fields["name"]["value"], fields["days"]["value"]) == ("nightly", "400")
    assert "checked" in fields["scope jobs:create"]
    assert "checked" not in fields["scope results:read"]
    assert f'<option value="{PROJECT}" selected>' in page.html


@pytest.mark.parametrize(
    ("project", "scope_names", "form", "why"),
    [
        (OTHER, ["jobs:create"], {}, "takes the role maintainer"),
        (PROJECT, ["admin"], {}, "Choose what the token may do"),
        (PROJECT, ["worker"], {}, "Choose what the token may do"),
        (PROJECT, [], {}, "Choose what the token may do"),
        (PROJECT, ["results:read"], {"days": "366"}, "1 to 365 days"),
        (PROJECT, ["results:read"], {"days": "many"}, "1 to 365 days"),
        (PROJECT, ["results:read"], {"name": " "}, "Give the token a name"),
        ("secret/project", ["results:read"], {}, "There is nothing here"),
    ],
)
def test_own_token_may_no_more_than_the_person(
    ada: TestClient, peopled: Service, project: str, scope_names: list[str], form: dict[str, str], why: str
) -> None:
    with peopled.database.session() as session:
        projects.project(session, "secret/project")
    page = issue(ada, project=project, scope_names=scope_names, **form)
    assert why in page.text
    assert "ratchet_" not in page.text


def test_own_token_shrinks_with_the_role_and_ends_with_the_person(ada: TestClient, peopled: Service) -> None:
    token = token_in(issue(ada, scope_names=["results:read", "jobs:create"]))
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
    client = browser(peopled)

    def cancelled() -> int:
        return client.post("/api/v1/checks/1/cancel", headers=headers).status_code

    assert cancelled() == 200
    with peopled.database.session() as session:
        user = users.named(session, "ada")
        project = projects.find_project(session, PROJECT)
        assert user is not None
        assert project is not None
        ids = user.id, project.id
        users.set_role(session, *ids, Role.VIEWER)
    assert (cancelled(), reads(peopled, token)) == (403, 200)
    with peopled.database.session() as session:
        users.set_role(session, *ids, None)
    assert reads(peopled, token) == 403
    with peopled.database.session() as session:
        users.set_role(session, *ids, Role.VIEWER)
        disable_user(session, "ada")
    assert reads(peopled, token) == 401


# --- kept searches ---


def test_search_is_kept_under_a_name_found_again_and_forgotten(ada: TestClient) -> None:
    page = send(ada, "/me/searches", page="/series", query="q=resize&metric=a%26b&at=3", name="mine <b>")
    kept = "/series?q=resize&metric=a%26b"
    assert kept in page.links
    assert "mine <b>" in page.text
    assert kept in shown(ada, "/me").links
    assert kept not in shown(ada, "/alerts").links
    (number,) = re.findall(r'action="/me/searches/(\d+)/forget"', ada.get("/me").text)
    send(ada, f"/me/searches/{number}/forget")
    assert kept not in shown(ada, "/series").links


def test_search_of_the_same_name_is_replaced(ada: TestClient) -> None:
    for query in ("q=resize", "q=decode"):
        send(ada, "/me/searches", page="/series", query=query, name="mine")
    links = shown(ada, "/me").links
    assert "/series?q=decode" in links
    assert "/series?q=resize" not in links


def test_only_people_are_offered_to_keep_what_they_searched(ada: TestClient, reader: TestClient) -> None:
    assert "Keep this search" in shown(ada, "/series?q=resize").text
    assert "Keep this search" in shown(ada, "/alerts?state=all").text
    assert "Keep this search" not in shown(ada, "/series").text
    assert "Keep this search" not in shown(reader, "/series?q=resize").text


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"page": "/series", "query": "", "name": "x"}, "Search for something first"),
        ({"page": "https://evil.example", "query": "q=x", "name": "x"}, "Search for something first"),
        ({"page": "/series", "query": "q=x", "name": ""}, "Give the search a name"),
        ({"page": "/series", "query": "q=" + "x" * 3000, "name": "x"}, "2000 characters"),
    ],
)
def test_search_that_is_none_is_not_kept(ada: TestClient, form: dict[str, str], why: str) -> None:
    assert why in send(ada, "/me/searches", **form).text
    assert "None. Search series" in shown(ada, "/me").text
