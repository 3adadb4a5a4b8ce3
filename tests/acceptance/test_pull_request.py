"""A pull request on a GitHub, by the real path: webhook, service, agent, a real measurement, check and comment."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import RATCHET, Running, start_up, stop, wait_for
from tests.acceptance.test_check_command import library
from tests.factories.fake_github import FakeGitHub, Mood
from tests.factories.keys import private_key_pem
from tests.factories.repository import SETTINGS, ToyRepository

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

SECRET = "s3cret"
STRICT = SETTINGS.format(device_minutes=0.3) + "strict = true\n"
"""A machine that other tests share is of grade C."""


@pytest.fixture(scope="module")
def github() -> Iterator[FakeGitHub]:
    with FakeGitHub().serving() as its:
        its.writers = {"grace"}
        yield its


@pytest.fixture(scope="module")
def connected(folder: Path, github: FakeGitHub) -> Iterator[Running]:
    """A service that this GitHub is connected with."""
    forge = folder / "forge"
    forge.mkdir()
    (forge / "key").write_text(private_key_pem())
    (forge / "secret").write_text(SECRET)
    env = {
        "RATCHET_GITHUB_URL": f"file://{forge}",
        "RATCHET_GITHUB_API_URL": github.url,
        "RATCHET_GITHUB_APP_ID": "77",
        "RATCHET_GITHUB_KEY_FILE": str(forge / "key"),
        "RATCHET_GITHUB_WEBHOOK_SECRET_FILE": str(forge / "secret"),
    }
    its = start_up(folder / "forge data", env=env)
    yield its
    stop(its)


def push(toy: ToyRepository, github: FakeGitHub, message: str, loops: int) -> str:
    """Push a head of pull request 1."""
    git = ["git", "-C", str(toy.path)]
    subprocess.run([*git, "checkout", "--quiet", "--detach", "main"], check=True)
    head = toy.commit(message, library(loops), settings=STRICT)
    subprocess.run([*git, "update-ref", "refs/pull/1/head", head], check=True)
    subprocess.run([*git, "checkout", "--quiet", "main"], check=True)
    github.pull(1, head, "0" * 40)
    return head


def tell(running: Running, event: str, **payload: object) -> None:
    """Have GitHub tell of something."""
    repository = {"id": 5, "full_name": "acme/vision", "default_branch": "main"}
    body = json.dumps({"repository": repository, "installation": {"id": 9}, **payload}).encode()
    headers = {
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": str(time.monotonic_ns()),
        "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
        "Content-Type": "application/json",
    }
    answer = httpx.post(f"{running.url}/webhooks/github", content=body, headers=headers)
    assert answer.status_code == 202, answer.text


def concluded(github: FakeGitHub, head: str) -> bool:
    """Whether a head's check has ended."""
    runs = github.runs_of(head)
    return bool(runs) and runs[0]["status"] == "completed"


def test_a_pull_request_from_its_opening_to_its_verdict(
    connected: Running, github: FakeGitHub, folder: Path
) -> None:
    toy = ToyRepository(folder / "forge" / "acme" / "vision.git")
    toy.commit("base", library(3_000), settings=STRICT)
    slow = push(toy, github, "slower", 30_000)
    github.moods = [Mood(cut_after=True), Mood(status=502)]
    tell(connected, "pull_request", action="opened", pull_request={"number": 1})
    wait_for(lambda: concluded(github, slow), 120)
    (run,) = github.runs_of(slow)
    assert run["conclusion"] == "failure", run
    assert run["output"]["title"].startswith("1 regressed of ")
    wait_for(lambda: github.comments, 30)
    (comment,) = github.comments.values()
    assert "### ✗ 1 regressed of " in comment["body"]

    issue = {"number": 1, "pull_request": {}}
    asked = {"id": 4711, "body": "/ratchet accept it does ten times as much", "user": {"login": "grace"}}
    tell(connected, "issue_comment", action="created", issue=issue, comment=asked)
    wait_for(lambda: github.runs_of(slow)[-1]["conclusion"] == "success", 30)
    assert github.runs_of(slow)[-1]["output"]["title"].startswith("accepted by grace: 1 regressed")
    assert (len(github.comments), len(github.check_runs)) == (1, 2), (
        "the accepted one is a check run of its own"
    )

    again = subprocess.run(
        [*RATCHET, "check", "--project", "acceptance/toy", "--pull", "1", "--json"],
        env=connected.env(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert again.returncode == 1, again.stderr
    document = json.loads(again.stdout)
    assert (document["conclusion"], document["head"]) == ("regressed", slow)
    wait_for(lambda: github.runs_of(slow)[-1]["details_url"].endswith(f"/{document['check']}"), 30)
