"""Signing in with GitHub: the way there and back, who comes in, what goes wrong on it, and linking an account."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, select

from app.integrations.github.identity import Account, Identity
from app.services.access import Role
from app.services.add_user import add_user
from app.services.change_user import disable_user, enable_user, set_password
from app.services.github_accounts import link_account, unlink_account
from app.services.github_sign_in import WITHIN, sign_in_by_github
from app.services.sign_in import Browser
from app.services.throttle import OF_ADDRESS
from app.store.repositories import github_accounts, projects, users
from app.store.tables import (
    AuditLog,
    BrowserSession,
    GitHubAccount,
    GitHubVisit,
    SignInAttempts,
    User,
)
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, Page, browser, shown
from tests.factories.github_people import CLIENT_ID, CLIENT_SECRET, GitHubPeople, said
from tests.factories.people import PASSWORD, browser_of, person, sign_in_as

pytestmark = pytest.mark.postgres

PROJECT = "acme/vision"
CALLBACK = "/sign-in/github/callback"


@pytest.fixture
def github() -> Iterator[GitHubPeople]:
    """A GitHub where Ada is signed in as Ada-K, who has the number 7."""
    github = GitHubPeople()
    github.person("Ada-K", 7)
    with github.serving():
        yield github


@pytest.fixture
def linked(service: Service, github: GitHubPeople, tmp_path: Path) -> Service:
    """A service that people sign in to with GitHub: Ada's account is linked, Bob has none."""
    secret = tmp_path / "secret"
    secret.write_text(f"{CLIENT_SECRET}\n")
    settings = service.settings
    settings.github_url = github.url
    settings.github_login_client_id, settings.github_login_secret_file = CLIENT_ID, str(secret)
    with service.database.session() as session:
        link_account(
            session, person(session, "ada", {PROJECT: Role.VIEWER}), Account(7, "Ada-K"), by="service"
        )
        person(session, "bob")
    return service


@pytest.fixture
def stranger(linked: Service) -> TestClient:
    return browser(linked)


def leave(client: TestClient, path: str = "/sign-in/github", **fields: str) -> str:
    """Press the button, and return where the page that follows leads."""
    answer = client.post(path, data=fields, headers=SAME_ORIGIN)
    assert answer.status_code == 200, answer.text
    page = Page(answer.text)
    (refresh,) = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "refresh"]
    to = refresh.removeprefix("0; url=")
    assert to in page.links
    return to


def sent_back(to: str) -> str:
    """Go to GitHub's page, and return where it sends the browser, as a path of ours."""
    place = urlsplit(httpx.get(to).headers["location"])
    assert f"{place.scheme}://{place.netloc}" == "http://testserver"
    return f"{place.path}?{place.query}"


def sign_in(client: TestClient, **fields: str) -> Response:
    """Go the whole way."""
    return client.get(sent_back(leave(client, **fields)))


def deeds(service: Service) -> list[tuple[str, str, str, dict[str, object]]]:
    """What the audit log has of browsers and of links."""
    with service.database.session() as session:
        rows = session.scalars(select(AuditLog).order_by(AuditLog.id)).all()
        told = [(row.actor, row.action, row.object, row.detail) for row in rows]
        return [its for its in told if its[1].startswith(("browser.", "user.github", "user.added"))]


def number_of(service: Service, table: type) -> int:
    with service.database.session() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def text_of(answer: Response) -> str:
    return Page(answer.text).text


# --- where it is not set up ---


def test_without_settings_there_is_no_button_and_nothing_there(service: Service) -> None:
    client = browser(service)
    assert "GitHub" not in shown(client, "/sign-in").text
    assert client.post("/sign-in/github", headers=SAME_ORIGIN).status_code == 404
    assert client.post("/me/github", headers=SAME_ORIGIN).status_code == 404
    assert client.get(f"{CALLBACK}?state=x&code=y").status_code == 404
    with service.database.session() as session:
        person(session, "ada")
    assert "GitHub" not in shown(browser_of(service, "ada"), "/me").text


# --- the way there and back ---


def test_person_whose_account_is_linked_signs_in_and_is_led_on(stranger: TestClient, linked: Service) -> None:
    answer = sign_in(stranger, next="/runs?before=7")
    assert (answer.status_code, answer.headers["location"]) == (303, "/runs?before=7")
    assert "ada Sign out" in shown(stranger, "/").text
    assert deeds(linked)[-1] == (
        "ada",
        "browser.signed_in",
        "ada",
        {"by": "github", "github": "Ada-K", "github_id": 7},
    )


def test_page_that_leads_to_github_is_kept_nowhere_and_loads_nothing(
    stranger: TestClient, github: GitHubPeople
) -> None:
    answer = stranger.post("/sign-in/github", data={"next": "/"}, headers=SAME_ORIGIN)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "form-action 'self';" in answer.headers["content-security-policy"]
    outside = [address for address in Page(answer.text).addresses() if not re.match(r"/(?!/)|#", address)]
    assert outside == []
    assert urlsplit(github.url).netloc in text_of(answer)


@pytest.mark.parametrize(("address", "name"), [("http://testserver", ""), ("https://testserver", "__Host-")])
def test_what_binds_the_way_to_the_browser_is_a_cookie_that_soon_ends(
    linked: Service, address: str, name: str
) -> None:
    client = browser(linked, address=address)
    cookie = client.post("/sign-in/github", headers=SAME_ORIGIN).headers["set-cookie"]
    assert cookie.startswith(f"{name}ratchet_github=")
    for part in ("HttpOnly", "SameSite=lax", "Path=/", f"Max-Age={WITHIN.seconds}"):
        assert f"; {part}" in cookie
    assert ("; Secure" in cookie) is bool(name)
    assert "Domain" not in cookie


def test_of_state_and_verifier_only_digests_are_stored(stranger: TestClient, linked: Service) -> None:
    to = leave(stranger)
    with linked.database.session() as session:
        row = session.scalars(select(GitHubVisit)).one()
        stored = str(vars(row))
    assert dict(parse_qsl(urlsplit(to).query))["state"] not in stored
    assert stranger.cookies["ratchet_github"] not in stored
    assert stranger.cookies["ratchet_github"] not in to


def test_session_is_a_new_one_and_the_one_before_ends(linked: Service) -> None:
    client = browser_of(linked, "bob")
    before = client.cookies["ratchet_session"]
    sign_in(client)
    assert client.cookies["ratchet_session"] != before
    assert number_of(linked, BrowserSession) == 1
    assert "ratchet_github" not in client.cookies


def test_nobody_is_sent_elsewhere(stranger: TestClient) -> None:
    for target in ("https://evil.example/", "//evil.example", "/\\evil.example", "/" + "x" * 3_000):
        assert sign_in(stranger, next=target).headers["location"] == "/"


def test_form_from_elsewhere_sends_nobody_to_github(stranger: TestClient, linked: Service) -> None:
    for path in ("/sign-in/github", "/me/github", "/me/github/unlink"):
        client = browser_of(linked, "ada") if path.startswith("/me") else stranger
        assert client.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    answer = stranger.get("/sign-in/github")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert number_of(linked, GitHubVisit) == 0


def test_no_session_of_the_database_is_open_while_github_is_asked(
    stranger: TestClient, linked: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    import app.web.github_sign_in as door

    back = sent_back(leave(stranger))
    identify, open_ones = door.identify, []

    def noted(*arguments: object) -> object:
        open_ones.append(linked.database.engine.pool.checkedout())  # type: ignore[attr-defined]
        return identify(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(door, "identify", noted)
    assert stranger.get(back).status_code == 303
    assert open_ones == [0]


# --- a state that is not good ---


def refused(answer: Response, linked: Service, sessions: int = 0) -> bool:
    """Say whether nobody came in, and the page says how to begin again."""
    assert number_of(linked, BrowserSession) == sessions
    return (
        answer.status_code == 401
        and "Begin again at http://testserver" in text_of(answer)
        and "Sign in with GitHub" in text_of(answer)
    )


def test_way_back_is_good_once(stranger: TestClient, linked: Service) -> None:
    back = sent_back(leave(stranger))
    cookie = stranger.cookies["ratchet_github"]
    assert stranger.get(back).status_code == 303
    stranger.cookies.set("ratchet_github", cookie)
    assert refused(stranger.get(back), linked, sessions=1)


def test_way_back_in_another_browser_is_none_and_spoils_it(stranger: TestClient, linked: Service) -> None:
    """An attacker's link would sign somebody in as the attacker."""
    back = sent_back(leave(stranger))
    other = browser(linked)
    leave(other)
    assert refused(other.get(back), linked)
    assert refused(stranger.get(back), linked)
    assert deeds(linked)[-1] == (
        "unknown",
        "browser.refused",
        "unknown",
        {"by": "github", "why": "another browser"},
    )


def test_way_back_without_a_cookie_or_with_a_state_of_ones_own_is_none(
    stranger: TestClient, linked: Service
) -> None:
    back = sent_back(leave(stranger))
    assert refused(browser(linked).get(back), linked)
    for query in ("", "?code=c0de", "?state=&code=c0de", "?state=made-up&code=c0de", "?error=access_denied"):
        assert refused(stranger.get(CALLBACK + query), linked)


def test_way_back_that_took_too_long_is_none(stranger: TestClient, linked: Service) -> None:
    back = sent_back(leave(stranger))
    with linked.database.session() as session:
        session.scalars(select(GitHubVisit)).one().began_at -= WITHIN
    assert refused(stranger.get(back), linked)


def test_ways_that_nobody_came_back_from_are_forgotten(stranger: TestClient, linked: Service) -> None:
    leave(stranger)
    with linked.database.session() as session:
        session.scalars(select(GitHubVisit)).one().began_at -= WITHIN
    leave(stranger)
    assert number_of(linked, GitHubVisit) == 1


# --- who comes in ---


def test_unknown_disabled_and_departed_are_answered_the_same(linked: Service, github: GitHubPeople) -> None:
    linked.settings.github_login_orgs = "acme"
    answers = []
    with linked.database.session() as session:
        disable_user(session, "ada")
    answers.append(sign_in(browser(linked)))
    github.person("Ada-K", 8)
    answers.append(sign_in(browser(linked)))
    github.person("Ada-K", 9, acme="active")
    assert sign_in(browser(linked)).status_code == 303
    github.person("Ada-K", 9)
    answers.append(sign_in(browser(linked)))
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.text for answer in answers}) == 1
    assert "ratchet user link NAME --github Ada-K" in text_of(answers[0])
    assert not any("ratchet_session" in answer.headers.get("set-cookie", "") for answer in answers)
    refusals = [deed for deed in deeds(linked) if deed[1] == "browser.refused"]
    assert [(actor, detail["github_id"]) for actor, _, _, detail in refusals] == [
        ("ada", 7),
        ("unknown", 8),
        ("ada-k", 9),
    ]


def test_disabled_person_comes_in_again_once_they_are_let_in(linked: Service) -> None:
    with linked.database.session() as session:
        disable_user(session, "ada")
    assert sign_in(browser(linked)).status_code == 401
    with linked.database.session() as session:
        enable_user(session, "ada")
    assert sign_in(browser(linked)).status_code == 303


def test_account_is_known_by_its_number_whatever_it_is_called(linked: Service, github: GitHubPeople) -> None:
    github.person("ada-renamed", 7)
    assert sign_in(browser(linked)).status_code == 303
    with linked.database.session() as session:
        assert session.scalars(select(GitHubAccount.login)).one() == "ada-renamed"
    github.person("Ada-K", 66)  # somebody else has taken the name
    assert sign_in(browser(linked)).status_code == 401


def test_no_scope_is_asked_for_without_organizations(linked: Service, github: GitHubPeople) -> None:
    sign_in(browser(linked))
    linked.settings.github_login_orgs = "acme"
    sign_in(browser(linked))
    assert github.scopes == ["", "read:org"]


def test_member_of_an_organization_is_made_at_the_first_sign_in(
    linked: Service, github: GitHubPeople
) -> None:
    linked.settings.github_login_orgs = "other acme"
    github.person("Carla", 12, acme="active")
    client = browser(linked)
    assert sign_in(client).status_code == 303
    assert "You have no role in any project yet" in shown(client, "/me").text
    assert sign_in(browser(linked)).status_code == 303
    with linked.database.session() as session:
        carla = users.named(session, "carla")
        assert carla is not None
        assert (carla.display_name, carla.password_hash, carla.is_admin) == ("Carla", None, False)
    added = [deed for deed in deeds(linked) if deed[1] == "user.added"]
    assert added == [("github", "user.added", "carla", {"is_admin": False})]


def test_member_gets_the_configured_role_in_every_project_that_there_is(
    linked: Service, github: GitHubPeople
) -> None:
    linked.settings.github_login_orgs, linked.settings.github_login_role = "acme", "viewer"
    with linked.database.session() as session:
        projects.project(session, "acme/speech")
    github.person("carla", 12, acme="active")
    sign_in(browser(linked))
    with linked.database.session() as session:
        carla = users.named(session, "carla")
        assert carla is not None
        assert [(its.project, its.role) for its in users.roles(session, carla.id)] == [
            ("acme/speech", "viewer"),
            (PROJECT, "viewer"),
        ]
        users.set_role(session, carla.id, projects.project(session, PROJECT).id, None)
    sign_in(browser(linked))
    with linked.database.session() as session:
        assert [its.project for its in users.roles(session, carla.id)] == ["acme/speech"], "given once"


def test_member_who_comes_in_twice_at_once_is_made_once(linked: Service) -> None:
    linked.settings.github_login_orgs = "acme"
    carla = Identity(Account(12, "carla"), ("acme",))

    def come_in(before_the_end: Callable[[], object] = lambda: None) -> str | None:
        with linked.database.session() as session:
            cookie = sign_in_by_github(session, linked.settings, carla, Browser())
            before_the_end()
            return cookie

    with ThreadPoolExecutor() as beside:
        late: list[Future[str | None]] = []

        def have_another_wait() -> None:
            late.append(beside.submit(come_in))
            time.sleep(0.5)
            assert not late[0].done()

        cookies = {come_in(have_another_wait), late[0].result()}
    assert len(cookies - {None}) == 2
    with linked.database.session() as session:
        assert session.scalars(select(User.name).where(User.name.startswith("carla"))).all() == ["carla"]


@pytest.mark.parametrize("state", ["pending", ""])
def test_who_was_only_invited_or_is_no_member_is_not_made(
    linked: Service, github: GitHubPeople, state: str
) -> None:
    linked.settings.github_login_orgs = "acme"
    github.person("carla", 12, **({"acme": state} if state else {}))
    before = number_of(linked, User)
    assert sign_in(browser(linked)).status_code == 401
    assert number_of(linked, User) == before


@pytest.mark.parametrize("login", ["bob", "github"])
def test_member_whose_login_is_somebody_elses_name_gets_another_name(
    linked: Service, github: GitHubPeople, login: str
) -> None:
    linked.settings.github_login_orgs = "acme"
    github.person(login, 12, acme="active")
    client = browser(linked)
    assert sign_in(client).status_code == 303
    assert f"{login}-2 Sign out" in shown(client, "/me").text


def test_linked_account_comes_in_whatever_organizations_it_is_in(linked: Service) -> None:
    linked.settings.github_login_orgs = "acme"
    assert sign_in(browser(linked)).status_code == 303


def test_member_whom_an_administrator_links_stays_without_the_organization(
    linked: Service, github: GitHubPeople
) -> None:
    linked.settings.github_login_orgs = "acme"
    github.person("carla", 12, acme="active")
    sign_in(browser(linked))
    github.person("carla", 12)
    assert sign_in(browser(linked)).status_code == 401
    with linked.database.session() as session:
        carla = users.named(session, "carla")
        assert carla is not None
        link_account(session, carla, Account(12, "carla"), by="service")
    assert sign_in(browser(linked)).status_code == 303


def test_person_without_a_password_signs_in_by_none(linked: Service) -> None:
    with linked.database.session() as session:
        link_account(session, add_user(session, "carla", None), Account(12, "carla"), by="service")
    for password in ("", PASSWORD, "None"):
        assert sign_in_as(browser(linked), "carla", password).status_code == 401
    with linked.database.session() as session:
        carla = users.named(session, "carla")
        assert carla is not None
        set_password(session, carla, PASSWORD, by="service")
    assert sign_in_as(browser(linked), "carla").status_code == 303


# --- what goes wrong ---


def test_who_does_not_allow_it_is_told_how_to_go_on(
    stranger: TestClient, linked: Service, github: GitHubPeople
) -> None:
    github.allows = False
    answer = sign_in(stranger, next="/runs")
    assert answer.status_code == 401
    page = Page(answer.text)
    assert "GitHub was not allowed to say who you are. Begin again" in page.text
    assert ("input", {"type": "hidden", "name": "next", "value": "/runs"}) in page.elements
    assert deeds(linked)[-1][1] == "browser.refused"


def test_code_that_github_does_not_take_back_is_told(stranger: TestClient, github: GitHubPeople) -> None:
    back = sent_back(leave(stranger))
    answer = stranger.get(re.sub("code=[^&]+", "code=another", back))
    assert answer.status_code == 401
    assert "has expired, or was used. Begin again." in text_of(answer)


def test_github_that_limits_says_when_to_come_again(
    stranger: TestClient, linked: Service, github: GitHubPeople
) -> None:
    github.moods["/api/v3/user"] = said(429, retry_after="120")
    answer = sign_in(stranger)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "120")
    assert "Try again in 2 minutes" in text_of(answer)


@pytest.mark.parametrize("path", ["/login/oauth/access_token", "/api/v3/user"])
def test_github_that_is_not_well_is_told_without_its_words(
    stranger: TestClient, linked: Service, github: GitHubPeople, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    github.moods[path] = said(500, b'{"message": "a word of GitHub"}')
    answer = sign_in(stranger)
    assert answer.status_code == 503
    assert "GitHub does not answer as it should just now. Try again in a minute" in text_of(answer)
    assert "a word of GitHub" not in answer.text
    assert "a word of GitHub" in caplog.text
    assert number_of(linked, BrowserSession) == 0
    assert deeds(linked)[-1][1] == "browser.refused"


def test_service_that_is_not_set_up_rightly_says_so_and_the_reason_to_its_log(
    stranger: TestClient, linked: Service, caplog: pytest.LogCaptureFixture
) -> None:
    Path(linked.settings.github_login_secret_file).write_text("a wrong secret")
    answer = sign_in(stranger)
    assert answer.status_code == 503
    assert "finds the reason in the log" in text_of(answer)
    assert "incorrect_client_credentials" in caplog.text
    assert "a wrong secret" not in answer.text + caplog.text
    state = dict(parse_qsl(urlsplit(leave(stranger)).query))["state"]
    query = urlencode({"state": state, "error": "redirect_uri_mismatch", "error_description": "<b>x"})
    assert stranger.get(f"{CALLBACK}?{query}").status_code == 503
    assert "redirect_uri_mismatch" in caplog.text


def test_organization_that_will_not_tell_is_named_in_the_log(
    linked: Service, github: GitHubPeople, caplog: pytest.LogCaptureFixture
) -> None:
    linked.settings.github_login_orgs = "acme"
    github.person("carla", 12, acme="active")
    github.moods["/api/v3/user/memberships/orgs/acme"] = said(403, b'{"message": "restricted"}')
    assert sign_in(browser(linked)).status_code == 401
    assert "acme: 403 restricted" in caplog.text


def test_token_and_code_are_kept_and_logged_nowhere(
    stranger: TestClient, linked: Service, github: GitHubPeople, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="app")
    back = sent_back(leave(stranger))
    code = dict(parse_qsl(urlsplit(back).query))["code"]
    stranger.get(back)
    with linked.database.session() as session:
        rows = [
            vars(row)
            for table in (AuditLog, GitHubAccount, User, BrowserSession)
            for row in session.scalars(select(table))
        ]
    kept = f"{rows} {caplog.text}"
    assert github.tokens
    assert not [secret for secret in (*github.tokens, code, CLIENT_SECRET) if secret in kept]


def test_address_that_begins_too_often_is_stopped_and_who_comes_in_does_not_count(linked: Service) -> None:
    client = browser(linked)
    with linked.database.session() as session:
        session.add(SignInAttempts(key="address testclient", attempts=OF_ADDRESS - 1))
    assert [sign_in(client).status_code for _ in range(3)] == [303] * 3
    leave(client)
    answer = client.post("/sign-in/github", headers=SAME_ORIGIN)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    assert "Too many attempts to sign in" in text_of(answer)
    assert number_of(linked, GitHubVisit) == 1
    assert sign_in_as(client, "bob").status_code == 429


# --- one's own account ---


def test_person_links_an_account_by_going_there(linked: Service, github: GitHubPeople) -> None:
    bob = browser_of(linked, "bob")
    assert "No account there is linked" in shown(bob, "/me").text
    github.person("bobby", 21)
    answer = bob.get(sent_back(leave(bob, "/me/github")))
    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    assert "signs you in bobby number 21" in shown(bob, "/me").text
    assert deeds(linked)[-1] == ("bob", "user.github_linked", "bob", {"github": "bobby", "github_id": 21})
    with linked.database.session() as session:
        assert session.scalars(select(SignInAttempts.attempts)).all() == [0]
    client = browser(linked)
    assert sign_in(client).status_code == 303
    assert "bob Sign out" in shown(client, "/me").text


def test_account_that_is_somebody_elses_is_not_linked(linked: Service) -> None:
    bob = browser_of(linked, "bob")
    answer = bob.get(sent_back(leave(bob, "/me/github")))
    assert answer.status_code == 409
    assert "is linked to somebody else here" in text_of(answer)
    assert "bob Sign out" in text_of(answer)
    with linked.database.session() as session:
        assert [its.github_id for its in github_accounts.everyone(session)] == [7]


def test_second_account_is_not_linked(linked: Service, github: GitHubPeople) -> None:
    ada = browser_of(linked, "ada")
    answer = ada.post("/me/github", headers=SAME_ORIGIN)
    assert answer.status_code == 409
    assert "“Ada-K” is linked already; unlink it first" in text_of(answer)
    assert number_of(linked, GitHubVisit) == 0


def test_way_that_one_began_links_nothing_of_whoever_is_signed_in_by_then(
    linked: Service, github: GitHubPeople
) -> None:
    client = browser_of(linked, "bob")
    github.person("bobby", 21)
    back = sent_back(leave(client, "/me/github"))
    with linked.database.session() as session:
        person(session, "eve")
    sign_in_as(client, "eve")
    answer = client.get(back)
    assert answer.status_code == 401
    assert "is not signed in here any more; nothing was linked" in text_of(answer)
    back = sent_back(leave(browser_of(linked, "bob"), "/me/github"))
    assert refused(browser(linked).get(back), linked, sessions=number_of(linked, BrowserSession))
    assert number_of(linked, GitHubAccount) == 1


def test_way_to_link_begins_no_session(linked: Service, github: GitHubPeople) -> None:
    ada_at_github = browser_of(linked, "bob")
    back = sent_back(leave(ada_at_github, "/me/github"))
    del ada_at_github.cookies["ratchet_session"]
    answer = ada_at_github.get(back)
    assert answer.status_code == 401
    assert "ratchet_session" not in ada_at_github.cookies


def test_what_goes_wrong_with_linking_is_told_on_ones_own_page(linked: Service, github: GitHubPeople) -> None:
    bob = browser_of(linked, "bob")
    github.allows = False
    answer = bob.get(sent_back(leave(bob, "/me/github")))
    assert answer.status_code == 401
    assert "GitHub was not allowed to say who you are" in text_of(answer)
    assert "Link a GitHub account" in text_of(answer)


def test_program_links_nothing(linked: Service, reader: TestClient) -> None:
    for path in ("/me/github", "/me/github/unlink"):
        assert reader.post(path, headers=SAME_ORIGIN).status_code == 403


def test_account_is_unlinked_and_other_browsers_are_signed_out(linked: Service) -> None:
    ada, other = browser_of(linked, "ada"), browser(linked)
    sign_in(other)
    answer = ada.post("/me/github/unlink", headers=SAME_ORIGIN)
    assert (answer.status_code, answer.headers["location"]) == (303, "/me")
    assert ada.get("/me").status_code == 200
    assert other.get("/me").status_code == 303
    assert sign_in(browser(linked)).status_code == 401
    assert ada.post("/me/github/unlink", headers=SAME_ORIGIN).status_code == 404


def test_only_way_to_sign_in_is_not_unlinked_by_oneself(linked: Service, github: GitHubPeople) -> None:
    with linked.database.session() as session:
        link_account(session, add_user(session, "carla", None), Account(12, "carla"), by="service")
    github.person("carla", 12)
    client = browser(linked)
    sign_in(client)
    text = shown(client, "/me").text
    assert "Unlink" not in text
    assert "ratchet user set-password carla" in text
    answer = client.post("/me/github/unlink", headers=SAME_ORIGIN)
    assert answer.status_code == 409
    assert "could not sign in any more" in text_of(answer)
    assert sign_in(client).status_code == 303


def test_password_is_not_asked_of_who_has_none(linked: Service, github: GitHubPeople) -> None:
    with linked.database.session() as session:
        link_account(session, add_user(session, "carla", None), Account(12, "carla"), by="service")
    github.person("carla", 12)
    client = browser(linked)
    sign_in(client)
    form = {"old": "", "new": PASSWORD, "again": PASSWORD}
    assert client.post("/me/password", data=form, headers=SAME_ORIGIN).status_code == 422
    with linked.database.session() as session:
        carla = users.named(session, "carla")
        assert carla is not None
        assert carla.password_hash is None


def test_members_of_a_project_are_shown_with_their_accounts(linked: Service) -> None:
    with linked.database.session() as session:
        person(session, "root", is_admin=True)
    text = shown(browser_of(linked, "root"), f"/projects/{PROJECT}/access").text
    assert "Ada ada · Ada-K on GitHub" in text


def test_account_that_is_unlinked_by_the_administrator_ends_all_sessions(linked: Service) -> None:
    client = browser(linked)
    sign_in(client)
    with linked.database.session() as session:
        ada = users.named(session, "ada")
        assert ada is not None
        unlink_account(session, ada, by="service")
    assert client.get("/me").status_code == 303
    assert deeds(linked)[-1][:2] == ("service", "user.github_unlinked")


def test_logins_are_text(linked: Service, github: GitHubPeople) -> None:
    with linked.database.session() as session:
        session.scalars(select(GitHubAccount)).one().login = "<script>alert(1)</script>"
    answer = browser_of(linked, "ada").get("/me")
    assert "<script>alert" not in answer.text
    assert unescape("&lt;script&gt;alert(1)") in text_of(answer)
