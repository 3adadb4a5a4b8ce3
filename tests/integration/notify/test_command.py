"""`ratchet notifier`: adding, listing, trying and removing, without a secret on any screen."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result
from fastapi.testclient import TestClient

from app.commands import notifier as command
from app.services.access import Role, Scope, issue_token
from app.store.repositories import projects
from tests.factories.people import person
from tests.factories.serving import found_by_commands
from tests.integration.notify.conftest import PROJECT, Crowd

pytestmark = pytest.mark.postgres


@pytest.fixture
def token(crowd: Crowd) -> str:
    with crowd.service.database.session() as session:
        person(session, "bob", {PROJECT: Role.MAINTAINER})
        return issue_token(
            session, "ops", [Scope.NOTIFIERS_WRITE], project_id=projects.project(session, PROJECT).id
        )


@pytest.fixture
def run(client: TestClient, crowd: Crowd, token: str, monkeypatch: pytest.MonkeyPatch):
    found_by_commands(client, token, monkeypatch)

    def its(*words: str, said: str = "") -> Result:
        return CliRunner().invoke(
            command.notifier, [*words, "--project", PROJECT], input=said, standalone_mode=False
        )

    return its


def test_webhook_is_added_tried_paused_and_removed(
    run, crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = run(
        "add",
        "ops",
        "--kind",
        "webhook",
        "--min-change",
        "0.05",
        "--quiet",
        "22:00-07:00",
        said=crowd.hook.url,
    )
    assert added.exception is None, added.exception
    assert "key: whsec_" in added.output
    assert "s3cr3t" not in added.output
    (its,) = [json.loads(line) for line in run("list", "--json").output.splitlines()]
    assert (its["name"], its["kind"], its["wishes"]["quiet_until"]) == ("ops", "webhook", "07:00")
    assert its["shown"].startswith("http://127.0.0.1:")
    assert its["shown"].endswith("/…abcd")
    assert "whsec_" not in json.dumps(its)
    monkeypatch.setattr(command.time, "sleep", lambda s: crowd.settle())
    tried = run("test", "ops")
    assert (tried.return_value, tried.output) == (0, "sent\n")
    assert crowd.hook.posts[0].json["type"] == "test"
    assert run("pause", "ops").output == "paused: ops\n"
    assert "paused" in run("list").output
    assert run("resume", "ops").output == "resumed: ops\n"
    assert run("remove", "ops").output == "removed: ops\n"
    assert "nobody is told" in run("list").stderr


def test_test_that_does_not_arrive_says_why(run, crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    crowd.hook.moods = [crowd_mood(500)]
    run("add", "ops", "--kind", "slack", said=crowd.hook.url)
    monkeypatch.setattr(command.time, "sleep", lambda s: crowd.settle())
    tried = run("test", "ops")
    assert tried.return_value == 1
    assert tried.output == "not sent: answered 500: broken\n"
    assert len(crowd.hook.posts) == 1, "a test is tried once"


def crowd_mood(status: int):
    from tests.factories.receivers import Mood

    return Mood(status, body=b"broken")
