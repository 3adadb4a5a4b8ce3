"""What no worker could take is measured once one can."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from app.services.forge.serve_later import MOST_RETRIES, find_unserved
from tests.factories.agent import FakeAgent
from tests.integration.forge.conftest import SETTINGS, World
from tests.integration.forge.test_pull_life import measure

pytestmark = pytest.mark.postgres

ON_TPU = SETTINGS.replace('devices = ["cpu-*"]', 'devices = ["tpu-*", "gpu-*"]')


@pytest.fixture
def unserved(world: World) -> tuple[World, str]:
    """A pull request that no worker has the devices for, and its head."""
    world.base = world.commit("on tpu", 1, settings=ON_TPU)
    head = world.push(1, "slower", settings=ON_TPU)
    world.happens(1, "opened")
    assert world.run_of(head)["conclusion"] == "neutral"
    return world, head


def look(world: World) -> int:
    with world.service.database.session() as session:
        found = find_unserved(session, world.service.settings)
    world.settle()
    return found


def connect(world: World, worker_token: str) -> None:
    world.agent = FakeAgent(
        world.client, worker_token, name="tpu", hardware_id="tpu-1", device_class="tpu-v5e"
    )
    assert world.agent.register().status_code == 200


def disconnect(world: World) -> None:
    with world.service.database.session() as session:
        session.execute(text("update worker set last_seen_at = last_seen_at - interval '1 day'"))


def test_it_says_that_it_waits_for_a_device(unserved: tuple[World, str]) -> None:
    world, head = unserved
    output = world.run_of(head)["output"]
    assert "It is measured once such a device is connected" in output["summary"]
    assert look(world) == 0
    assert len(world.github.runs_of(head)) == 1


def test_it_is_measured_when_the_device_comes(unserved: tuple[World, str], worker_token: str) -> None:
    world, head = unserved
    connect(world, worker_token)
    assert look(world) == 1
    assert world.run_of(head)["status"] == "queued"
    assert look(world) == 0
    measure(world, slower=1.2)
    world.settle()
    assert world.run_of(head)["output"]["title"].startswith("1 regressed of 1 ")


def test_a_worker_that_comes_and_goes_has_it_measured_a_few_times_only(
    unserved: tuple[World, str], worker_token: str
) -> None:
    world, _ = unserved
    for _ in range(MOST_RETRIES):
        connect(world, worker_token)
        assert look(world) == 1
        disconnect(world)
        with world.service.database.session() as session:
            session.execute(text("update job set state = 'expired' where state = 'queued'"))
            session.execute(text("update \"check\" set state = 'complete', conclusion = 'not_measured'"))
    connect(world, worker_token)
    assert look(world) == 0
    world.push(1, "another", settings=ON_TPU)
    disconnect(world)
    world.happens(1, "synchronize")
    connect(world, worker_token)
    assert look(world) == 1
