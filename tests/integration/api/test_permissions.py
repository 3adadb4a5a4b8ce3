"""Every route and everybody: each route says here whom it is for, and everybody asks for each of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from app.api.checks import EXAMPLE
from app.config import ServiceSettings
from app.domain.errors import AccessError
from app.domain.notifications import NotifierKind, Wishes
from app.services.access import Principal, Role, Scope, issue_token, principal_of_user
from app.services.cancel_check import cancel_check
from app.services.change_user import disable_user
from app.services.notify.manage_notifiers import add_notifier
from app.services.own_tokens import GIVEN
from app.services.sign_in import Browser, begin_session
from app.store.repositories import projects, users
from app.store.tables import Alert, BrowserSession, MeasureRequest, Repository, SavedSearch, Token
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.application import application
from tests.factories.browser import SAME_ORIGIN, browser
from tests.factories.people import browser_of, person
from tests.factories.posted_results import post_results, posted_document

pytestmark = pytest.mark.postgres

OURS, THEIRS = "acme/vision", "other/project"
"""The project that everything is of, and one that has nothing."""

BASE, HEAD, BUNDLE = "c" * 40, "d" * 40, "a" * 64


class May(Enum):
    """What a route asks for."""

    ANYONE = auto()
    SIGNED_IN = auto()
    BE_SOMEBODY = auto()
    """Signed in by name."""
    READ_SOMETHING = auto()
    READ = auto()
    CREATE_SOMEWHERE = auto()
    CREATE = auto()
    ANSWER = auto()
    WRITE = auto()
    NOTIFY = auto()
    WORK = auto()
    ADMINISTER = auto()
    ADMINISTER_ALL = auto()
    NOBODY = auto()
    """It is somebody else's, or its key is wrong."""


@dataclass(frozen=True)
class Way:
    """How a route is asked here: whom it is for, the address, and what is sent by a program or a page."""

    may: May
    path: str
    json: Any = None
    form: dict[str, str] | None = None


COMMIT = {"commit": HEAD}
ANSWER = {"comment": "seen"}
DOCUMENT = posted_document(commit="e" * 40)
CLAIM = {"worker_id": 1, "instance": "i", "hardware_ids": []}
CHECK = EXAMPLE | {"settings": EXAMPLE["settings"].replace("acme/vision", OURS), "key": None}  # type: ignore[attr-defined]
LEASE = "/api/v1/worker/leases/00000000-0000-0000-0000-000000000000"
NOTIFIER = {"name": "new", "kind": "slack", "address": {"url": "http://127.0.0.1:9/hook"}}
ACCESS = f"/projects/{OURS}/access"
TOLD, TOLD_PAGE = f"/api/v1/projects/{OURS}/notifiers", f"/projects/{OURS}/notifiers"

ROUTES: dict[tuple[str, str], Way] = {
    ("GET", "/openapi.json"): Way(May.ANYONE, "/openapi.json"),
    ("GET", "/healthz"): Way(May.ANYONE, "/healthz"),
    ("GET", "/readyz"): Way(May.ANYONE, "/readyz"),
    ("GET", "/metrics"): Way(May.ANYONE, "/metrics"),
    ("GET", "/static/{digest}/{name}"): Way(May.ANYONE, "/static/0/pages.css"),
    ("POST", "/webhooks/github"): Way(May.NOBODY, "/webhooks/github", json={}),
    # --- agents ---
    ("POST", "/api/v1/worker/register"): Way(May.WORK, "/api/v1/worker/register", json={}),
    ("POST", "/api/v1/worker/claim"): Way(May.WORK, "/api/v1/worker/claim", json=CLAIM),
    ("POST", "/api/v1/worker/sign-off"): Way(May.WORK, "/api/v1/worker/sign-off", json=CLAIM),
    ("POST", "/api/v1/worker/leases/{lease_id}/heartbeat"): Way(May.WORK, f"{LEASE}/heartbeat", json={}),
    ("POST", "/api/v1/worker/leases/{lease_id}/prepared"): Way(May.WORK, f"{LEASE}/prepared", json={}),
    ("POST", "/api/v1/worker/leases/{lease_id}/invocations"): Way(May.WORK, f"{LEASE}/invocations", json={}),
    ("POST", "/api/v1/worker/leases/{lease_id}/finish"): Way(May.WORK, f"{LEASE}/finish", json={}),
    ("GET", "/api/v1/bundles/{digest}"): Way(May.WORK, f"/api/v1/bundles/{BUNDLE}"),
    # --- programs ---
    ("POST", "/api/v1/bundles"): Way(May.CREATE_SOMEWHERE, "/api/v1/bundles", json={}),
    ("POST", "/api/v1/checks"): Way(May.CREATE, "/api/v1/checks", json=CHECK),
    ("GET", "/api/v1/checks"): Way(May.READ_SOMETHING, "/api/v1/checks"),
    ("GET", "/api/v1/checks/{check_id}"): Way(May.READ, "/api/v1/checks/1"),
    ("GET", "/api/v1/checks/{check_id}/progress"): Way(May.READ, "/api/v1/checks/1/progress"),
    ("GET", "/api/v1/checks/{check_id}/report"): Way(May.READ, "/api/v1/checks/1/report"),
    ("POST", "/api/v1/checks/{check_id}/cancel"): Way(May.CREATE, "/api/v1/checks/1/cancel", json={}),
    ("POST", "/api/v1/results"): Way(May.WRITE, "/api/v1/results", json=DOCUMENT),
    ("POST", "/api/v1/results/batch"): Way(May.WRITE, "/api/v1/results/batch", json=DOCUMENT),
    ("GET", "/api/v1/weekly"): Way(May.READ_SOMETHING, "/api/v1/weekly"),
    ("GET", "/api/v1/weekly/report"): Way(May.READ_SOMETHING, "/api/v1/weekly/report"),
    ("GET", "/api/v1/series"): Way(May.READ_SOMETHING, "/api/v1/series"),
    ("GET", "/api/v1/series/{series_id}/points"): Way(May.READ, "/api/v1/series/1/points"),
    ("GET", "/api/v1/series/{series_id}/trend"): Way(May.READ, "/api/v1/series/1/trend"),
    ("GET", "/api/v1/series/{series_id}/changes"): Way(May.READ, "/api/v1/series/1/changes"),
    ("GET", "/api/v1/series/{series_id}/badge"): Way(May.READ, "/api/v1/series/1/badge"),
    ("POST", "/api/v1/series/{series_id}/missed"): Way(May.ANSWER, "/api/v1/series/1/missed", json=COMMIT),
    ("GET", "/api/v1/compare"): Way(May.READ, f"/api/v1/compare?project={OURS}&base={BASE}&head={HEAD}"),
    ("GET", "/api/v1/changes"): Way(May.READ, f"/api/v1/changes?project={OURS}"),
    ("GET", "/api/v1/wanted"): Way(May.READ, f"/api/v1/wanted?project={OURS}"),
    ("GET", "/api/v1/badge"): Way(May.READ, f"/api/v1/badge?project={OURS}"),
    ("GET", "/api/v1/export"): Way(May.READ, f"/api/v1/export?project={OURS}"),
    ("GET", "/api/v1/alerts"): Way(May.READ_SOMETHING, "/api/v1/alerts?state=all"),
    ("POST", "/api/v1/alerts"): Way(May.ANSWER, "/api/v1/alerts", json={"ids": [1], **ANSWER}),
    ("GET", "/api/v1/alerts/quality"): Way(May.READ_SOMETHING, "/api/v1/alerts/quality"),
    ("GET", "/api/v1/alerts/{alert_id:int}"): Way(May.READ, "/api/v1/alerts/1"),
    ("POST", "/api/v1/alerts/{alert_id:int}"): Way(May.ANSWER, "/api/v1/alerts/1", json=ANSWER),
    ("GET", "/api/v1/runs"): Way(May.READ_SOMETHING, "/api/v1/runs"),
    ("GET", "/api/v1/runs/{run}"): Way(May.READ, "/api/v1/runs/1"),
    ("GET", "/api/v1/runs/{run}/results"): Way(May.READ, "/api/v1/runs/upload-1/results"),
    ("GET", "/api/v1/devices"): Way(May.READ_SOMETHING, "/api/v1/devices"),
    ("POST", "/api/v1/devices/{device}/release"): Way(
        May.ADMINISTER_ALL, "/api/v1/devices/1/release", json={}
    ),
    ("GET", "/api/v1/projects"): Way(May.READ_SOMETHING, "/api/v1/projects"),
    ("POST", "/api/v1/projects/{project:path}/measure"): Way(
        May.CREATE, f"/api/v1/projects/{OURS}/measure", json={"head": "main"}
    ),
    ("GET", "/api/v1/projects/{project:path}/measure/{request_id}"): Way(
        May.READ, f"/api/v1/projects/{OURS}/measure/1"
    ),
    ("GET", "/api/v1/projects/{project:path}/schedules"): Way(May.READ, f"/api/v1/projects/{OURS}/schedules"),
    ("GET", "/api/v1/projects/{project:path}/notifiers"): Way(May.NOTIFY, TOLD),
    ("POST", "/api/v1/projects/{project:path}/notifiers"): Way(May.NOTIFY, TOLD, json=NOTIFIER),
    ("GET", "/api/v1/projects/{project:path}/notifiers/{name}"): Way(May.NOTIFY, f"{TOLD}/ops"),
    ("POST", "/api/v1/projects/{project:path}/notifiers/{name}"): Way(May.NOTIFY, f"{TOLD}/ops", json={}),
    ("POST", "/api/v1/projects/{project:path}/notifiers/{name}/test"): Way(
        May.NOTIFY, f"{TOLD}/ops/test", json={}
    ),
    ("POST", "/api/v1/projects/{project:path}/notifiers/{name}/pause"): Way(
        May.NOTIFY, f"{TOLD}/ops/pause", json={}
    ),
    ("POST", "/api/v1/projects/{project:path}/notifiers/{name}/resume"): Way(
        May.NOTIFY, f"{TOLD}/ops/resume", json={}
    ),
    ("POST", "/api/v1/projects/{project:path}/notifiers/{name}/remove"): Way(
        May.NOTIFY, f"{TOLD}/spare/remove", json={}
    ),
    # --- pages ---
    ("GET", "/"): Way(May.READ_SOMETHING, "/"),
    ("GET", "/checks/{check_id}"): Way(May.READ, "/checks/1"),
    ("GET", "/checks/{check_id}/report"): Way(May.READ, "/checks/1/report"),
    ("POST", "/checks/{check_id}/again"): Way(May.CREATE, "/checks/1/again", form={}),
    ("GET", "/shared/checks/{check_id}/{until}/{signature}"): Way(May.NOBODY, "/shared/checks/1/9/wrong"),
    ("GET", "/alerts"): Way(May.READ_SOMETHING, "/alerts?state=all"),
    ("POST", "/alerts"): Way(May.ANSWER, "/alerts", form={"alert 1": "on", **ANSWER}),
    ("GET", "/alerts/{alert_id}"): Way(May.READ, "/alerts/1"),
    ("POST", "/alerts/{alert_id}"): Way(May.ANSWER, "/alerts/1", form=ANSWER),
    ("GET", "/series"): Way(May.READ_SOMETHING, "/series"),
    ("GET", "/series/{series_id}"): Way(May.READ, "/series/1"),
    ("POST", "/series/{series_id}/missed"): Way(May.ANSWER, "/series/1/missed", form=COMMIT),
    ("GET", "/badge/series/{series_id}.svg"): Way(May.READ, "/badge/series/1.svg"),
    ("GET", "/badge/project/{project:path}.svg"): Way(May.READ, f"/badge/project/{OURS}.svg"),
    ("GET", "/benchmarks"): Way(May.READ, f"/benchmarks?project={OURS}&name=resize"),
    ("GET", "/compare"): Way(May.READ_SOMETHING, "/compare"),
    ("GET", "/commits/{sha}"): Way(May.READ, f"/commits/{HEAD}?project={OURS}"),
    ("GET", "/runs"): Way(May.READ_SOMETHING, "/runs"),
    ("GET", "/runs/upload-{upload_id}"): Way(May.READ, "/runs/upload-1"),
    ("GET", "/runs/{run_id}"): Way(May.READ, "/runs/1"),
    ("GET", "/workers"): Way(May.READ_SOMETHING, "/workers"),
    ("GET", "/weekly"): Way(May.READ_SOMETHING, "/weekly"),
    ("GET", "/weekly/{week}"): Way(May.READ_SOMETHING, "/weekly/2026-W47"),
    ("GET", "/health"): Way(May.READ_SOMETHING, "/health"),
    ("GET", "/measure"): Way(May.READ, f"/measure?project={OURS}"),
    ("POST", "/measure"): Way(May.CREATE, "/measure", form={"project": OURS, "what": "main"}),
    ("GET", "/measure/{request_id}"): Way(May.READ, "/measure/1"),
    ("GET", "/sign-in"): Way(May.ANYONE, "/sign-in"),
    ("POST", "/sign-in"): Way(May.NOBODY, "/sign-in", form={"token": "wrong"}),
    ("POST", "/sign-in/github"): Way(May.ANYONE, "/sign-in/github", form={}),
    ("GET", "/sign-in/github/callback"): Way(May.NOBODY, "/sign-in/github/callback?state=x&code=y"),
    ("POST", "/sign-out"): Way(May.ANYONE, "/sign-out", form={}),
    ("GET", "/me"): Way(May.SIGNED_IN, "/me"),
    ("POST", "/me/password"): Way(May.BE_SOMEBODY, "/me/password", form={"old": "x", "new": "y"}),
    ("POST", "/me/github"): Way(May.BE_SOMEBODY, "/me/github", form={}),
    ("POST", "/me/github/unlink"): Way(May.NOBODY, "/me/github/unlink", form={}),
    ("POST", "/me/sessions/end"): Way(May.BE_SOMEBODY, "/me/sessions/end", form={}),
    ("POST", "/me/sessions/{number}/end"): Way(May.NOBODY, "/me/sessions/1/end", form={}),
    ("POST", "/me/tokens"): Way(May.BE_SOMEBODY, "/me/tokens", form={"name": ""}),
    ("POST", "/me/tokens/{token_id}/revoke"): Way(May.NOBODY, "/me/tokens/1/revoke", form={}),
    ("POST", "/me/searches"): Way(May.BE_SOMEBODY, "/me/searches", form={}),
    ("POST", "/me/searches/{search_id}/forget"): Way(May.NOBODY, "/me/searches/1/forget", form={}),
    ("GET", "/projects/{project:path}/access"): Way(May.ADMINISTER, ACCESS),
    ("GET", "/projects/{project:path}/notifiers"): Way(May.NOTIFY, TOLD_PAGE),
    ("POST", "/projects/{project:path}/notifiers"): Way(May.NOTIFY, TOLD_PAGE, form={"name": ""}),
    ("GET", "/projects/{project:path}/notifiers/{name}"): Way(May.NOTIFY, f"{TOLD_PAGE}/ops"),
    ("POST", "/projects/{project:path}/notifiers/{name}"): Way(May.NOTIFY, f"{TOLD_PAGE}/ops", form={}),
    ("POST", "/projects/{project:path}/notifiers/{name}/test"): Way(
        May.NOTIFY, f"{TOLD_PAGE}/ops/test", form={}
    ),
    ("POST", "/projects/{project:path}/notifiers/{name}/pause"): Way(
        May.NOTIFY, f"{TOLD_PAGE}/ops/pause", form={}
    ),
    ("POST", "/projects/{project:path}/notifiers/{name}/resume"): Way(
        May.NOTIFY, f"{TOLD_PAGE}/ops/resume", form={}
    ),
    ("POST", "/projects/{project:path}/notifiers/{name}/remove"): Way(
        May.NOTIFY, f"{TOLD_PAGE}/other/remove", form={}
    ),
    ("POST", "/projects/{project:path}/access/members"): Way(
        May.ADMINISTER, f"{ACCESS}/members", form={"user": "nobody", "role": "viewer"}
    ),
    ("POST", "/projects/{project:path}/access/tokens"): Way(
        May.ADMINISTER, f"{ACCESS}/tokens", form={"name": "ci"}
    ),
    ("POST", "/projects/{project:path}/access/tokens/{public_id}/revoke"): Way(
        May.ADMINISTER, f"{ACCESS}/tokens/abcdef012345/revoke", form={}
    ),
}
"""Method and path of each route, by whom it may be asked, and how it is asked here."""

READS = {May.ANYONE, May.SIGNED_IN, May.READ_SOMETHING, May.READ}
ANSWERS = READS | {May.ANSWER}
CREATES = ANSWERS | {May.CREATE_SOMEWHERE, May.CREATE}
MAINTAINS = CREATES | {May.WRITE, May.NOTIFY}
ADMINISTERS = MAINTAINS | {May.ADMINISTER}
NOTHING = {May.ANYONE, May.SIGNED_IN}
ELSEWHERE = NOTHING | {May.READ_SOMETHING, May.CREATE_SOMEWHERE}

PEOPLE: dict[str, set[May]] = {
    "viewer": READS | {May.BE_SOMEBODY},
    "maintainer": MAINTAINS | {May.BE_SOMEBODY},
    "admin": ADMINISTERS | {May.BE_SOMEBODY},
    "other-admin": ELSEWHERE | {May.BE_SOMEBODY},
    "installation-admin": ADMINISTERS | {May.BE_SOMEBODY},
    "newcomer": NOTHING | {May.BE_SOMEBODY},
    "reads-here-administers-elsewhere": READS | {May.BE_SOMEBODY},
}
"""What people may do here. To programs' routes they send a token of their own, which administers nothing."""

TOKENS: dict[str, set[May]] = {
    "results:read": READS,
    "results:write": NOTHING | {May.WRITE},
    "alerts:write": ANSWERS,
    "jobs:create": CREATES,
    "notifiers:write": READS | {May.NOTIFY},
    "worker": NOTHING | {May.WORK},
    "worker:untrusted": NOTHING | {May.WORK},
    "admin": ADMINISTERS | {May.ADMINISTER_ALL},
    "admin here": ADMINISTERS,
    "admin elsewhere": ELSEWHERE,
    "a maintainer's own to read": READS,
    "a maintainer's own for another project": NOTHING,
}


@pytest.fixture
def hosted(service: Service) -> Service:
    """A service with something of everything in one project, and people and tokens of every kind."""
    service.settings.github_login_client_id = "Iv1.0"
    bundles = service.settings.data_dir / "bundles"
    bundles.mkdir(parents=True)
    (bundles / BUNDLE).write_bytes(b"# v2 git bundle\n")
    with service.database.session() as session:
        bystander = person(session, "zoe")
        begin_session(session, service.settings, bystander, Browser())
        session.add(SavedSearch(user_id=bystander.id, page="/series", name="its", query="q=x"))
        token = Token(public_id="abcdef012345", secret_sha256="", name="zoe's", scopes=["results:read"])
        session.add(token)
        check = stored.check(session, results.regressed())
        token.project_id = check.project_id
        device = stored.device(session, stored.worker(session), "cpu-test-2t")
        device.health = "quarantined"
        session.flush()
        _followed(session, check.project_id, check.base_commit_id, check.head_commit_id)
        for name in ("ops", "spare", "other"):
            _told(session, service.settings, name)
        projects.project(session, THEIRS)
        person(session, "viewer", {OURS: Role.VIEWER})
        person(session, "maintainer", {OURS: Role.MAINTAINER})
        person(session, "admin", {OURS: Role.ADMIN})
        person(session, "other-admin", {THEIRS: Role.ADMIN})
        person(session, "installation-admin", is_admin=True)
        person(session, "newcomer")
        both = {OURS: Role.VIEWER, THEIRS: Role.ADMIN}
        person(session, "reads-here-administers-elsewhere", both)
        writer = issue_token(session, "writer", [Scope.RESULTS_WRITE])
    for commit in (BASE, HEAD):
        answer = post_results(browser(service), writer, posted_document(project=OURS, commit=commit))
        assert answer.status_code == 201, answer.text
    return service


def _told(session: Session, settings: ServiceSettings, name: str) -> None:
    """Have somebody told of the project's alerts."""
    settings.notify_private = True
    add_notifier(
        session,
        settings,
        Principal("zoe", frozenset({Scope.ADMIN})),
        OURS,
        name=name,
        kind=NotifierKind.SLACK,
        address={"url": "http://127.0.0.1:9/hook"},
        wishes=Wishes(),
    )


def _followed(session: Session, project_id: int, base: int, head: int) -> None:
    """Connect a repository; have something measured, and an alert raised."""
    repository = Repository(external_id=5, slug=OURS, branch="main", project_id=project_id)
    session.add(repository)
    session.flush()
    asked = {"pull": None, "head": "main", "base": None, "suites": [], "devices": []}
    told = {"asked_by": "zoe", "outcome": "refused", "message": "no"}
    its = {"repository_id": repository.id, "project_id": project_id}
    session.add(MeasureRequest(key="1", **its, **asked, **told))
    commits = {"previous_commit_id": base, "commit_id": head}
    session.add(Alert(project_id=project_id, branch="main", state="new", **commits))


@dataclass(frozen=True)
class Asker:
    """Somebody with a browser, and with a token for what programs ask."""

    browser: TestClient
    token: str | None = None
    is_program: bool = False

    def ask(self, method: str, way: Way) -> Response:
        """Ask as this one does: a person reads with their browser's session, a program always shows its token."""
        is_programs = way.path.startswith(("/api/", "/webhooks/")) and method != "GET"
        headers = dict(SAME_ORIGIN)
        if self.token is not None and (self.is_program or is_programs):
            headers["Authorization"] = f"Bearer {self.token}"
        return self.browser.request(method, way.path, json=way.json, data=way.form, headers=headers)


def own_token(service: Service, name: str, project: str, scopes: list[Scope]) -> str:
    with service.database.session() as session:
        user = users.named(session, name)
        assert user is not None
        its_project = projects.project(session, project)
        return issue_token(session, "own", scopes, project_id=its_project.id, user_id=user.id)


def somebody(service: Service, name: str) -> Asker:
    """A person with their browser, and a token that has all scopes which a person's token may have."""
    project = THEIRS if name == "other-admin" else OURS
    return Asker(browser_of(service, name), own_token(service, name, project, list(GIVEN)))


def program(service: Service, kind: str) -> Asker:
    """A program with a token of this kind."""
    if kind == "a maintainer's own to read":
        token = own_token(service, "maintainer", OURS, [Scope.RESULTS_READ])
    elif kind == "a maintainer's own for another project":
        token = own_token(service, "maintainer", THEIRS, list(GIVEN))
    else:
        scope, _, where = kind.partition(" ")
        with service.database.session() as session:
            bound = {"here": OURS, "elsewhere": THEIRS}.get(where)
            project_id = projects.project(session, bound).id if bound else None
            token = issue_token(session, kind, [Scope(scope)], project_id=project_id)
    return Asker(browser(service), token, is_program=True)


def was_let_in(answer: Response) -> bool:
    """Say whether an answer is one to somebody who may ask: whatever they asked for was right or wrong."""
    if answer.status_code == 303:
        return not answer.headers["location"].startswith("/sign-in")
    return answer.status_code not in (401, 403, 404)


def mistakes(asker: Asker, may: set[May]) -> list[str]:
    """Ask for everything, and return what was answered otherwise than it should be."""
    found = []
    for (method, path), way in ROUTES.items():
        if way.may is May.NOBODY:
            continue
        if path == "/sign-out":
            continue  # the last thing that anybody does
        answer = asker.ask(method, way)
        if was_let_in(answer) is not (way.may in may) or answer.status_code >= 500:
            found.append(f"{method} {path}: {answer.status_code}, {way.may.name}")
        is_list = way.may is May.READ_SOMETHING and May.READ not in may
        if is_list and OURS in answer.text:
            found.append(f"{method} {path} tells of a project that is not theirs")
    return found


# --- the table ---


def routes_of(routes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield method and path of every route of an application, however deep it was included."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from routes_of(inner.routes)
        else:
            yield from ((method, route.path) for method in route.methods - {"HEAD"})


def test_every_route_says_whom_it_is_for(service: Service) -> None:
    assert set(routes_of(application(service).routes)) == set(ROUTES)


@pytest.mark.parametrize("name", PEOPLE)
def test_person_may_what_the_role_allows_and_nothing_else(hosted: Service, name: str) -> None:
    assert mistakes(somebody(hosted, name), PEOPLE[name]) == []


@pytest.mark.parametrize("kind", TOKENS)
def test_token_may_what_its_scopes_allow_and_nothing_else(hosted: Service, kind: str) -> None:
    assert mistakes(program(hosted, kind), TOKENS[kind]) == []


def test_nobody_may_what_anyone_may(hosted: Service) -> None:
    assert mistakes(Asker(browser(hosted)), {May.ANYONE}) == []


def test_nobody_may_also_read_where_reading_is_open(hosted: Service) -> None:
    hosted.settings.anonymous_read = True
    assert mistakes(Asker(browser(hosted)), {May.ANYONE, May.READ_SOMETHING, May.READ}) == []


@pytest.mark.parametrize("name", ["newcomer", "other-admin"])
def test_person_reads_no_less_than_everyone_where_reading_is_open(hosted: Service, name: str) -> None:
    hosted.settings.anonymous_read = True
    assert mistakes(somebody(hosted, name), PEOPLE[name] | READS) == []


def test_person_who_is_disabled_is_nobody_with_session_and_token(hosted: Service) -> None:
    asker = somebody(hosted, "admin")
    with hosted.database.session() as session:
        disable_user(session, "admin")
    assert mistakes(asker, {May.ANYONE}) == []
    assert mistakes(replace(asker, is_program=True), {May.ANYONE}) == []


@pytest.mark.parametrize("name", ["newcomer", "admin", "installation-admin"])
def test_nobody_has_what_is_somebody_elses(hosted: Service, name: str) -> None:
    asker = somebody(hosted, name)
    ways = {key: way for key, way in ROUTES.items() if way.may is May.NOBODY}
    answers = {key: asker.ask(key[0], way).status_code for key, way in ways.items()}
    own = {key: status for key, status in answers.items() if key[1].startswith("/me/")}
    assert set(own.values()) == {404}
    assert answers[("POST", "/sign-in")] == 401
    assert answers[("GET", "/sign-in/github/callback")] == 401
    assert answers[("POST", "/webhooks/github")] == 503
    with hosted.database.session() as session:
        kept = [session.scalar(select(func.count()).select_from(t)) for t in (SavedSearch, BrowserSession)]
        assert kept == [1, 2]
        assert session.scalars(select(Token.revoked_at).where(Token.name == "zoe's")).one() is None


def test_role_elsewhere_cancels_no_check_here(hosted: Service) -> None:
    with hosted.database.session() as session:
        user = users.named(session, "reads-here-administers-elsewhere")
        assert user is not None
        with pytest.raises(AccessError, match="takes the role maintainer"):
            cancel_check(session, principal_of_user(session, user), 1)


def test_object_of_another_project_is_not_there(hosted: Service) -> None:
    asker = somebody(hosted, "other-admin")
    named_in_the_body = {"/api/v1/checks", "/api/v1/results", "/api/v1/results/batch"}
    of_objects = {May.READ, May.CREATE, May.ANSWER, May.ADMINISTER}
    for (method, path), way in ROUTES.items():
        if way.may in of_objects and path not in named_in_the_body:
            assert asker.ask(method, way).status_code == 404, path


def test_project_that_is_not_there_is_refused_like_one_of_others(hosted: Service) -> None:
    asker = somebody(hosted, "other-admin")
    told = []
    for name in (OURS, "no/such"):
        settings = CHECK["settings"].replace(OURS, name)
        check = asker.ask(
            "POST", replace(ROUTES["POST", "/api/v1/checks"], json=CHECK | {"settings": settings})
        )
        document = posted_document(project=name)
        post = asker.ask("POST", replace(ROUTES["POST", "/api/v1/results"], json=document))
        told.append([(its.status_code, its.json()["message"].replace(name, "X")) for its in (check, post)])
    assert told[0] == told[1]
    with hosted.database.session() as session:
        assert projects.find_project(session, "no/such") is None


def test_no_page_takes_a_form_from_elsewhere(hosted: Service) -> None:
    asker = somebody(hosted, "installation-admin")
    ways = [way for way in ROUTES.values() if way.form is not None]
    assert len(ways) > 15
    for way in ways:
        headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        answer = asker.browser.post(way.path, data=way.form, headers=headers)
        assert answer.status_code == 403, way.path
        assert "not from a page of this service" in answer.text, way.path
    assert asker.browser.get("/me").status_code == 200


def test_no_form_is_sent_by_following_a_link(hosted: Service) -> None:
    asker = somebody(hosted, "installation-admin")
    only_by_form = {path for method, path in ROUTES if method == "POST"} - {
        path for method, path in ROUTES if method == "GET"
    }
    for (_, path), way in ROUTES.items():
        if path in only_by_form and way.form is not None:
            answer = asker.browser.get(way.path)
            leads_up = answer.status_code == 303 and way.path.startswith(answer.headers["location"])
            assert leads_up or answer.status_code in (404, 405), path
