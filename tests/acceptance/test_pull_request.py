"""A pull request on a GitHub, by the real path: webhook, service, agent, a real measurement, check and comment."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.acceptance.conftest import RATCHET, Running, start_up, stop
from tests.acceptance.test_check_command import library
from tests.factories.fake_github import FakeGitHub, Mood
from tests.factories.repository import SETTINGS, ToyRepository
from tests.factories.sandbox import needs_sandbox
from tests.factories.waiting import wait_for
from tests.factories.webhooks import connected_env, signed

pytestmark = [pytest.mark.postgres, pytest.mark.redis]

BRIEF = """
[[suite]]
name = "brief"
command = "sh work.sh"
paths = ["work.sh"]
devices = ["cpu-*"]
"""
"""A command that is timed as a whole: three checks go by in the time that one of benchmark files takes."""

STRICT = (
    SETTINGS.format(device_minutes=1.0).replace("devices =", 'paths = ["toy.py"]\ndevices =')
    + "strict = true\n"
)
"""A machine that other tests share is of grade C, and may need the whole minute for what is plain."""

LOOPS, SLEEP_S = 3_000, 0.02
"""What the suites do at the base: one pull request changes the benchmark's library, the others the brief command."""


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
    its = start_up(folder / "forge data", "--untrusted", env=connected_env(forge, github.url))
    yield its
    stop(its)


@pytest.fixture(scope="module")
def toy(folder: Path, connected: Running) -> ToyRepository:
    """The repository on that GitHub, with one commit."""
    its = ToyRepository(folder / "forge" / "acme" / "vision.git")
    its.commit("base", tree(), settings=STRICT + BRIEF)
    return its


def tree(*, loops: int = LOOPS, sleep_s: float = SLEEP_S) -> dict[str, str]:
    """The files of both suites."""
    return library(loops) | {"work.sh": f"sleep {sleep_s}\n"}


def push(toy: ToyRepository, github: FakeGitHub, number: int, files: dict[str, str], **pull: object) -> str:
    """Push a head of a pull request."""
    git = ["git", "-C", str(toy.path)]
    subprocess.run([*git, "checkout", "--quiet", "--detach", "main"], check=True)
    head = toy.commit(f"pull request {number}", files, settings=STRICT + BRIEF)
    subprocess.run([*git, "update-ref", f"refs/pull/{number}/head", head], check=True)
    subprocess.run([*git, "checkout", "--quiet", "main"], check=True)
    github.pull(number, head, "0" * 40, **pull)
    return head


def tell(running: Running, event: str, **payload: object) -> None:
    """Have GitHub tell of something."""
    repository = {"id": 5, "full_name": "acme/vision", "default_branch": "main"}
    body = json.dumps({"repository": repository, "installation": {"id": 9}, **payload}).encode()
    headers = signed(event, body, str(time.monotonic_ns()))
    answer = httpx.post(f"{running.url}/webhooks/github", content=body, headers=headers)
    assert answer.status_code == 202, answer.text


def happens(running: Running, number: int, action: str) -> None:
    """Have GitHub tell of a pull request."""
    tell(running, "pull_request", action=action, pull_request={"number": number})


def say(running: Running, number: int, comment: int, text: str) -> None:
    """Have somebody who may push comment on a pull request."""
    issue = {"number": number, "pull_request": {}}
    told = {"id": comment, "body": text, "user": {"login": "grace"}}
    tell(running, "issue_comment", action="created", issue=issue, comment=told)


def states(github: FakeGitHub, head: str) -> list[str]:
    """Where each check run of a head stands: its conclusion, else its status."""
    return [run.get("conclusion") or run["status"] for run in github.runs_of(head)]


def concluded(github: FakeGitHub, head: str, runs: int = 1) -> bool:
    """Whether so many check runs of a head have ended."""
    told = github.runs_of(head)
    return len(told) == runs and all(run["status"] == "completed" for run in told)


def test_a_pull_request_from_its_opening_to_its_verdict(
    connected: Running, github: FakeGitHub, toy: ToyRepository
) -> None:
    slow = push(toy, github, 1, tree(loops=10 * LOOPS))
    github.moods = [Mood(cut_after=True), Mood(status=502)]
    happens(connected, 1, "opened")
    wait_for(lambda: concluded(github, slow), 240)
    (run,) = github.runs_of(slow)
    assert run["conclusion"] == "failure", run
    assert run["output"]["title"].startswith("1 regressed of ")
    wait_for(lambda: github.comments, 30)
    (comment,) = github.comments.values()
    assert "### ✗ 1 regressed of " in comment["body"]

    say(connected, 1, 4711, "/ratchet accept it does ten times as much")
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
    its_key = f"ratchet/5/{slow}/{document['check']}"
    wait_for(lambda: its_key in [run["external_id"] for run in github.runs_of(slow)], 30)


def test_of_quick_pushes_the_last_is_measured_and_asked_for_again(
    connected: Running, github: FakeGitHub, toy: ToyRepository
) -> None:
    heads = []
    for sleep_s, action in (
        (SLEEP_S + 1e-6, "opened"),  # what is as fast as before takes long to tell
        (SLEEP_S + 2e-6, "synchronize"),
        (10 * SLEEP_S, "synchronize"),
    ):
        heads.append(push(toy, github, 2, tree(sleep_s=sleep_s)))
        happens(connected, 2, action)
    last = heads[-1]
    wait_for(lambda: concluded(github, last), 240)
    assert states(github, last) == ["failure"]
    assert [state for head in heads[:-1] for state in states(github, head) if state != "cancelled"] == []
    say(connected, 2, 4712, "/ratchet rerun brief")
    wait_for(lambda: concluded(github, last, 2), 240)
    assert states(github, last) == ["failure", "failure"]


def test_what_is_closed_is_measured_no_more_until_it_is_opened_again(
    connected: Running, github: FakeGitHub, toy: ToyRepository
) -> None:
    head = push(toy, github, 3, tree(sleep_s=50 * SLEEP_S))  # long enough to be closed meanwhile
    happens(connected, 3, "opened")
    wait_for(lambda: "in_progress" in states(github, head), 60)
    github.pulls[3]["state"] = "closed"
    happens(connected, 3, "closed")
    wait_for(lambda: states(github, head) == ["cancelled"], 60)
    github.pulls[3]["state"] = "open"
    happens(connected, 3, "reopened")
    wait_for(lambda: concluded(github, head, 2), 240)
    assert states(github, head) == ["cancelled", "failure"]


@needs_sandbox
def test_a_fork_is_measured_once_it_is_approved_and_its_next_push_is_not(
    connected: Running, github: FakeGitHub, toy: ToyRepository
) -> None:
    first = push(toy, github, 4, tree(sleep_s=10 * SLEEP_S), fork=True)
    happens(connected, 4, "opened")
    wait_for(lambda: states(github, first) == ["action_required"], 30)
    (asking,) = github.runs_of(first)
    assert [button["identifier"] for button in asking["actions"]] == ["approve"]
    say(connected, 4, 4713, f"/ratchet approve {first}")
    wait_for(lambda: concluded(github, first, 2), 240)
    assert states(github, first) == ["action_required", "failure"]
    assert github.runs_of(first)[-1]["output"]["title"].startswith("1 regressed of ")
    second = push(toy, github, 4, tree(sleep_s=20 * SLEEP_S), fork=True)
    happens(connected, 4, "synchronize")
    wait_for(lambda: states(github, second) == ["action_required"], 30)
