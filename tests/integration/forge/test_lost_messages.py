"""Messages that GitHub could not deliver are asked for, each a few times, and what has arrived is left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.services.forge.recover_messages import MOST_AT_ONCE, TRIES
from tests.factories.fake_github import Mood
from tests.integration.forge.conftest import SLUG, World
from tests.integration.forge.test_reconciling import reconcile

pytestmark = pytest.mark.postgres


def fail(world: World, guid: str, *, ago: timedelta = timedelta(0), status: int = 503) -> int:
    """Have GitHub fail to deliver a message; return its id of the try."""
    tried = {
        "id": world.github.new_id(),
        "guid": guid,
        "delivered_at": (datetime.now(UTC) - ago).isoformat(),
        "status_code": status,
        "status": "Service Unavailable",
    }
    world.github.sent.insert(0, tried)
    return int(tried["id"])


def test_a_message_that_did_not_arrive_is_asked_for_and_followed(world: World) -> None:
    tried = fail(world, "lost")
    reconcile(world)
    assert world.github.asked_again == [tried]
    head = world.push(1, "a change")
    payload: dict[str, Any] = {
        "action": "opened",
        "repository": {"id": 5, "full_name": SLUG},
        "pull_request": {"number": 1},
        "installation": {"id": 9},
    }
    world.send("pull_request", payload, guid="lost")
    world.settle()
    assert world.run_of(head)["status"] == "queued"


def test_what_has_arrived_meanwhile_is_left_alone(world: World) -> None:
    world.send("ping", {}, guid="there")
    fail(world, "there")
    reconcile(world)
    assert world.github.asked_again == []


def test_what_was_delivered_at_once_is_left_alone(world: World) -> None:
    fail(world, "good", status=202)
    reconcile(world)
    assert world.github.asked_again == []


def test_a_message_is_asked_for_once_as_long_as_nothing_new_is_heard_of_it(world: World) -> None:
    fail(world, "lost")
    reconcile(world)
    reconcile(world)
    assert len(world.github.asked_again) == 1


def test_what_fails_each_time_is_given_up(world: World) -> None:
    for _ in range(TRIES + 2):
        fail(world, "hopeless")
        reconcile(world)
    assert len(world.github.asked_again) == TRIES


def test_of_several_tries_of_a_message_the_newest_is_made_again(world: World) -> None:
    fail(world, "lost", ago=timedelta(minutes=2))
    newest = fail(world, "lost")
    reconcile(world)
    assert world.github.asked_again == [newest]


def test_what_github_does_not_send_again_is_not_asked_for(world: World) -> None:
    fail(world, "old", ago=timedelta(days=4))
    reconcile(world)
    assert world.github.asked_again == []


def test_very_many_are_asked_for_in_several_goes_the_oldest_first(world: World) -> None:
    n = 4 * MOST_AT_ONCE + 5
    tries = [fail(world, f"lost {i}", ago=timedelta(minutes=n - i)) for i in range(n)]
    reconcile(world)
    assert world.github.asked_again == tries[:MOST_AT_ONCE]
    for _ in range(4):
        reconcile(world)
    assert world.github.asked_again == tries


def test_a_github_that_wants_rest_is_asked_the_next_time(world: World) -> None:
    tries = [fail(world, f"lost {i}", ago=timedelta(minutes=9 - i)) for i in range(3)]
    world.github.moods = [Mood(status=403, headers={"retry-after": "60"})]
    reconcile(world)
    assert world.github.asked_again == []
    reconcile(world)
    assert world.github.asked_again == tries


def test_one_that_github_refuses_keeps_no_other_from_being_asked_for(world: World) -> None:
    fail(world, "refused", ago=timedelta(minutes=1))
    second = fail(world, "lost")
    world.github.moods = [Mood(status=422)]
    reconcile(world)
    assert world.github.asked_again == [second]


def test_with_a_token_nothing_is_asked_for(world: World, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("github_pat_x\n")
    its = world.service.settings
    its.github_app_id, its.github_token_file = "", str(tmp_path / "token")
    fail(world, "lost")
    reconcile(world)
    assert world.github.asked_again == []
