"""A service that was restored neither tells GitHub again what it knows, nor measures again what it was told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.domain.errors import UnavailableError
from app.services.backups.resume import Queued, Resumed
from app.tasks import celery_app
from app.tasks.reconciling import reconcile_pulls
from app.tasks.resuming import resume_service
from tests.factories.application import application
from tests.factories.backups import backed_up, beside, database_of, drop_like, restored
from tests.integration.conftest import HeldService
from tests.integration.forge.conftest import World
from tests.integration.forge.test_pull_life import LISTING, measure

pytestmark = pytest.mark.postgres

SAME_BY_HAND = """
    with asked as (
        insert into request (project_id, key, trigger)
        select project_id, 'by hand', 'manual' from request where id = (select request_id from "check")
        returning id
    ), shared as (
        insert into request_job (request_id, job_id) select asked.id, job_id from asked, request_job
    )
    insert into "check" (project_id, request_id, base_commit_id, head_commit_id, settings, alpha, cancelled_at)
    select project_id, asked.id, base_commit_id, head_commit_id, settings, alpha, {let_go} from asked, "check"
"""
"""Somebody asks by hand for just what the pull request's check asks for, and lets it go or not."""


class Loss:
    """A backup of a world's service, and the service that is restored from it when everything since is lost."""

    def __init__(self, world: World, folder: Path, url: str) -> None:
        self._world, self._folder, self._url = world, folder, url
        self._made = backed_up(world.service, folder / "backups")

    def restore(self) -> Iterator[World]:
        restored(self._made.path, self._url, self._folder / "data")
        with database_of(self._url) as database:
            self._world.service = HeldService(self._world.service.settings, database)
            self._world.tasks = celery_app(self._world.service)
            application(self._world.service)
            yield self._world


@pytest.fixture
def elsewhere(database_url: str) -> Iterator[str]:
    drop_like(database_url, "elsewhere%")
    yield beside(database_url, "elsewhere")
    drop_like(database_url, "elsewhere%")


def resumed(world: World) -> Resumed:
    """Have the service go on, and all done that follows."""
    done = resume_service(world.service, None)
    world.settle()
    return done


def told(world: World) -> tuple[int, list[object], list[object]]:
    """What GitHub has been told: how many writes, and what is there now."""
    github = world.github
    return (
        len(github.calls),
        [dict(run) for run in github.check_runs.values()],
        list(github.comments.values()),
    )


def ready(world: World) -> None:
    """Have the device and all that waits be ready to be measured at once."""
    with world.service.database.session() as session:
        session.execute(text("update device set available_at = null"))
        session.execute(text("update job set not_before = clock_timestamp() where state = 'queued'"))


def test_check_that_ended_before_the_backup_is_left_alone(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()
    loss, before = Loss(world, tmp_path, elsewhere), told(world)
    for its in loss.restore():
        its.settle()
        assert resumed(its).adopted == ()
        assert told(its) == before
        assert its.agent.claim() is None


def test_check_that_was_being_measured_and_has_ended_since_is_neither_told_nor_measured_again(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    assert world.agent.claim() is not None
    world.agent.prepare([LISTING], [LISTING])
    world.settle()
    loss = Loss(world, tmp_path, elsewhere)
    finish_measuring(world)
    world.settle()
    assert world.run_of(head)["conclusion"] == "failure"
    assert len(world.github.comments) == 1
    before = told(world)
    for its in loss.restore():
        its.settle()
        reconcile_pulls(its.service)
        its.settle()
        ready(its)
        assert its.agent.claim() is None
        assert told(its) == before, "while it observes"
        assert resumed(its).adopted == (1,)
        ready(its)
        assert its.agent.claim() is None
        reconcile_pulls(its.service)
        its.happens(1, "synchronize")
        assert told(its) == before
        assert (
            "its end was told before the service was restored"
            in its.client.get("/api/v1/checks/1", headers={"Authorization": f"Bearer {reader(its)}"}).text
        )


def test_head_that_came_and_was_measured_after_the_backup_is_left_alone(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    world.push(1, "first")
    world.happens(1, "opened")
    measure(world)
    world.settle()
    loss = Loss(world, tmp_path, elsewhere)
    second = world.push(1, "second")
    world.happens(1, "synchronize")
    measure(world, slower=1.2)
    world.settle()
    assert world.run_of(second)["conclusion"] == "failure"
    before = told(world)
    for its in loss.restore():
        assert len(resumed(its).adopted) == 1
        ready(its)
        assert its.agent.claim() is None
        assert told(its) == before


def test_what_nobody_measured_is_measured_and_told_after_all(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    loss = Loss(world, tmp_path, elsewhere)
    for its in loss.restore():
        assert resumed(its) == Resumed((), 0, 0)
        measure(its, slower=1.2)
        its.settle()
        assert its.run_of(head)["conclusion"] == "failure"
        assert len(its.github.runs_of(head)) == 1
        assert len(its.github.comments) == 1


@pytest.mark.parametrize("let_go", ["clock_timestamp()", "null"])
def test_jobs_that_a_pull_request_needs_are_measured_whatever_becomes_of_checks_by_hand(
    world: World, tmp_path: Path, elsewhere: str, let_go: str
) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    with world.service.database.session() as session:
        session.execute(text(SAME_BY_HAND.format(let_go=let_go)))
    loss = Loss(world, tmp_path, elsewhere)
    for its in loss.restore():
        assert resume_service(its.service, Queued.DROP) == Resumed((), 0, 0)
        its.settle()
        measure(its, slower=1.2)
        its.settle()
        assert its.run_of(head)["conclusion"] == "failure"


def test_comment_that_was_made_after_the_backup_is_edited_and_not_made_again(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    loss = Loss(world, tmp_path, elsewhere)
    measure(world, slower=1.2)
    world.settle()
    (comment,) = world.github.comments
    third = world.push(1, "third")
    for its in loss.restore():
        resumed(its)
        ready(its)
        measure(its, slower=1.5)
        its.settle()
        assert its.run_of(third)["conclusion"] == "failure"
        assert list(its.github.comments) == [comment]
        assert "+50" in its.github.comments[comment]["body"]


def test_service_does_not_go_on_while_github_cannot_be_asked(
    world: World, tmp_path: Path, elsewhere: str
) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    loss = Loss(world, tmp_path, elsewhere)
    for its in loss.restore():
        its.github.installed = set()
        its.service.__dict__.pop("forge", None)
        with pytest.raises(UnavailableError):
            resume_service(its.service, None)
        ready(its)
        assert its.agent.claim() is None


def finish_measuring(world: World) -> None:
    """Have what the agent measures end with a slower head."""
    from tests.integration.forge.test_pull_life import CASE

    agent = world.agent
    for _ in range(20):
        answer = agent.block(
            CASE,
            lambda arm, pair: (
                (0.012 if arm == "head" else 0.01) * (1 + 0.002 * ((pair * 7 + (arm == "head") * 3) % 5 - 2))
            ),
        )
        if not answer.open:
            break
    assert agent.finish().status_code == 200


def reader(world: World) -> str:
    from app.services.access import Scope, issue_token

    with world.service.database.session() as session:
        return issue_token(session, "reader", [Scope.RESULTS_READ])
