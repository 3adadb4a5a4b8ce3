"""A push to the default branch: its newest commit joins the history, measured against the one before."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select, text

from app.store.tables import Commit, Job, Request, Result, Schedule
from tests.integration.forge.conftest import SETTINGS, SLUG, World
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres


def push(world: World, ref: str = "refs/heads/main", *, is_settled: bool = True, **fields: Any) -> None:
    """Have GitHub tell of a push, and all done that follows."""
    repository = {"id": 5, "full_name": SLUG, "default_branch": "main"}
    payload = {"ref": ref, "repository": repository, "installation": {"id": 9}, **fields}
    assert world.send("push", payload).status_code == 202
    if is_settled:
        world.settle()


def push_of(world: World, n: int, *, is_settled: bool = True) -> str:
    """Have a new commit pushed; return it."""
    sha = world.commit(f"push {n}", 10 + n)
    push(world, is_settled=is_settled)
    return sha


def asked(world: World) -> list[tuple[str, str, str, int]]:
    """Return trigger, base, head and band of every job, in order."""
    with world.service.database.session() as session:
        triggers = list(session.scalars(select(Request.trigger).order_by(Request.id)))
        jobs = session.scalars(select(Job).order_by(Job.id))
        return [
            (trigger, job.spec["base_sha"], job.spec["head_sha"], job.band)
            for trigger, job in zip(triggers, jobs, strict=True)
        ]


def test_the_newest_commit_is_measured_against_the_one_before(world: World) -> None:
    head = world.commit("second", 2)
    push(world)
    assert asked(world) == [("push", world.base, head, 10)]
    assert world.github.calls == [], "nothing is written on GitHub for it"


def test_both_commits_join_the_history_in_their_order(world: World) -> None:
    head = world.commit("second", 2)
    push(world)
    measure(world)
    with world.service.database.session() as session:
        rows = session.execute(
            select(Commit.sha, Result.branch).join(Result, Result.commit_id == Commit.id).distinct()
        )
        assert {tuple(row) for row in rows} == {(world.base, "main"), (head, "main")}
        parents = dict(map(tuple, session.execute(select(Commit.sha, Commit.parent_sha))))
        assert parents[head] == world.base


def test_of_pushes_in_between_the_newest_counts_and_their_line_is_known(world: World) -> None:
    first = world.commit("second", 2)
    push(world)
    middle, last = world.commit("third", 3), world.commit("fourth", 4)
    push(world)
    assert [job[1:3] for job in asked(world)] == [(world.base, first), (first, last)]
    with world.service.database.session() as session:
        parents = dict(map(tuple, session.execute(select(Commit.sha, Commit.parent_sha))))
        assert (parents[last], parents[middle]) == (middle, first)


def test_the_same_push_again_is_measured_once(world: World) -> None:
    world.commit("second", 2)
    push(world)
    push(world)
    assert len(asked(world)) == 1


def test_a_history_that_was_written_anew_begins_at_the_parent(world: World) -> None:
    world.commit("second", 2)
    push(world)
    world.git("reset", "--quiet", "--hard", world.base)
    other = world.commit("another second", 22)
    push(world)
    assert asked(world)[-1][1:3] == (world.base, other)


def test_settings_are_followed_however_many_pushes_wait(world: World) -> None:
    for n in range(3):
        push_of(world, n)
    world.commit(
        "with a schedule", 9, settings=SETTINGS.replace("paths =", 'on = ["push", "nightly"]\npaths =')
    )
    push(world, is_settled=False)
    world.tasks_of("forge.delivery", "branch.follow")
    with world.service.database.session() as session:
        assert session.scalars(select(Schedule.name)).all() == ["nightly"]
    assert len(asked(world)) == 3


def waiting(world: World) -> int:
    """Return how often the branch waits to be looked at."""
    with world.service.database.session() as session:
        query = "select count(*) from outbox where topic = 'branch.follow' and sent_at is null"
        return session.scalar(text(query)) or 0


def test_pushes_that_come_faster_than_they_are_measured_become_one(world: World) -> None:
    first, second, third = (push_of(world, n) for n in range(3))
    push_of(world, 3, is_settled=False)
    last = push_of(world, 4, is_settled=False)
    world.tasks_of("forge.delivery", "branch.follow")
    lines = [(world.base, first), (first, second), (second, third)]
    assert [job[1:3] for job in asked(world)] == lines
    assert waiting(world) == 1, "it is looked at again"
    measure(world)
    world.settle()
    assert [job[1:3] for job in asked(world)] == [*lines, (third, last)]


@pytest.mark.parametrize(
    "fields",
    [{"ref": "refs/heads/topic"}, {"ref": "refs/tags/v1"}, {"ref": "refs/heads/main", "deleted": True}],
)
def test_other_pushes_are_nobodys_business(world: World, fields: dict[str, Any]) -> None:
    world.commit("second", 2)
    push(world, **fields)
    assert asked(world) == []


@pytest.mark.parametrize(
    "its_settings",
    [
        SETTINGS.replace("paths =", 'on = ["pull_request"]\npaths ='),
        SETTINGS.replace('paths = ["src/", "benchmarks/"]', 'paths = ["elsewhere/"]'),
        "[project]\nname = 5\n",
    ],
)
def test_what_no_suite_asks_for_is_not_measured(world: World, its_settings: str) -> None:
    world.commit("second", 2, settings=its_settings)
    push(world)
    assert asked(world) == []


def test_the_first_commit_of_all_has_nothing_before_it(world: World) -> None:
    push(world)
    assert asked(world) == []


def test_a_project_of_another_repository_is_not_written_to(world: World) -> None:
    world.commit("second", 2)
    push(world)
    with world.service.database.session() as session:
        session.execute(text("update repository set external_id = 50"))  # it was another's
    world.commit("third", 3)
    push(world)
    assert len(asked(world)) == 1
