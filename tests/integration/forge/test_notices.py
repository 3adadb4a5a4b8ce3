"""A change for the worse is confirmed on a merged commit: its pull request is told, once, and that stays true."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.services.change_settled import find_unfollowed
from tests.factories.fake_github import Mood
from tests.integration.forge.conftest import SETTINGS
from tests.integration.forge.merging import BETTER, MIB, MORE, OTHER, Line, line, worse

pytestmark = pytest.mark.postgres

__all__ = ["line"]


def test_the_merged_pull_request_is_told_with_size_series_and_commit(line: Line) -> None:
    sha = worse(line)
    line.world.settle()
    (told,) = line.notices()
    assert told.startswith(
        "### ✗ 1 result is worse since this was merged · resize\\[batch=32\\]/peak\\_memory"
    )
    assert f"It came with `{sha[:10]}` Keep all images." in told
    assert "100 → 120 MiB".replace(" ", "\u00a0") in told
    assert "**+20.0\u00a0%**" in told
    assert "on `cpu-test-2t`" in told
    assert "`/ratchet accept REASON`" in told
    assert "/api/v1/series/1/changes" in told


@pytest.mark.parametrize("commits", [1, 3])
def test_however_it_was_merged(line: Line, commits: int) -> None:
    worse(line, commits=commits)
    line.world.settle()
    (told,) = line.notices()
    assert ("one of 3 commits" in told) is (commits == 3)


def test_where_several_pull_requests_can_be_the_cause_the_measured_one_is_told_and_the_commits_are_named(
    line: Line,
) -> None:
    line.world.push(2, "another change")
    line.world.happens(2, "opened")
    other = line.merge(2, "Read ahead")
    sha = worse(line)
    line.world.settle()
    (told,) = line.notices(1)
    assert line.notices(2) == []
    assert told.index(f"- `{sha[:10]}` Keep all images") < told.index(f"- `{other[:10]}` Read ahead")
    assert "one of 2 commits" in told


def test_several_series_are_one_comment(line: Line) -> None:
    for sha in line.commits:
        line.measure(10 * MIB, sha=sha, **OTHER)
    worse(line)
    line.world.settle()
    line.measure(20 * MIB, **OTHER)
    line.world.settle()
    (told,) = line.notices()
    assert "2 results are worse" in told
    assert told.index("decode[") < told.index("resize[")


def test_what_was_told_is_not_told_again(line: Line) -> None:
    worse(line)
    line.world.settle()
    calls = len(line.world.github.calls)
    for _ in range(3):
        line.grow("one more")
        line.measure(MORE)
    line.world.settle()
    assert len(line.world.github.calls) == calls


def test_an_improvement_is_not_told(line: Line) -> None:
    line.merge(1)
    line.measure(80 * MIB)
    assert [change["worse"] for change in line.changes()] == [False]
    line.world.settle()
    assert line.notices() == []


def test_what_is_the_machines_blames_nobody(line: Line) -> None:
    worse(line)
    with line.world.service.database.session() as session:
        session.execute(text("update change_point set label = 'machine_change'"))
    line.world.settle()
    assert line.notices() == []


def test_another_branch_is_nobodys_business(line: Line) -> None:
    line.merge(1)
    with line.world.service.database.session() as session:
        session.execute(text("update repository set branch = 'release'"))
    line.measure(MORE)
    line.world.settle()
    assert line.notices() == []


def test_a_commit_that_came_with_no_pull_request_is_asked_for_once(line: Line) -> None:
    line.grow("pushed by hand")
    line.measure(MORE)
    line.world.settle()
    assert line.world.github.comments == {}
    with line.world.service.database.session() as session:
        assert find_unfollowed(session, older_than=timedelta(0)) == 0


def test_what_was_merged_long_ago_is_not_told(line: Line) -> None:
    worse(line, merged_at="2020-01-01T00:00:00Z")
    line.world.settle()
    assert line.notices() == []


def test_settings_that_want_no_comment_are_heeded(line: Line) -> None:
    asking = SETTINGS.replace('name = "acme/vision"', 'name = "acme/vision"\ncomment = "never"')
    line.commits.append(line.world.commit("no comments", 7, settings=asking))
    line.measure(100 * MIB)
    line.world.push(1, "a change", settings=asking)
    sha = line.world.commit("Keep all images", 8, settings=asking)
    line.commits.append(sha)
    line.world.github.merge(1, sha)
    line.measure(MORE)
    line.world.settle()
    assert line.changes()[0]["worse"] is True
    assert line.notices() == []


def test_what_turns_out_to_be_none_is_taken_back_in_place(line: Line) -> None:
    worse(line)
    line.world.settle()
    line.measure(BETTER)
    line.world.settle()
    assert [change["state"] for change in line.changes(state="all")].count("corrected") == 1
    (told,) = line.notices()
    assert told.startswith("### ✓ Taken back: nothing is known to be worse since this was merged")
    assert "later results of its commit say otherwise |" in told


def test_what_was_taken_back_before_anybody_was_told_is_not_told(line: Line) -> None:
    worse(line)
    line.measure(BETTER)
    line.world.settle()
    assert line.notices() == []


@pytest.mark.parametrize("is_taken_back", [False, True])
def test_a_message_that_was_lost_is_found_in_the_changes(line: Line, is_taken_back: bool) -> None:
    worse(line)
    if is_taken_back:
        line.world.settle()
        line.measure(BETTER)
    with line.world.service.database.session() as session:
        session.execute(text("delete from outbox where topic = 'change.follow'"))
    line.world.settle()
    with line.world.service.database.session() as session:
        assert find_unfollowed(session, older_than=timedelta(0)) == 1
    line.world.settle()
    (told,) = line.notices()
    assert told.startswith("### ✓ Taken back" if is_taken_back else "### ✗ 1 result is worse")
    with line.world.service.database.session() as session:
        assert find_unfollowed(session, older_than=timedelta(0)) == 0


def test_an_answer_that_never_came_makes_no_second_comment(line: Line) -> None:
    worse(line)
    line.world.github.moods = [Mood(cut_after=True)]
    line.world.settle()
    assert len(line.notices()) == 1


def test_nothing_else_is_posted_on_the_merged_pull_request(line: Line) -> None:
    worse(line)
    line.world.settle()
    assert [comment["issue"] for comment in line.world.github.comments.values()] == [1]
    assert len(line.world.github.comments) == len(line.notices())


def test_the_message_waits_for_the_other_series_of_its_commit(line: Line) -> None:
    worse(line)
    with line.world.service.database.session() as session:
        query = (
            "select extract(epoch from available_at - created_at) from outbox where topic = 'change.follow'"
        )
        assert session.scalar(text(query)) > 30
