"""`ratchet user`: people are added, listed, changed and shut out by the command."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select

from app.cli import DATA, FAULT, USAGE, run
from app.services.access import Role, Scope, issue_token
from app.store.repositories import projects, users
from app.store.tables import AuditLog, BrowserSession, User
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, browser
from tests.factories.github_people import GitHubPeople, said
from tests.factories.people import PASSWORD, browser_of, person, sign_in_as

pytestmark = pytest.mark.postgres

Ratchet = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ratchet(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ratchet:
    """Run `ratchet user` on the service's database, with a password piped in; return status, output and errors."""
    monkeypatch.setenv("RATCHET_DATABASE_URL", service.settings.database_url)

    def call(*arguments: str, password: str = f"{PASSWORD}\n") -> tuple[int, str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(password))
        status = run(["user", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHubPeople]:
    """The GitHub of the service's settings, where Ada-K has the number 7."""
    github = GitHubPeople()
    github.person("Ada-K", 7)
    with github.serving():
        monkeypatch.setenv("RATCHET_GITHUB_URL", github.url)
        yield github


def listed(ratchet: Ratchet) -> dict[str, dict[str, Any]]:
    """What the list says, by name."""
    _, out, _ = ratchet("list", "--json")
    return {facts["name"]: facts for facts in map(json.loads, out.splitlines())}


def test_person_who_is_added_signs_in_with_the_password_that_was_piped_in(
    ratchet: Ratchet, service: Service
) -> None:
    assert ratchet("add", "Ada", "--called", "Ada King", "--email", "ada@example.org") == (
        0,
        "added: ada\n",
        "",
    )
    assert sign_in_as(browser(service), "ada").status_code == 303
    facts = listed(ratchet)["ada"]
    assert (facts["display_name"], facts["email"], facts["roles"]) == ("Ada King", "ada@example.org", {})
    assert not facts["is_admin"]
    assert facts["created_at"] == datetime.fromisoformat(facts["created_at"]).isoformat()
    with service.database.session() as session:
        assert PASSWORD not in session.scalars(select(User.password_hash)).one()


@pytest.mark.parametrize(
    ("name", "password", "status", "why"),
    [
        ("ada", "short\n", DATA, "12 to 256 characters"),
        ("ada", "", DATA, "12 to 256 characters"),
        ("a b", f"{PASSWORD}\n", DATA, "no name to sign in with"),
        ("ada/ci", f"{PASSWORD}\n", DATA, "no name to sign in with"),
        ("github", f"{PASSWORD}\n", DATA, "what the service calls itself"),
        ("bob", f"{PASSWORD}\n", FAULT, "there is a user 'bob' already"),
    ],
)
def test_person_who_cannot_be_added_is_told_why(
    ratchet: Ratchet, service: Service, name: str, password: str, status: int, why: str
) -> None:
    with service.database.session() as session:
        person(session, "bob")
    told = ratchet("add", name, password=password)
    assert told[0] == status
    assert why in told[2]
    assert set(listed(ratchet)) == {"bob"}


def test_list_is_a_table_that_tells_roles_and_state(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        person(session, "ada", {"acme/vision": Role.ADMIN, "acme/speech": Role.VIEWER})
        person(session, "bob", is_admin=True)
    ratchet("disable", "ada")
    _, out, _ = ratchet("list")
    heading, ada, bob = out.splitlines()
    assert heading.split() == ["NAME", "CALLED", "E-MAIL", "GITHUB", "ROLES", "SINCE", "STATE"]
    assert "viewer of acme/speech, admin of acme/vision" in ada
    assert ada.endswith("disabled")
    assert "admin of the installation" in bob
    assert bob.endswith("live")


def test_account_on_github_is_linked_by_its_number_and_unlinked(
    ratchet: Ratchet, github: GitHubPeople
) -> None:
    ratchet("add", "ada")
    assert ratchet("link", "ada", "--github", "Ada-K") == (0, "linked: ada with Ada-K (number 7)\n", "")
    facts = listed(ratchet)["ada"]
    assert (facts["github"], facts["github_id"], facts["has_password"]) == ("Ada-K", 7, True)
    assert "Ada-K" in ratchet("list")[1]
    assert ratchet("link", "ada", "--undo") == (0, "unlinked: ada from Ada-K\n", "")
    assert listed(ratchet)["ada"]["github"] is None


def test_person_who_is_added_with_an_account_on_github_is_asked_for_no_password(
    ratchet: Ratchet, service: Service, github: GitHubPeople
) -> None:
    assert ratchet("add", "ada", "--github", "Ada-K", password="")[0] == 0
    facts = listed(ratchet)["ada"]
    assert (facts["github_id"], facts["has_password"]) == (7, False)
    assert sign_in_as(browser(service), "ada", "").status_code == 401


def test_number_of_an_account_may_be_given_where_github_cannot_be_asked(
    ratchet: Ratchet, github: GitHubPeople
) -> None:
    github.moods["/api/v3/users/Ada-K"] = said(401, b'{"message": "Must authenticate"}')
    status, _, why = ratchet("add", "ada", "--github", "Ada-K")
    assert status == FAULT
    assert "GitHub answered 401 Must authenticate. Try again, or give the number" in why
    assert listed(ratchet) == {}
    assert ratchet("add", "ada", "--github", "Ada-K", "--github-id", "7")[0] == 0
    assert listed(ratchet)["ada"]["github_id"] == 7


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (("link", "ada"), USAGE, "either --github LOGIN or --undo"),
        (("link", "ada", "--github", "Ada-K", "--undo"), USAGE, "either --github LOGIN or --undo"),
        (("link", "ada", "--github-id", "7"), USAGE, "--github-id needs --github"),
        (("link", "ada", "--undo"), DATA, "no GitHub account of “ada” is linked"),
        (("link", "ada", "--github", "nobody"), DATA, "GitHub knows no account 'nobody'"),
        (("link", "ada", "--github", "Ada-K"), FAULT, "“Ada-K” is linked to somebody else here"),
        (("link", "bob", "--github", "carla"), FAULT, "“bob” has the GitHub account “Ada-K”"),
        (("add", "eve", "--github", "Ada-K"), FAULT, "“Ada-K” is linked to somebody else here"),
    ],
)
def test_account_that_cannot_be_linked_is_told(
    ratchet: Ratchet, github: GitHubPeople, arguments: tuple[str, ...], status: int, why: str
) -> None:
    github.person("carla", 12)
    ratchet("add", "ada")
    ratchet("add", "bob", "--github", "Ada-K")
    told = ratchet(*arguments)
    assert told[0] == status
    assert why in told[2]
    assert {name: facts["github"] for name, facts in listed(ratchet).items()} == {"ada": None, "bob": "Ada-K"}


def test_other_password_ends_the_sessions(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        person(session, "ada")
    client = browser_of(service, "ada")
    assert ratchet("set-password", "ada", password="a mare in the sun\n")[0] == 0
    assert client.get("/me").status_code == 303
    assert sign_in_as(client, "ada").status_code == 401
    assert sign_in_as(client, "ada", "a mare in the sun").status_code == 303


def test_old_password_that_is_looked_at_while_another_comes_opens_nothing(
    ratchet: Ratchet, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.database.session() as session:
        person(session, "ada")

    def is_password(*_: object) -> bool:
        assert ratchet("set-password", "ada", password="a mare in the sun\n")[0] == 0
        return True

    monkeypatch.setattr("app.services.sign_in.is_password", is_password)
    assert sign_in_as(browser(service), "ada").status_code == 401
    with service.database.session() as session:
        assert session.query(BrowserSession).count() == 0


def test_other_password_ends_what_was_begun_with_an_own_token(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        ada = person(session, "ada", {"acme/vision": Role.VIEWER})
        project = projects.project(session, "acme/vision")
        own = {"project_id": project.id, "user_id": ada.id}
        token = issue_token(session, "ci", [Scope.RESULTS_READ], **own)
    client = browser(service)
    assert client.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN).status_code == 303
    assert ratchet("set-password", "ada", password="a mare in the sun\n")[0] == 0
    with service.database.session() as session:
        assert session.query(BrowserSession).count() == 0


def test_person_is_shut_out_and_let_in_again(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        person(session, "ada")
    client = browser_of(service, "ada")
    assert ratchet("disable", "ada") == (0, "disabled: ada\n", "")
    assert client.get("/me").status_code == 303
    assert sign_in_as(client, "ada").status_code == 401
    assert ratchet("disable", "ada", "--undo") == (0, "let in again: ada\n", "")
    assert sign_in_as(client, "ada").status_code == 303


def test_roles_are_given_and_taken(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        person(session, "ada")
        projects.project(session, "acme/vision")
    assert ratchet("role", "ada", "viewer", "--project", "acme/vision")[0] == 0
    assert ratchet("role", "ada", "maintainer", "--project", "acme/vision")[0] == 0
    assert ratchet("role", "ada", "admin")[0] == 0
    facts = listed(ratchet)["ada"]
    assert (facts["roles"], facts["is_admin"]) == ({"acme/vision": "maintainer"}, True)
    ratchet("role", "ada", "none", "--project", "acme/vision")
    ratchet("role", "ada", "none")
    facts = listed(ratchet)["ada"]
    assert (facts["roles"], facts["is_admin"]) == ({}, False)


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        (("role", "ada", "king", "--project", "acme/vision"), USAGE, "viewer, maintainer, admin, none"),
        (("role", "ada", "viewer"), USAGE, "there are: admin, none"),
        (("role", "ada", "viewer", "--project", "acme/none"), DATA, "no project 'acme/none'"),
        (("role", "nobody", "admin"), DATA, "no user 'nobody'"),
        (("disable", "nobody"), DATA, "no user 'nobody'"),
        (("set-password", "nobody"), DATA, "no user 'nobody'"),
    ],
)
def test_what_cannot_be_done_is_told(
    ratchet: Ratchet, service: Service, arguments: tuple[str, ...], status: int, why: str
) -> None:
    with service.database.session() as session:
        person(session, "ada")
        projects.project(session, "acme/vision")
    told = ratchet(*arguments)
    assert told[0] == status
    assert why in told[2]


def test_all_of_it_is_in_the_audit_log(ratchet: Ratchet, service: Service) -> None:
    ratchet("add", "ada", "--admin")
    ratchet("set-password", "ada", password="a mare in the sun\n")
    ratchet("role", "ada", "none")
    ratchet("disable", "ada")
    ratchet("disable", "ada", "--undo")
    with service.database.session() as session:
        rows = session.scalars(select(AuditLog).order_by(AuditLog.id)).all()
        assert [row.action for row in rows] == [
            "user.added",
            "user.password_set",
            "user.role_set",
            "user.disabled",
            "user.enabled",
        ]
        assert {(row.actor, row.object) for row in rows} == {("service", "ada")}
        user = users.named(session, "ada")
        assert user is not None
        assert user.disabled_at is None
