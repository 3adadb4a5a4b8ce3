"""`ratchet token`: issued, listed and revoked by the command, and refused by the service from then on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.cli import DATA, FAULT, USAGE, run
from app.services.access import Scope, issue_token
from app.store.repositories import projects
from app.wiring import Service
from tests.factories.browser import SAME_ORIGIN, browser

pytestmark = pytest.mark.postgres

Ratchet = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ratchet(service: Service, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ratchet:
    """Run `ratchet token` on the service's database; return status, output and errors."""
    monkeypatch.setenv("RATCHET_DATABASE_URL", service.settings.database_url)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(["token", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def issued(ratchet: Ratchet, *arguments: str) -> str:
    status, out, err = ratchet(*arguments)
    assert status == 0, err
    return out.strip()


def status_with(client: TestClient, token: str) -> int:
    return client.get("/api/v1/checks", headers={"Authorization": f"Bearer {token}"}).status_code


def listed(ratchet: Ratchet, *options: str) -> dict[str, str]:
    """The lines of the list, by the token's name."""
    _, out, _ = ratchet("list", *options)
    return {line.split()[1]: line for line in out.splitlines()[1:]}


@pytest.mark.parametrize(
    "arguments",
    [
        ("ci", "--scope", "results:read"),
        ("--scope", "results:read", "ci"),
        ("create", "ci", "--scope", "results:read"),
        ("create", "list", "--scope", "results:read"),
    ],
    ids=" ".join,
)
def test_issued_token_is_printed_alone_and_opens_the_service(
    ratchet: Ratchet, client: TestClient, arguments: tuple[str, ...]
) -> None:
    token = issued(ratchet, *arguments)
    assert token.startswith("ratchet_")
    assert status_with(client, token) == 200


def test_revoked_token_is_refused_at_once_and_others_are_not(ratchet: Ratchet, client: TestClient) -> None:
    leaked, other = (issued(ratchet, name, "--scope", "results:read") for name in ("leaked", "other"))
    assert (status_with(client, leaked), status_with(client, other)) == (200, 200)
    public_id = leaked.split("_")[1]
    assert ratchet("revoke", public_id)[:2] == (0, f"revoked: {public_id} (leaked)\n")
    assert (status_with(client, leaked), status_with(client, other)) == (401, 200)


def test_browser_that_signed_in_with_a_revoked_token_is_signed_out(
    ratchet: Ratchet, service: Service
) -> None:
    token = issued(ratchet, "ci", "--scope", "results:read")
    reader = browser(service)
    reader.post("/sign-in", data={"token": token}, headers=SAME_ORIGIN)
    assert reader.get("/runs").status_code == 200
    ratchet("revoke", token.split("_")[1])
    assert reader.get("/runs").status_code == 303


@pytest.mark.parametrize("cut", [lambda token: token, lambda token: token[:16], lambda token: token[8:14]])
def test_token_can_be_named_by_its_text_or_the_beginning_of_its_id(
    ratchet: Ratchet, client: TestClient, cut: Callable[[str], str]
) -> None:
    token = issued(ratchet, "ci", "--scope", "results:read")
    assert ratchet("revoke", cut(token))[0] == 0
    assert status_with(client, token) == 401


def test_unknown_id_is_status_65_and_revokes_nothing(ratchet: Ratchet, client: TestClient) -> None:
    token = issued(ratchet, "ci", "--scope", "results:read")
    status, out, err = ratchet("revoke", token, "ffffffffffff")
    assert (status, out) == (DATA, "")
    assert "'ffffffffffff'" in err
    assert "ratchet token list" in err
    assert status_with(client, token) == 200


@pytest.mark.parametrize("given", ["", "a", "%%%", "ratchet_"])
def test_id_that_is_too_short_names_nothing(ratchet: Ratchet, client: TestClient, given: str) -> None:
    token = issued(ratchet, "ci", "--scope", "results:read")
    assert ratchet("revoke", given)[0] == DATA
    assert status_with(client, token) == 200


def test_wildcards_in_an_id_are_letters(ratchet: Ratchet) -> None:
    issued(ratchet, "ci", "--scope", "results:read")
    status, _, err = ratchet("revoke", "%%%%")
    assert status == DATA
    assert "no token has the id" in err


def test_beginning_of_several_ids_is_refused_with_the_choice(ratchet: Ratchet, service: Service) -> None:
    with service.database.session() as session:
        for name in ("first", "second"):
            issue_token(session, name, [Scope.RESULTS_READ])
        session.execute(text("update token set public_id = 'abcd0' || id"))
    status, _, err = ratchet("revoke", "abcd0")
    assert status == DATA
    assert "(first)" in err
    assert "(second)" in err


def test_revoking_twice_changes_nothing_and_says_so(ratchet: Ratchet, service: Service) -> None:
    public_id = issued(ratchet, "ci", "--scope", "results:read").split("_")[1]
    ratchet("revoke", public_id)
    assert ratchet("revoke", public_id)[:2] == (0, f"was revoked before: {public_id} (ci)\n")
    with service.database.session() as session:
        rows = session.execute(
            text("select object, detail ->> 'id' from audit_log where action = 'token.revoked'")
        ).all()
    assert [tuple(row) for row in rows] == [("ci", public_id)]


def test_list_shows_what_is_known_of_live_tokens_and_no_secret(
    ratchet: Ratchet, service: Service, client: TestClient
) -> None:
    token = issued(ratchet, "ci", "--scope", "results:read", "--scope", "jobs:create")
    with service.database.session() as session:
        project = projects.project(session, "acme/vision")
        issue_token(session, "bound\n\x1b[31m", [Scope.RESULTS_WRITE], project_id=project.id)
    assert "never" in listed(ratchet)["ci"]
    assert status_with(client, token) == 200
    lines = listed(ratchet)
    _, public_id, secret = token.split("_")
    assert lines["ci"].startswith(f"{public_id}  ci")
    assert "results:read jobs:create  any" in lines["ci"]
    assert "never" not in lines["ci"]
    assert "acme/vision" in lines["bound\\n\\x1b[31m"]
    assert secret not in "".join(lines.values())


def test_list_has_revoked_and_expired_tokens_on_demand(ratchet: Ratchet, service: Service) -> None:
    for name in ("old", "gone", "live"):
        issued(ratchet, name, "--scope", "results:read")
    with service.database.session() as session:
        session.execute(text("update token set expires_at = now() - interval '1 hour' where name = 'old'"))
    ratchet("revoke", listed(ratchet)["gone"].split()[0])
    assert set(listed(ratchet)) == {"live"}
    states = {name: line.split()[-1] for name, line in listed(ratchet, "--all").items()}
    assert states == {"old": "expired", "gone": "revoked", "live": "live"}


@pytest.mark.parametrize("arguments", [("ci",), ("ci", "--scope", "everything"), ("revoke",)], ids=" ".join)
def test_wrong_usage_is_status_64(ratchet: Ratchet, arguments: tuple[str, ...]) -> None:
    assert ratchet(*arguments)[0] == USAGE


def test_database_that_is_away_is_said_in_a_sentence(
    ratchet: Ratchet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RATCHET_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    status, _, err = ratchet("list")
    assert status == FAULT
    assert err.startswith("ratchet: the database does not answer")


def test_command_without_a_service_says_how_to_name_one(
    ratchet: Ratchet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("RATCHET_DATABASE_URL")
    monkeypatch.setenv("RATCHET_DATA_DIR", str(tmp_path))
    status, _, err = ratchet("list")
    assert status == USAGE
    assert "RATCHET_DATABASE_URL" in err
    assert str(tmp_path) in err
