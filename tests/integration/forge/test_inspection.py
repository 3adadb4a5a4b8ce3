"""`ratchet github doctor`: each thing that can be wrong is named, with how it is mended."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.cli import USAGE, run
from app.integrations.github.inspection import EVENTS, PERMISSIONS
from app.integrations.github.manifest import ASKED_FOR, app_manifest
from tests.factories.fake_github import APP_ID, FakeGitHub
from tests.factories.github_people import CLIENT_ID, CLIENT_SECRET, GitHubPeople

ADDRESS = "https://ratchet.example"


@pytest.fixture
def github() -> Any:
    its = FakeGitHub()
    its.app = {
        "name": "Ratchet",
        "html_url": "https://github.com/apps/ratchet",
        "permissions": dict(PERMISSIONS),
        "events": list(EVENTS),
    }
    its.installations = [{"id": 9, "account": {"login": "acme"}}]
    its.hook = {"url": f"{ADDRESS}/webhooks/github", "content_type": "json", "secret": "********"}
    with its.serving():
        yield its


@pytest.fixture(autouse=True)
def connected(
    github: FakeGitHub, tmp_path: Path, private_key: str, monkeypatch: pytest.MonkeyPatch
) -> pytest.MonkeyPatch:
    """A service that is connected as it should be."""
    for name, text in (("key", private_key), ("secret", "s3cret"), ("token", "github_pat_x")):
        (tmp_path / name).write_text(text)
    known = {
        "GITHUB_API_URL": github.url,
        "GITHUB_APP_ID": APP_ID,
        "GITHUB_KEY_FILE": str(tmp_path / "key"),
        "GITHUB_WEBHOOK_SECRET_FILE": str(tmp_path / "secret"),
        "PUBLIC_URL": ADDRESS,
        "DATA_DIR": str(tmp_path),
    }
    for name, value in known.items():
        monkeypatch.setenv(f"RATCHET_{name}", value)
    return monkeypatch


def doctor(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit status, and the findings by what was looked at."""
    status = run(["github", "doctor", "--json", *options])
    findings = json.loads(capsys.readouterr().out)["findings"]
    return status, {finding["what"]: finding for finding in findings}


def test_a_connection_that_works_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = doctor(capsys)
    assert status == 0, found
    assert list(found) == [
        *("App", "Permissions", "Events", "Installations", "Webhook", "Messages", "Secret", "Address")
    ]


def test_id_and_secret_that_people_sign_in_with_are_tried(
    capsys: pytest.CaptureFixture[str], connected: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    people = GitHubPeople()
    (tmp_path / "login").write_text(CLIENT_SECRET)
    with people.serving():
        connected.setenv("RATCHET_GITHUB_URL", people.url)
        connected.setenv("RATCHET_GITHUB_LOGIN_CLIENT_ID", CLIENT_ID)
        connected.setenv("RATCHET_GITHUB_LOGIN_SECRET_FILE", str(tmp_path / "login"))
        status, found = doctor(capsys)
        assert (status, found["Sign-in"]["says"]) == (
            0,
            f"people are sent back to {ADDRESS}/sign-in/github/callback",
        )
        (tmp_path / "login").write_text("another")
        status, found = doctor(capsys)
    assert status == 1
    assert "incorrect_client_credentials" in found["Sign-in"]["says"]
    assert "its callback address to https://ratchet.example/sign-in" in found["Sign-in"]["advice"]


def test_secret_without_its_id_is_wrong_usage(
    capsys: pytest.CaptureFixture[str], connected: pytest.MonkeyPatch
) -> None:
    connected.setenv("RATCHET_GITHUB_LOGIN_SECRET_FILE", "/secret")
    assert run(["github", "doctor"]) == USAGE
    assert "RATCHET_GITHUB_LOGIN_CLIENT_ID is not set" in capsys.readouterr().err


def test_for_people_it_says_what_to_do(capsys: pytest.CaptureFixture[str], github: FakeGitHub) -> None:
    github.app["permissions"] = {"checks": "read", "contents": "read", "metadata": "read"}
    assert run(["github", "doctor"]) == 1
    printed = capsys.readouterr().out
    assert (
        "✗ Permissions   missing: checks: write, issues: read, merge_queues: read, pull_requests: write\n"
        in printed
    )
    assert "→ add them at https://github.com/apps/ratchet/permissions" in printed


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("Events", {"app": {"events": ["pull_request"]}}, "not told of: issue_comment", "/permissions"),
    ("Installations", {"installations": []}, "installed nowhere", "/installations/new"),
    (
        "Webhook",
        {"hook": {"url": "https://old.example/hook"}},
        "https://old.example/hook",
        "RATCHET_PUBLIC_URL",
    ),
    ("Webhook", {"hook": {"content_type": "form"}}, "content type is form", "application/json"),
    ("Webhook", {"hook": {"secret": None}}, "no secret", "RATCHET_GITHUB_WEBHOOK_SECRET_FILE"),
    ("Messages", {"sent": [{"status_code": 403, "status": "Forbidden"}]}, "1 of the last 1", "secret"),
    (
        "Messages",
        {"sent": [{"status_code": 502, "status": "Bad Gateway"}]},
        "502",
        "cannot reach this service",
    ),
]


@pytest.mark.parametrize(("what", "state", "says", "advice"), WRONG)
def test_what_is_wrong_on_github_is_found(
    capsys: pytest.CaptureFixture[str],
    github: FakeGitHub,
    what: str,
    state: dict[str, Any],
    says: str,
    advice: str,
) -> None:
    for name, value in state.items():
        merged = value if isinstance(value, list) else getattr(github, name) | value
        setattr(github, name, merged)
    status, found = doctor(capsys)
    assert (status, found[what]["is_good"]) == (1, False)
    assert says in found[what]["says"]
    assert advice in found[what]["advice"]


@pytest.mark.parametrize(
    ("name", "value", "what", "says"),
    [
        ("GITHUB_KEY_FILE", "/nowhere/key", "Identity", "/nowhere/key cannot be read"),
        ("GITHUB_WEBHOOK_SECRET_FILE", "", "Secret", "no secret is set"),
        ("GITHUB_WEBHOOK_SECRET_FILE", "/nowhere/secret", "Secret", "cannot be read"),
        ("PUBLIC_URL", "", "Address", "GitHub cannot reach http://127.0.0.1:8440"),
        ("PUBLIC_URL", "https://10.1.2.3", "Address", "GitHub cannot reach https://10.1.2.3"),
        ("PUBLIC_URL", "http://ratchet.example", "Address", "not encrypted"),
        ("GITHUB_APP_ID", "", "Identity", "known to no GitHub"),
        ("GITHUB_API_URL", "http://127.0.0.1:9", "App", "GitHub cannot be reached"),
    ],
)
def test_what_is_wrong_here_is_found(
    capsys: pytest.CaptureFixture[str],
    connected: pytest.MonkeyPatch,
    name: str,
    value: str,
    what: str,
    says: str,
) -> None:
    connected.setenv(f"RATCHET_{name}", value)
    status, found = doctor(capsys)
    assert (status, found[what]["is_good"]) == (1, False)
    assert says in found[what]["says"]


def test_a_key_that_is_none_is_told_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    status, found = doctor(capsys)
    assert status == 1
    assert "holds no private key (PEM)" in found["Identity"]["says"]


@pytest.mark.parametrize(
    ("options", "push", "what", "is_good"),
    [
        (["--repo", "acme/vision"], True, "Repository", True),
        (["--repo", "acme/vision"], False, "Repository", False),
        (["--repo", "acme/other"], True, "Repository", False),
        ([], True, "Repository", False),
    ],
)
def test_a_token_is_looked_at_on_its_repository(
    capsys: pytest.CaptureFixture[str],
    connected: pytest.MonkeyPatch,
    github: FakeGitHub,
    tmp_path: Path,
    options: list[str],
    push: bool,
    what: str,
    is_good: bool,
) -> None:
    connected.delenv("RATCHET_GITHUB_APP_ID")
    connected.setenv("RATCHET_GITHUB_TOKEN_FILE", str(tmp_path / "token"))
    github.permissions = {"push": push}
    status, found = doctor(capsys, *options)
    assert found["Token"]["is_good"]
    assert (status == 0, found[what]["is_good"]) == (is_good, is_good)


def test_the_manifest_is_what_the_doctor_asks_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["github", "manifest", "--url", f"{ADDRESS}/", "--organization", "acme"]) == 0
    printed = capsys.readouterr()
    made = json.loads(printed.out)
    assert made == app_manifest(ADDRESS, "Ratchet")
    assert made["hook_attributes"]["url"] == f"{ADDRESS}/webhooks/github"
    assert (made["default_permissions"], made["default_events"]) == (ASKED_FOR, list(EVENTS))
    assert "https://github.com/organizations/acme/settings/apps/new" in printed.err
