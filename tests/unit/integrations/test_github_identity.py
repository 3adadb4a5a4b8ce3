"""Who somebody is on GitHub: what it is asked, and what is made of each of its answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import httpx
import pytest
from pydantic import ValidationError

from app.config import ServiceSettings
from app.domain.errors import AccessError, DataError, UnavailableError
from app.integrations.forge import ForgeBusyError
from app.integrations.github import asking
from app.integrations.github.identity import (
    Account,
    Identity,
    NotSetUpError,
    SignInApp,
    challenge,
    find_account,
    identify,
)
from tests.factories.github_people import CLIENT_ID, CLIENT_SECRET, GitHubPeople, Said, said

VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
BACK_TO = "https://ratchet.example/sign-in/github/callback"


@pytest.fixture
def github() -> Iterator[GitHubPeople]:
    github = GitHubPeople()
    github.person("Ada-K", 7, acme="active")
    with github.serving():
        yield github


@pytest.fixture
def app(github: GitHubPeople, tmp_path: Path) -> SignInApp:
    secret = tmp_path / "secret"
    secret.write_text(f"{CLIENT_SECRET}\n")
    return SignInApp(CLIENT_ID, str(secret), github.url, f"{github.url}/api/v3", BACK_TO)


def of_organizations(app: SignInApp, *names: str) -> SignInApp:
    return SignInApp(app.client_id, app.secret_file, app.web, app.api, app.back_to, names)


def code_for(app: SignInApp, verifier: str = VERIFIER) -> str:
    """Go to GitHub's page, and return the code that it sends back."""
    location = httpx.get(app.page("the state", verifier)).headers["location"]
    return dict(parse_qsl(urlsplit(location).query))["code"]


def test_challenge_is_that_of_the_example_in_the_standard() -> None:
    """RFC 7636, appendix B."""
    assert challenge(VERIFIER) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_page_of_github_is_asked_with_state_and_challenge_and_for_no_scope(app: SignInApp) -> None:
    address = urlsplit(app.page("the state", VERIFIER))
    assert f"{address.scheme}://{address.netloc}{address.path}" == f"{app.web}/login/oauth/authorize"
    assert dict(parse_qsl(address.query)) == {
        "client_id": CLIENT_ID,
        "redirect_uri": BACK_TO,
        "state": "the state",
        "code_challenge": challenge(VERIFIER),
        "code_challenge_method": "S256",
    }


def test_organizations_are_asked_for_only_where_their_members_may_come_in(app: SignInApp) -> None:
    asked = dict(parse_qsl(urlsplit(of_organizations(app, "acme").page("s", VERIFIER)).query))
    assert asked["scope"] == "read:org"


def test_person_is_who_has_allowed_it(app: SignInApp) -> None:
    assert identify(app, code_for(app), VERIFIER) == Identity(Account(7, "Ada-K"))


def test_active_membership_counts_and_an_invitation_does_not(app: SignInApp, github: GitHubPeople) -> None:
    github.people["Ada-K"].organizations = {"acme": "active", "invited": "pending"}
    asked = of_organizations(app, "others", "invited", "acme")
    assert identify(asked, code_for(asked), VERIFIER) == Identity(Account(7, "Ada-K"), ("acme",))


def test_organization_that_does_not_allow_the_app_is_named_with_the_reason(
    app: SignInApp, github: GitHubPeople
) -> None:
    path = "/api/v3/user/memberships/orgs/acme"
    github.moods[path] = said(403, b'{"message": "`acme` has OAuth App access restrictions"}')
    asked = of_organizations(app, "acme")
    found = identify(asked, code_for(asked), VERIFIER)
    assert found.organizations == ()
    assert found.unknown == ("acme: 403 `acme` has OAuth App access restrictions",)


def test_code_is_good_once_and_with_its_own_verifier(app: SignInApp) -> None:
    code = code_for(app)
    identify(app, code, VERIFIER)
    for spent, verifier in ((code, VERIFIER), (code_for(app), "another"), ("never given", VERIFIER)):
        with pytest.raises(AccessError, match="has expired, or was used"):
            identify(app, spent, verifier)


def test_token_is_in_nothing_that_is_left(
    app: SignInApp, github: GitHubPeople, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    found = identify(app, code_for(app), VERIFIER)
    github.moods["/api/v3/user"] = said(500)
    with pytest.raises(UnavailableError) as raised:
        identify(app, code_for(app), VERIFIER)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None
    left = f"{found} {raised.value!r} {app} {caplog.text}"
    assert len(github.tokens) == 2
    assert not [secret for secret in (*github.tokens, CLIENT_SECRET, VERIFIER) if secret in left]


@pytest.mark.parametrize(
    ("file", "why"),
    [("none", "cannot be read: No such file"), ("empty", "is empty"), ("wrong", "incorrect_client_creden")],
)
def test_secret_that_is_missing_or_wrong_is_for_the_administrator(
    app: SignInApp, tmp_path: Path, file: str, why: str
) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "wrong").write_text("something else")
    wrong = SignInApp(app.client_id, str(tmp_path / file), app.web, app.api, app.back_to)
    with pytest.raises(NotSetUpError, match=why) as raised:
        identify(wrong, code_for(app), VERIFIER)
    assert "something else" not in str(raised.value)


@pytest.mark.parametrize("path", ["/login/oauth/access_token", "/api/v3/user"])
@pytest.mark.parametrize(
    "answer",
    [
        said(200, b"<html>"),
        said(200, b"[]"),
        said(200, b"{}"),
        said(200, b'{"id": true, "login": "x", "access_token": ""}'),
        said(200, b'{"id": -7, "login": "x", "access_token": 7}'),
        said(200, b'{"id": 7, "login": "<b>", "access_token": "a\\nb"}'),
        said(200, b'{"id": 7, "login": "' + b"x" * 2**18 + b'"}'),
        said(200, b"[" * 100_000),
        said(204),
        said(302, location="http://127.0.0.1:9/"),
        said(404, b'{"message": "Not Found"}'),
        said(500, b'{"message": "oh"}'),
        said(503),
    ],
)
def test_answer_that_makes_no_sense_is_told_as_an_outage(
    app: SignInApp, github: GitHubPeople, path: str, answer: Said
) -> None:
    code = code_for(app)
    github.moods[path] = answer
    with pytest.raises(UnavailableError, match=r"^GitHub answered") as raised:
        identify(app, code, VERIFIER)
    assert not isinstance(raised.value, NotSetUpError | ForgeBusyError)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("answer", "wait_s"),
    [
        (said(429, retry_after="90"), 90),
        (said(429), 60),
        (said(403, b'{"message": "API rate limit exceeded"}'), 60),
        (said(403, x_ratelimit_remaining="0", x_ratelimit_reset="1"), 1),
        (said(403, retry_after="99999"), 3600),
    ],
)
def test_github_that_asks_for_time_is_told_with_how_much(
    app: SignInApp, github: GitHubPeople, answer: Said, wait_s: float
) -> None:
    github.moods["/api/v3/user"] = answer
    with pytest.raises(ForgeBusyError) as raised:
        identify(app, code_for(app), VERIFIER)
    assert raised.value.wait_s == wait_s


def test_slow_github_is_not_waited_for(
    app: SignInApp, github: GitHubPeople, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_for(app)
    monkeypatch.setattr(asking, "DEADLINE_S", 0.2)
    github.slow_s = 1.0
    with pytest.raises(UnavailableError, match=r"no answer within 0\.2 s"):
        identify(app, code, VERIFIER)


def test_github_that_is_away_is_told(app: SignInApp) -> None:
    away = SignInApp(app.client_id, app.secret_file, "http://127.0.0.1:9", "http://127.0.0.1:9", BACK_TO)
    with pytest.raises(UnavailableError, match="GitHub cannot be reached: ConnectError"):
        identify(away, "code", VERIFIER)


def test_more_people_at_once_than_threads_may_wait_are_not_waited_for(
    app: SignInApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = code_for(app)
    monkeypatch.setattr(asking, "_TURN", asking.threading.BoundedSemaphore(1))
    with asking._TURN, pytest.raises(UnavailableError, match="too many people"):
        identify(app, code, VERIFIER)
    assert identify(app, code, VERIFIER).account.id == 7


def test_account_is_found_by_what_it_is_called_now(github: GitHubPeople) -> None:
    api = f"{github.url}/api/v3"
    assert find_account(api, "Ada-K") == Account(7, "Ada-K")
    github.person("acme", 8).kind = "Organization"
    for login, why in (("acme", "of the type Organization"), ("nobody", "knows no"), ("../x", "no login")):
        with pytest.raises(DataError, match=why):
            find_account(api, login)


# --- settings ---

NEEDED = {"database_url": "postgresql://", "redis_url": "redis://"}


def test_nobody_signs_in_with_github_unless_it_is_set_up() -> None:
    assert not ServiceSettings(**NEEDED).has_github_login
    both = {"github_login_client_id": CLIENT_ID, "github_login_secret_file": "/secret"}
    settings = ServiceSettings(**NEEDED, **both, github_login_orgs=" acme  acme-labs ")
    assert settings.has_github_login
    assert settings.github_login_organizations == ("acme", "acme-labs")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"github_login_client_id": CLIENT_ID}, "it is not set"),
        ({"github_login_secret_file": "/secret"}, "RATCHET_GITHUB_LOGIN_CLIENT_ID is not set"),
        ({"github_login_orgs": "acme, labs"}, "'acme,' is no organization"),
        ({"github_login_role": "admin"}, "viewer"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ServiceSettings(**NEEDED, **given)
