"""What GitHub is told in its bad moods: the newest, once, and as slowly as it asks for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from app.services.forge.want_text import find_untold
from app.store.tables import Repository, Target
from tests.factories.fake_github import LOGIN, Mood
from tests.integration.forge.conftest import World
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres


def targets(world: World) -> list[Target]:
    with world.service.database.session() as session:
        return list(session.scalars(select(Target).order_by(Target.id)))


def write(world: World) -> None:
    """Have the next thing told, as if it were time."""
    with world.service.database.session() as session:
        session.execute(text("update repository set busy_until = null"))
    world.do("forge.tell", {"repository_id": 1})


def opened(world: World, *moods: Mood) -> str:
    """Have a pull request opened while GitHub is in these moods; return its head."""
    head = world.push(1, "a change")
    world.github.moods = list(moods)
    world.happens(1, "opened")
    return head


def test_a_refusal_for_the_moment_is_tried_again(world: World) -> None:
    head = opened(world, Mood(status=502, times=3))
    assert world.run_of(head)["status"] == "queued"
    assert [target.error for target in targets(world)] == [None]


def test_an_answer_that_never_came_makes_no_second_check_run(world: World) -> None:
    head = opened(world, Mood(cut_after=True))
    assert len(world.github.runs_of(head)) == 1
    assert targets(world)[0].external_id == world.run_of(head)["id"]


def test_an_answer_that_never_came_makes_no_second_comment(world: World) -> None:
    opened(world)
    measure(world, slower=1.2)
    world.github.moods = [Mood(status=502, times=0), Mood(cut_after=True, times=3)]
    world.settle()
    assert len(world.github.comments) == 1


def test_somebody_elses_comment_with_our_marker_is_not_edited(world: World) -> None:
    theirs = {"id": 7, "issue": 1, "body": "<!-- ratchet:5:1 -->", "user": {"login": "eve"}}
    world.github.comments[7] = theirs | {"performed_via_github_app": None}
    opened(world)
    measure(world, slower=1.2)
    world.github.moods = [Mood(status=502, times=2)]
    world.settle()
    assert world.github.comments[7]["body"] == "<!-- ratchet:5:1 -->"
    assert len(world.github.comments) == 2


@pytest.mark.parametrize(
    ("status", "headers", "least_s"),
    [
        (403, {"retry-after": "90"}, 80),
        (429, {"retry-after": "120"}, 110),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "4102444800"}, 3600),
    ],
)
def test_github_is_given_the_time_that_it_asks_for(
    world: World, status: int, headers: dict[str, str], least_s: float
) -> None:
    world.push(1, "a change")
    world.github.moods = [Mood(status=status, headers=headers)]
    world.tell_of(1, "opened")
    world.tasks_of("forge.delivery")
    world.tasks_of("pull.follow")
    write(world)
    with world.service.database.session() as session:
        (repository,) = session.scalars(select(Repository))
        assert repository.busy_until is not None
        assert (repository.busy_until - datetime.now(UTC)).total_seconds() > least_s
    world.do("forge.tell", {"repository_id": 1})
    assert world.github.calls == [], "it is not asked before"


def test_what_is_refused_for_good_is_kept_with_githubs_words_and_not_tried_again(world: World) -> None:
    opened(world, Mood(status=422, times=50))
    (target,) = targets(world)
    assert target.error == "POST /repos/acme/vision/check-runs: 422 not now"
    assert len(world.github.moods) == 1
    assert world.github.moods[0].times == 49


def test_a_verdict_that_nobody_wished_to_tell_is_found(world: World) -> None:
    head = opened(world)
    measure(world, slower=1.2)
    world.tasks_of("check.conclude")
    with world.service.database.session() as session:
        session.execute(text("update outbox set sent_at = clock_timestamp() where sent_at is null"))
    with world.service.database.session() as session:
        find_untold(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["conclusion"] == "failure"


def test_what_was_refused_is_tried_again_after_an_hour(world: World) -> None:
    head = opened(world, Mood(status=403))
    assert world.github.runs_of(head) == []
    with world.service.database.session() as session:
        late = "update target set not_before = not_before - interval '1 hour'"
        session.execute(text(late))
    with world.service.database.session() as session:
        find_untold(session, older_than=timedelta(0))
    world.settle()
    assert world.run_of(head)["status"] == "queued"


def test_a_limit_that_is_told_in_words_alone_is_one(world: World) -> None:
    limited = Mood(status=403, message="You have exceeded a secondary rate limit")
    head = opened(world, limited)
    assert [target.error for target in targets(world)] == [None]
    assert world.run_of(head)["status"] == "queued"


def test_one_text_that_cannot_be_told_keeps_no_other_back(world: World) -> None:
    first = opened(world, Mood(status=502))
    second = world.push(2, "another")
    world.github.moods = [Mood(status=502, times=1)]
    world.happens(2, "opened")
    assert world.run_of(first)["status"] == world.run_of(second)["status"] == "queued"


def test_another_pull_request_with_the_same_head_does_not_replace_the_verdict(world: World) -> None:
    head = opened(world)
    measure(world, slower=1.2)
    world.settle()
    world.git("update-ref", "refs/pull/2/head", head)
    world.github.pull(2, head, world.base, fork=True)
    world.happens(2, "opened")
    assert world.run_of(head)["conclusion"] == "failure"


def test_something_else_to_say_is_tried_again(world: World) -> None:
    head = opened(world, Mood(status=422))
    assert world.agent.claim() is not None
    assert world.agent.beat().status_code == 200
    world.settle()
    assert world.run_of(head)["status"] == "in_progress"


def test_a_comment_that_somebody_deleted_is_made_again_where_there_is_something_new(world: World) -> None:
    opened(world)
    measure(world, slower=1.2)
    world.settle()
    world.github.comments.clear()
    world.push(1, "slower still")
    world.happens(1, "synchronize")
    measure(world, slower=1.3)
    world.settle()
    assert world.github.comments == {}, "the first try finds that it is gone"
    world.push(1, "slower yet")
    world.happens(1, "synchronize")
    measure(world, slower=1.4)
    world.settle()
    assert len(world.github.comments) == 1


def test_a_pull_request_that_is_gone_is_not_asked_for_again(world: World) -> None:
    world.tell_of(7, "opened")
    world.settle()
    assert world.github.calls == []


def test_many_changes_are_one_write_of_the_newest(world: World) -> None:
    opened(world)
    calls = len(world.github.calls)
    measure(world, slower=1.2)
    world.tasks_of("check.show", "check.conclude", "check.show")
    write(world)
    (method, _, body) = world.github.calls[calls]
    assert (method, body["status"]) == ("PATCH", "completed")


def test_with_a_token_commit_statuses_are_written(world: World, tmp_path: Any) -> None:
    its = world.service.settings
    (tmp_path / "token").write_text("github_pat_x\n")
    its.github_app_id, its.github_token_file = "", str(tmp_path / "token")
    world.github.is_app = False
    head = opened(world)
    measure(world, slower=1.2)
    world.settle()
    states = [(status["sha"], status["state"], status["context"]) for status in world.github.statuses]
    assert states[0] == (head, "pending", "ratchet")
    assert states[-1] == (head, "failure", "ratchet")
    assert world.github.check_runs == {}
    (comment,) = world.github.comments.values()
    assert comment["user"]["login"] == LOGIN
