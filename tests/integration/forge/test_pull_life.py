"""A pull request from its opening to its end: what is measured for it, and what GitHub is told."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import text

from app.services.forge.want_text import find_untold
from tests.factories.agent import latency_listing
from tests.integration.forge.conftest import SETTINGS, World
from workers import protocol

pytestmark = pytest.mark.postgres

CASE = protocol.CaseId(benchmark="resize")
LISTING = latency_listing("resize")


def measure(world: World, slower: float = 1.0) -> None:
    """Have the waiting job measured, head so many times slower than base."""
    agent = world.agent
    assert agent.claim() is not None
    answer = agent.prepare([LISTING], [LISTING])
    for _ in range(20):
        if not answer.open:
            break
        answer = agent.block(
            CASE,
            lambda arm, pair: (
                0.01
                * (slower if arm == "head" else 1.0)
                * (1 + 0.002 * ((pair * 7 + (arm == "head") * 3) % 5 - 2))
            ),
        )
    assert agent.finish().status_code == 200
    agent.pairs = 0


def test_an_opened_pull_request_is_queued_measured_and_judged(world: World) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    run = world.run_of(head)
    assert (run["name"], run["status"]) == ("ratchet", "queued")
    assert run["output"]["title"] == "queued: waiting for a worker with cpu-test-2t"
    assert world.agent.claim() is not None
    world.agent.prepare([LISTING], [LISTING])
    world.settle()
    assert world.run_of(head)["status"] == "in_progress"


def test_a_regression_fails_the_check_and_is_commented_on_once(world: World) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()
    run = world.run_of(head)
    assert (run["status"], run["conclusion"]) == ("completed", "failure")
    assert run["output"]["title"].startswith("1 regressed of 1 · worst resize/latency_p50 +20")
    (comment,) = world.github.comments.values()
    assert comment["body"].startswith("<!-- ratchet:5:1 -->\n### ✗ 1 regressed of 1")
    assert "**+20" in comment["body"]
    report = run["details_url"].removeprefix("http://testserver")
    assert f"[full report](http://testserver{report})" in comment["body"]
    assert f"[full report](http://testserver{report})" in run["output"]["summary"]
    assert "1 regressed of 1" in world.client.get(report).text, "without an account"


def test_what_goes_on_is_shown_on_the_page_that_renews_itself(world: World) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    assert world.run_of(head)["details_url"] == "http://testserver/checks/1"


def test_the_same_verdict_told_again_is_no_other_text(world: World) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()
    calls = len(world.github.calls)
    for _ in range(2):
        world.do("check.show", {"check_id": 1})
        world.settle()
    assert len(world.github.calls) == calls


def test_what_regressed_is_told_where_it_is_written_once(world: World) -> None:
    head = world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()
    with world.service.database.session() as session:
        session.execute(text("update target set told_digest = 'another'"))
        find_untold(session, older_than=timedelta(0))
    world.settle()
    (note,) = world.run_of(head)["output"]["annotations"]
    where = (note["path"], note["start_line"], note["annotation_level"])
    assert where == ("benchmarks/bench_resize.py", 12, "failure")
    assert note["title"].startswith("resize/latency_p50 +20")
    assert note["message"].startswith("resize/latency_p50 9.99 → 12.00 ms, +20")


def test_a_change_that_changes_nothing_is_not_commented_on(world: World) -> None:
    head = world.push(1, "the same")
    world.happens(1, "opened")
    measure(world)
    world.settle()
    assert world.run_of(head)["conclusion"] == "success"
    assert world.github.comments == {}


@pytest.mark.parametrize(("when", "slower", "comments"), [("always", 1.0, 1), ("never", 1.2, 0)])
def test_the_settings_say_when_it_is_commented_on(
    world: World, when: str, slower: float, comments: int
) -> None:
    asking = SETTINGS.replace('name = "acme/vision"', f'name = "acme/vision"\ncomment = "{when}"')
    world.commit("settings", 1, settings=asking)
    world.push(1, "a change", settings=asking)
    world.happens(1, "opened")
    measure(world, slower=slower)
    world.settle()
    assert len(world.github.comments) == comments


def test_the_comment_is_edited_when_a_push_makes_it_good_again(world: World) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.settle()
    world.push(1, "good again")
    world.happens(1, "synchronize")
    measure(world)
    world.settle()
    (comment,) = world.github.comments.values()
    assert "### ✓ 1 of 1 shows no regression" in comment["body"]


def test_a_new_push_supersedes_what_was_measured(world: World) -> None:
    first = world.push(1, "first")
    world.happens(1, "opened")
    second = world.push(1, "second")
    world.happens(1, "synchronize")
    run = world.run_of(first)
    assert (run["status"], run["conclusion"]) == ("completed", "cancelled")
    assert run["output"]["title"] == f"superseded by {second[:10]}"
    assert world.run_of(second)["status"] == "queued"
    lease = world.agent.claim()
    assert lease is not None
    assert lease.job.head_sha == second


def test_a_closed_pull_request_is_let_go_and_measured_again_when_it_is_reopened(world: World) -> None:
    head = world.push(1, "first")
    world.happens(1, "opened")
    world.github.pulls[1]["state"] = "closed"
    world.happens(1, "closed")
    assert world.agent.claim() is None
    assert world.run_of(head)["conclusion"] == "cancelled"
    world.github.pulls[1]["state"] = "open"
    world.happens(1, "reopened")
    assert world.run_of(head)["status"] == "queued"
    assert world.agent.claim() is not None


def test_a_merged_pull_request_is_not_commented_on(world: World) -> None:
    world.push(1, "slower")
    world.happens(1, "opened")
    measure(world, slower=1.2)
    world.github.pulls[1] |= {"state": "closed", "merged": True}
    world.happens(1, "closed")
    assert world.github.comments == {}


def test_the_base_is_where_the_branch_left_main(world: World) -> None:
    head = world.push(1, "topic")
    world.commit("main goes on", 99)
    world.happens(1, "opened")
    lease = world.agent.claim()
    assert lease is not None
    assert (lease.job.base_sha, lease.job.head_sha) == (world.base, head)


def test_settings_are_those_of_the_base(world: World) -> None:
    world.push(1, "own settings", settings=SETTINGS.replace('"inference"', '"mine"'))
    world.happens(1, "opened")
    lease = world.agent.claim()
    assert lease is not None
    assert lease.job.suite.name == "inference"


def test_a_base_without_settings_is_told_so(world: World) -> None:
    world.git("rm", "--quiet", "ratchet.toml")
    world.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "no settings")
    head = world.push(1, "with settings")
    world.happens(1, "opened")
    run = world.run_of(head)
    assert (run["status"], run["conclusion"]) == ("completed", "neutral")
    assert run["output"]["title"].startswith("not measured: main has no ratchet.toml")


def test_settings_that_are_refused_are_told_with_their_line(world: World) -> None:
    world.commit("bad settings", 3, settings="[project]\nname = 'acme/vision'\nbranhc = 'x'\n")
    head = world.push(1, "topic")
    world.happens(1, "opened")
    run = world.run_of(head)
    assert run["conclusion"] == "neutral"
    assert "ratchet.toml:3" in run["output"]["summary"]


def test_a_change_of_other_paths_is_not_measured(world: World) -> None:
    world.git("checkout", "--quiet", "--detach", "main")
    (world.toy.path / "README.md").write_text("words\n")
    world.git("add", "--all")
    world.git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "docs")
    head = world.git("rev-parse", "HEAD")
    world.git("update-ref", "refs/pull/1/head", head)
    world.git("checkout", "--quiet", "main")
    world.github.pull(1, head, world.base)
    world.happens(1, "opened")
    assert world.run_of(head)["output"]["title"].startswith("not measured: it touches no path of a suite")
    assert world.agent.claim() is None


def test_a_base_that_is_not_main_has_a_history_of_its_own(world: World) -> None:
    world.git("branch", "feature", "main")
    world.push(1, "on top of a feature")
    world.github.pulls[1]["base"]["ref"] = "feature"
    world.happens(1, "opened")
    measure(world)
    with world.service.database.session() as session:
        branches = session.execute(text("select distinct arm, branch from result order by arm")).all()
        assert [tuple(row) for row in branches] == [("base", "feature"), ("head", None)]


def test_a_project_of_another_repository_is_not_written_to(world: World) -> None:
    world.push(1, "ours")
    world.happens(1, "opened")
    with world.service.database.session() as session:
        session.execute(text("update repository set external_id = 50"))  # it was another's
    head = world.push(2, "theirs")
    world.happens(2, "opened")
    title = world.run_of(head)["output"]["title"]
    assert title == "not measured: its settings name the project acme/vision, which is of another repository"


def test_an_older_look_does_not_undo_a_newer_one(world: World) -> None:
    head = world.push(1, "first")
    world.happens(1, "opened")
    with world.service.database.session() as session:
        session.execute(text("update pull_request set seen_at = clock_timestamp() + interval '1 minute'"))
    world.push(1, "second")
    world.happens(1, "synchronize")
    assert world.run_of(head)["status"] == "queued"


def test_a_look_that_finds_nothing_new_makes_no_bundle(world: World) -> None:
    head = world.push(1, "first")
    world.happens(1, "opened")
    bundles = {path: path.stat().st_mtime_ns for path in world.service.settings.data_dir.glob("bundles/*")}
    world.happens(1, "labeled")
    again = {path: path.stat().st_mtime_ns for path in world.service.settings.data_dir.glob("bundles/*")}
    assert (len(bundles), bundles) == (1, again)
    assert len(world.github.runs_of(head)) == 1


def test_the_page_of_a_check_names_its_pull_request(world: World) -> None:
    world.service.settings.anonymous_read = True
    world.push(1, "slower", title="Make it <b>slower</b>")
    world.happens(1, "opened")
    page = world.client.get("/checks/1").text
    assert f'href="{world.service.settings.github_url}/acme/vision/pull/1">#1 ' in page
    assert "Make it &lt;b&gt;slower&lt;/b&gt;" in page
    assert "by <bdi>ada</bdi>" in page
