"""A part of a check that is measured again, or besides: what the others said stands beside it."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from app.store.tables import Check, Job
from tests.factories.agent import FakeAgent
from tests.integration.forge.conftest import SETTINGS, Begin, World
from tests.integration.forge.test_commands import answers, say
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres

GATE = "\n[gate]"
TWO_SUITES = SETTINGS.replace(
    GATE,
    """
[[suite]]
name = "training"
benchmarks = "benchmarks/bench_*.py"
devices = ["cpu-test-*"]

[[suite]]
name = "serving of large models"
benchmarks = "benchmarks/bench_*.py"
devices = ["cpu-test-*"]
on = []
"""
    + GATE,
)


@pytest.fixture
def judged(world: World, begin: Begin) -> tuple[World, str]:
    """A pull request with two suites, of which the first regressed, and its head."""
    begin(fail_in_one, world)
    return world, world.github.pulls[1]["head"]["sha"]


def fail_in_one(world: World) -> None:
    """Have the check of a pull request fail in one of two suites."""
    world.github.writers = {"grace"}
    world.base = world.commit("two suites", 1, settings=TWO_SUITES)
    head = world.push(1, "slower", settings=TWO_SUITES)
    world.happens(1, "opened")
    measure(world, slower=1.2)
    measure(world)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("1 regressed of 2 ")


def jobs(world: World) -> list[tuple[str, str, str]]:
    with world.service.database.session() as session:
        rows = session.scalars(select(Job).order_by(Job.id))
        return [(job.suite, job.device_class, job.state) for job in rows]


def test_one_suite_is_measured_again_and_the_others_stand(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet rerun inference")
    assert [job for job in jobs(world) if job[2] == "queued"] == [("inference", "cpu-test-2t", "queued")]
    measure(world)
    world.settle()
    run = world.run_of(head)
    assert run["conclusion"] == "success"
    assert run["output"]["title"] == "passed: 2 of 2 show no regression"


def test_what_the_others_said_still_counts(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet rerun training")
    measure(world)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("1 regressed of 2 ")


def test_a_part_asked_for_while_the_rest_is_measured_waits_for_it(world: World) -> None:
    world.github.writers = {"grace"}
    world.base = world.commit("two suites", 1, settings=TWO_SUITES)
    head = world.push(1, "slower", settings=TWO_SUITES)
    world.happens(1, "opened")
    measure(world, slower=1.2)
    say(world, "/ratchet rerun inference")
    states = [("inference", "succeeded"), ("training", "queued"), ("inference", "queued")]
    assert [(suite, state) for suite, _, state in jobs(world)] == states
    measure(world)
    assert world.run_of(head)["status"] == "queued"
    measure(world)
    world.settle()
    assert world.run_of(head)["output"]["title"] == "passed: 2 of 2 show no regression"


def test_what_stood_beside_it_is_let_go_with_it(world: World) -> None:
    world.github.writers = {"grace"}
    world.base = world.commit("two suites", 1, settings=TWO_SUITES)
    world.push(1, "slower", settings=TWO_SUITES)
    world.happens(1, "opened")
    say(world, "/ratchet run serving of large models on cpu-*")
    world.push(1, "another", settings=TWO_SUITES)
    world.happens(1, "synchronize")
    assert [state for _, _, state in jobs(world)] == ["cancelled"] * 3 + ["queued"] * 2


def test_a_rerun_of_all_repeats_what_was_asked_for_besides(judged: tuple[World, str]) -> None:
    world, _ = judged
    say(world, "/ratchet run serving of large models on cpu-*")
    measure(world)
    world.settle()
    say(world, "/ratchet rerun")
    queued = [suite for suite, _, state in jobs(world) if state == "queued"]
    assert queued == ["inference", "training", "serving of large models"]


def test_a_suite_is_measured_on_other_devices_besides(judged: tuple[World, str], worker_token: str) -> None:
    world, head = judged
    other = FakeAgent(world.client, worker_token, name="other", hardware_id="gpu-1", device_class="gpu-test")
    assert other.register().status_code == 200
    say(world, "/ratchet run training on gpu-*")
    assert jobs(world)[2:] == [("training", "gpu-test", "queued")]
    world.agent = other
    measure(world, slower=1.3)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("2 regressed of 3 ")


def test_a_suite_that_no_pull_request_starts_can_be_asked_for(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet run serving of large models on cpu-*")
    measure(world)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("1 regressed of 3 ")


def test_what_was_asked_for_besides_stays_until_the_next_push(judged: tuple[World, str]) -> None:
    world, head = judged
    say(world, "/ratchet run serving of large models on cpu-*")
    world.happens(1, "edited")
    assert len(world.github.runs_of(head)) == 2
    with world.service.database.session() as session:
        assert len(session.scalars(select(Check)).all()) == 2


def test_a_suite_can_be_asked_for_where_nothing_is_measured_by_itself(world: World) -> None:
    world.github.writers = {"grace"}
    world.push(1, "first")
    world.happens(1, "opened")
    head = world.commit("docs only", 1, **{"README.md": "words\n"})
    world.git("update-ref", "refs/pull/2/head", head)
    world.git("reset", "--quiet", "--hard", "HEAD~1")
    world.github.pull(2, head, world.base)
    world.happens(2, "opened")
    assert world.run_of(head)["conclusion"] == "neutral"
    say(world, "/ratchet run inference on cpu-*", number=2)
    assert world.run_of(head)["status"] == "queued"
    world.happens(2, "edited")
    assert world.run_of(head)["status"] == "queued"


@pytest.mark.parametrize(
    ("comment", "answer"),
    [
        ("/ratchet rerun nothing", "There is no suite `nothing`; there are: `inference`, `training`, "),
        ("/ratchet run nothing on cpu-*", "There is no suite `nothing`; there are: "),
        (
            "/ratchet run training on tpu-*",
            "No worker has a device of class `tpu-*`; connected are: `cpu-test-2t`.",
        ),
    ],
)
def test_what_there_is_not_is_answered(judged: tuple[World, str], comment: str, answer: str) -> None:
    world, head = judged
    say(world, comment)
    (said,) = answers(world)
    assert said.startswith(answer)
    assert len(world.github.runs_of(head)) == 1
