"""A merge queue's groups: measured against what is below them, told by one check, let go when they are no more."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.domain.errors import DataError
from app.domain.forge import Place
from app.services.announce_results import find_unexamined
from app.services.forge.look_at_commits import look_at_commits
from app.services.forge.receive_delivery import find_lost_deliveries
from app.services.forge.want_text import find_untold
from app.services.retention.chore import prune_for_a_while
from tests.integration.forge.conftest import SETTINGS, SLUG, World
from tests.integration.forge.test_branch import asked
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres

REPOSITORY = {"id": 5, "full_name": SLUG, "default_branch": "main"}


class Queue:
    """The merge queue of `main`: each group is one commit on top of the branch, or of the group below."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.groups: dict[str, dict[str, Any]] = {}

    def add(self, number: int, on: str = "main", settings: str = SETTINGS) -> str:
        """Have the queue make a group of a pull request; return its head. Nobody is told yet."""
        world = self.world
        base = world.git("rev-parse", on)
        world.git("checkout", "--quiet", "--detach", base)
        head = world.commit(f"merge {number}", 100 + number, settings)
        ref = f"refs/heads/gh-readonly-queue/main/pr-{number}-{base}"
        world.git("update-ref", ref, head)
        world.git("checkout", "--quiet", "main")
        self.groups[head] = {
            "head_sha": head,
            "head_ref": ref,
            "base_sha": base,
            "base_ref": "refs/heads/main",
            "head_commit": {"id": head},
        }
        return head

    def tells(self, head: str, action: str, *, settle: bool = True) -> None:
        """Have GitHub tell of a group, and all done that follows."""
        payload = {
            "action": action,
            "merge_group": self.groups[head],
            "repository": REPOSITORY,
            "installation": {"id": 9},
        }
        assert self.world.send("merge_group", payload).status_code == 202
        if settle:
            self.world.settle()


@pytest.fixture
def queue(world: World) -> Queue:
    """The queue, and pull request 1 on its way into it."""
    world.push(1, "a change")
    return Queue(world)


def test_a_group_is_queued_measured_and_judged(queue: Queue) -> None:
    world = queue.world
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    assert asked(world) == [("merge_group", world.base, head, 0)]
    run = world.run_of(head)
    assert (run["name"], run["status"]) == ("ratchet", "queued")
    measure(world, slower=1.2)
    world.settle()
    run = world.run_of(head)
    assert run["conclusion"] == "failure"
    assert run["output"]["title"].startswith("1 regressed of 1")
    assert world.github.comments == {}, "nobody reads a comment on a group"


def test_the_same_message_again_is_measured_once(queue: Queue) -> None:
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    queue.tells(head, "checks_requested")
    assert len(asked(queue.world)) == len(queue.world.github.runs_of(head)) == 1


def test_a_group_that_is_destroyed_is_let_go(queue: Queue) -> None:
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    queue.tells(head, "destroyed")
    run = queue.world.run_of(head)
    assert (run["conclusion"], run["output"]["title"]) == ("cancelled", "the merge queue has let it go")
    assert queue.world.agent.claim() is None


def test_a_group_that_is_no_more_is_forgotten_after_a_while(queue: Queue) -> None:
    queue.world.push(2, "another")
    gone, here = queue.add(1), queue.add(2)
    for head, action in ((gone, "checks_requested"), (gone, "destroyed"), (here, "checks_requested")):
        queue.tells(head, action)
    service = queue.world.service
    with service.database.session() as session:
        session.execute(text("update merge_group set created_at = created_at - interval '91 days'"))
    prune_for_a_while(service.database, service.settings)
    with queue.world.service.database.session() as session:
        assert session.scalars(text("select head_sha from merge_group")).all() == [here]
        assert session.scalar(text('select count(*) from "check"')) == 2


def test_messages_that_overtake_each_other_measure_nothing(queue: Queue) -> None:
    head = queue.add(1)
    queue.tells(head, "destroyed")
    queue.tells(head, "checks_requested")
    assert asked(queue.world) == []
    assert queue.world.github.runs_of(head) == []


def test_a_verdict_of_a_group_that_was_merged_stays(queue: Queue) -> None:
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    measure(queue.world)
    queue.world.settle()
    queue.tells(head, "destroyed")
    assert [run["conclusion"] for run in queue.world.github.runs_of(head)] == ["success"]


def test_a_group_that_touches_no_path_is_told_so(queue: Queue) -> None:
    world = queue.world
    elsewhere = SETTINGS.replace('"src/", "benchmarks/"', '"elsewhere/"')
    world.commit("measures elsewhere", 1, settings=elsewhere)
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    run = world.run_of(head)
    assert (run["status"], run["conclusion"]) == ("completed", "neutral"), "which GitHub takes for a pass"
    assert run["output"]["title"].startswith("not measured: it touches no path of a suite")


def test_settings_are_those_of_the_branch_also_on_top_of_another_group(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    mine = SETTINGS.replace('"inference"', '"mine"')
    first = queue.add(1, settings=mine)
    second = queue.add(2, on=first, settings=mine)
    for head in (first, second):
        queue.tells(head, "checks_requested")
    assert [job[1:3] for job in asked(world)] == [(world.base, first), (first, second)]
    lease = world.agent.claim()
    assert lease is not None
    assert lease.job.suite.name == "inference"


def test_a_base_that_is_not_merged_yet_is_in_no_history(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    first = queue.add(1)
    second = queue.add(2, on=first)
    for head in (first, second):
        queue.tells(head, "checks_requested")
        measure(world)
    with world.service.database.session() as session:
        find_unexamined(session, world.service.settings)
        rows = session.execute(
            text("select c.sha, r.branch from result r join commit c on c.id = r.commit_id order by r.id")
        )
        told = dict.fromkeys(map(tuple, rows))
    assert list(told) == [(world.base, "main"), (first, None), (second, None)]


def test_what_a_queue_makes_is_measured_by_nobodys_hand(queue: Queue) -> None:
    world = queue.world
    world.github.pulls[1]["head"]["repo"]["id"] = 6
    head = queue.add(1)
    place, ref = (
        Place(SLUG),
        world.git("for-each-ref", "--format=%(refname:short)", "refs/heads/gh-readonly-queue"),
    )
    assert ref
    assert world.service.forge is not None
    for named in (ref, head):
        with pytest.raises(DataError, match="has no branch"):
            look_at_commits(world.service.forge, world.service.settings, place, 5, "main", named, None)


def test_a_group_waits_until_the_one_below_it_is_known(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    first = queue.add(1)
    second = queue.add(2, on=first)
    queue.tells(second, "checks_requested", settle=False)
    for topic in ("forge.delivery", "group.follow"):
        world.tasks_of(topic)
    assert asked(world) == []
    queue.tells(first, "checks_requested")
    assert {job[2] for job in asked(world)} == {first, second}


def test_a_group_on_top_of_one_that_nobody_told_of_is_not_measured(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    second = queue.add(2, on=queue.add(1))
    queue.tells(second, "checks_requested", settle=False)
    world.tasks_of("forge.delivery")
    _grow_old(world, minutes=11)
    world.settle()
    assert world.run_of(second)["output"]["title"].startswith("not measured: it is on top of a group")


def test_a_group_on_top_of_one_that_was_merged_meanwhile_is_measured(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    first = queue.add(1)
    second = queue.add(2, on=first)
    world.git("merge", "--quiet", "--ff-only", first)
    queue.tells(second, "checks_requested")
    assert [job[1:3] for job in asked(world)] == [(first, second)]


def test_nothing_of_a_fork_is_run_nor_what_is_on_top_of_it(queue: Queue) -> None:
    world = queue.world
    world.push(2, "another change")
    world.push(3, "a third one")
    world.github.pulls[1]["head"]["repo"]["id"] = 6
    first = queue.add(1)
    second = queue.add(2, on=first)
    third = queue.add(3, on=second)
    for head in (first, second, third):
        queue.tells(head, "checks_requested")
    titles = [world.run_of(head)["output"]["title"] for head in (first, second, third)]
    assert "it comes from a fork" in titles[0]
    assert "whose code is not run" in titles[1]
    assert "whose code is not run" in titles[2]
    assert asked(world) == []


def test_what_was_accepted_of_the_pull_request_is_accepted_of_its_group(queue: Queue) -> None:
    world = queue.world
    world.happens(1, "opened")
    with world.service.database.session() as session:
        session.execute(text("update pull_request set accepted_sha = head_sha, accepted_by = 'grace'"))
    measure(world)  # the pull request's own
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    measure(world, slower=1.2)
    world.settle()
    assert world.run_of(head)["conclusion"] == "success"
    assert world.run_of(head)["output"]["title"].startswith("accepted by grace: 1 regressed")


def test_the_button_measures_a_group_again(queue: Queue) -> None:
    world = queue.world
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    measure(world, slower=1.2)
    world.settle()
    again = {"action": "rerequested", "check_run": {"head_sha": head}, "sender": {"login": "grace"}}
    world.send("check_run", {"repository": REPOSITORY, "installation": {"id": 9}, **again})
    world.settle()
    assert world.run_of(head)["status"] == "queued"
    measure(world)
    world.settle()
    assert [run["conclusion"] for run in world.github.runs_of(head)] == ["failure", "success"]


def test_a_branch_that_is_gone_is_told(queue: Queue) -> None:
    head = queue.add(1)
    queue.world.git("update-ref", "-d", queue.groups[head]["head_ref"])
    queue.tells(head, "checks_requested")
    assert queue.world.run_of(head)["conclusion"] == "neutral"
    assert "is gone" in queue.world.run_of(head)["output"]["title"]


def test_a_branch_that_is_named_otherwise_is_told(queue: Queue) -> None:
    head = queue.add(1)
    queue.groups[head]["head_ref"] = "refs/heads/train/1"
    queue.tells(head, "checks_requested")
    assert "does not tell which pull request" in queue.world.run_of(head)["output"]["title"]


def test_a_group_that_cannot_be_looked_at_is_given_up_in_the_end(queue: Queue) -> None:
    world = queue.world
    head = queue.add(1)
    del world.github.pulls[1]
    queue.groups[head]["base_sha"] = "0" * 40
    queue.tells(head, "checks_requested", settle=False)
    world.tasks_of("forge.delivery")
    _grow_old(world, minutes=361)
    world.settle()
    assert "could not be looked at" in world.run_of(head)["output"]["title"]


def test_a_task_that_died_is_found(queue: Queue) -> None:
    world = queue.world
    head = queue.add(1)
    queue.tells(head, "checks_requested", settle=False)
    world.tasks_of("forge.delivery")
    _lose_messages(world)
    with world.service.database.session() as session:
        find_lost_deliveries(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["status"] == "queued"


def test_a_verdict_that_nobody_told_is_found(queue: Queue) -> None:
    world = queue.world
    head = queue.add(1)
    queue.tells(head, "checks_requested")
    measure(world)
    world.tasks_of("check.conclude")
    _lose_messages(world)
    with world.service.database.session() as session:
        find_untold(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["conclusion"] == "success"


def _lose_messages(world: World) -> None:
    with world.service.database.session() as session:
        session.execute(text("update outbox set sent_at = clock_timestamp() where sent_at is null"))


def _grow_old(world: World, *, minutes: int) -> None:
    with world.service.database.session() as session:
        session.execute(
            text("update merge_group set created_at = created_at - make_interval(mins => :m)"), {"m": minutes}
        )
