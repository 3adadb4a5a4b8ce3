"""What people ask of Ratchet in a pull request, and the buttons of its check."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from app.services.forge.receive_delivery import find_lost_deliveries
from app.store.tables import AuditLog
from tests.integration.forge.conftest import SLUG, Begin, World
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres

REPOSITORY = {"id": 5, "full_name": SLUG, "default_branch": "main"}


def say(
    world: World,
    comment: str,
    author: str = "grace",
    *,
    number: int = 1,
    of_pull: bool = True,
    settle: bool = True,
) -> None:
    """Have somebody comment on a pull request, and all done that follows."""
    issue: dict[str, Any] = {"number": number} | ({"pull_request": {}} if of_pull else {})
    payload = {
        "action": "created",
        "repository": REPOSITORY,
        "installation": {"id": 9},
        "issue": issue,
        "comment": {"id": world.github.new_id(), "body": comment, "user": {"login": author}},
    }
    assert world.send("issue_comment", payload).status_code == 202
    if settle:
        world.settle()


def answers(world: World) -> list[str]:
    """What was answered in comments of their own, without their markers."""
    return [
        comment["body"].partition("\n")[2].strip()
        for comment in world.github.comments.values()
        if comment["body"].startswith("<!-- ratchet:answer:")
    ]


@pytest.fixture
def judged(world: World, begin: Begin) -> tuple[World, str]:
    """A pull request whose check has failed, and its head."""
    begin(fail, world)
    return world, world.github.pulls[1]["head"]["sha"]


def fail(world: World) -> None:
    """Have the check of a pull request fail."""
    world.github.writers = {"grace"}
    world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()


def test_rerun_measures_the_same_head_again(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet rerun")
    assert world.run_of(head)["status"] == "queued"
    measure(world)
    world.settle()
    assert world.run_of(head)["conclusion"] == "success"
    assert answers(world) == []


def test_what_is_measured_again_has_a_check_run_of_its_own(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "Hm.\n\n/ratchet rerun")
    say(world, "/ratchet rerun")
    told = [(run["status"], run.get("conclusion")) for run in world.github.runs_of(head)]
    assert told == [("completed", "failure"), ("completed", "cancelled"), ("queued", None)]


def test_a_message_to_rerun_that_got_lost_is_found(judged: tuple[World, str]) -> None:
    world, head = judged
    with world.service.database.session() as session:
        session.execute(text("update pull_request set rerun = true"))
        find_lost_deliveries(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["status"] == "queued"


def test_a_command_that_got_lost_is_done_all_the_same(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet rerun", settle=False)
    world.tasks_of("forge.delivery")
    with world.service.database.session() as session:
        session.execute(text("update outbox set sent_at = clock_timestamp() where sent_at is null"))
    with world.service.database.session() as session:
        find_lost_deliveries(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["status"] == "queued"
    with world.service.database.session() as session:
        assert session.scalar(text("select count(*) from outbox where topic = 'pull.obey'")) == 0


def test_accept_lets_the_check_pass_and_says_who_and_why(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet accept the new *model* is larger")
    run = world.run_of(head)
    assert run["conclusion"] == "success"
    assert run["output"]["title"].startswith("accepted by grace: 1 regressed of 1")
    assert run["output"]["summary"].startswith("Accepted by `grace`: the new \\*model\\* is larger\n")
    with world.service.database.session() as session:
        (entry,) = session.scalars(select(AuditLog).where(AuditLog.action == "pull.command"))
        assert (entry.actor, entry.detail["head"]) == ("grace", head)


def test_what_is_still_measured_is_not_accepted_unseen(judged: tuple[World, str]) -> None:
    world, _ = judged
    second = world.push(1, "slower still")
    world.happens(1, "synchronize")
    say(world, "/ratchet accept whatever it says")
    assert answers(world) == ["It is still measured: accept what it says once it has ended."]
    measure(world, slower=1.3)
    world.settle()
    assert world.run_of(second)["conclusion"] == "failure"


def test_a_command_that_came_twice_is_done_once(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet rerun", settle=False)
    world.tasks_of("forge.delivery")
    with world.service.database.session() as session:
        (payload,) = session.scalars(text("select payload from outbox where topic = 'pull.obey'"))
    for _ in range(2):
        world.do("pull.obey", payload)
    world.settle()
    assert len(world.github.runs_of(head)) == 2


def test_an_acceptance_is_of_one_head(judged: tuple[World, str]) -> None:
    world, _ = judged
    say(world, "/ratchet accept it is wanted")
    second = world.push(1, "slower still")
    world.happens(1, "synchronize")
    measure(world, slower=1.3)
    world.settle()
    assert world.run_of(second)["conclusion"] == "failure"


@pytest.mark.parametrize("comment", ["/ratchet rerun", "/ratchet accept because I say so"])
def test_who_may_not_push_is_refused(judged: tuple[World, str], comment: str) -> None:
    world, head = judged
    say(world, comment, author="mallory")
    assert world.run_of(head)["conclusion"] == "failure"
    assert answers(world) == ["Only people with write access to this repository can ask for that."]


@pytest.mark.parametrize(
    ("comment", "begins"),
    [
        ("/ratchet help", "What can be asked for:"),
        ("/ratchet", "What can be asked for:"),
        ("/Ratchet dance", "There is no such command. What can be asked for:"),
        ("/ratchet @acme/everyone ![](https://evil.example/x.png)", "There is no such command. What"),
        ("/ratchet accept", "`accept` needs a reason"),
        ("/ratchet run inference", "`run` needs a suite and a device class. What can be asked for:"),
        ("/ratchet approve everything", "`approve` takes one commit, with all its digits"),
    ],
)
def test_help_is_given_to_everybody(judged: tuple[World, str], comment: str, begins: str) -> None:
    world, _ = judged
    say(world, comment, author="mallory")
    (answer,) = answers(world)
    assert answer.startswith(begins)
    assert "- `/ratchet accept REASON` lets the check pass" in answer


@pytest.mark.parametrize("comment", ["nice", "see /ratchet help", "`/ratchet rerun`"])
def test_other_comments_are_nobodys_business(judged: tuple[World, str], comment: str) -> None:
    world, _ = judged
    say(world, comment)
    assert answers(world) == []


def test_an_issue_is_no_pull_request(judged: tuple[World, str]) -> None:
    world, _ = judged
    say(world, "/ratchet help", of_pull=False)
    assert answers(world) == []


def test_a_pull_request_that_is_closed_is_not_measured_again(judged: tuple[World, str]) -> None:
    world, _ = judged
    world.github.pulls[1]["state"] = "closed"
    world.happens(1, "closed")
    say(world, "/ratchet rerun")
    assert answers(world) == ["This pull request is not open, so there is nothing to do."]


@pytest.mark.parametrize("what", ["check_run", "check_suite"])
def test_the_button_of_the_check_measures_again(judged: tuple[World, str], what: str) -> None:
    world, head = judged
    payload = {
        "action": "rerequested",
        "repository": REPOSITORY,
        "installation": {"id": 9},
        "sender": {"login": "grace"},
        what: {"head_sha": head},
    }
    assert world.send(what, payload).status_code == 202
    world.settle()
    assert world.run_of(head)["status"] == "queued"
