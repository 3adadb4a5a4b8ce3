"""What GitHub did not tell of is found: its list of open pull requests is held against what is known."""

from __future__ import annotations

import pytest

from app.integrations.queue import RECONCILE
from tests.integration.forge.conftest import World

pytestmark = pytest.mark.postgres


def reconcile(world: World) -> None:
    world.tasks.tasks[RECONCILE].apply(throw=True)
    world.settle()


@pytest.fixture
def connected(world: World) -> World:
    """A repository with a pull request that was told of."""
    world.push(1, "first")
    world.happens(1, "opened")
    return world


def test_a_pull_request_that_nobody_told_of_is_found(connected: World) -> None:
    head = connected.push(2, "unheard of")
    reconcile(connected)
    assert connected.run_of(head)["status"] == "queued"


def test_a_push_that_nobody_told_of_is_found(connected: World) -> None:
    head = connected.push(1, "pushed while the service was away")
    reconcile(connected)
    assert connected.run_of(head)["status"] == "queued"


def test_a_pull_request_that_was_closed_meanwhile_is_let_go(connected: World) -> None:
    connected.github.pulls[1]["state"] = "closed"
    reconcile(connected)
    assert connected.agent.claim() is None


def test_where_nothing_was_missed_nothing_is_done(connected: World) -> None:
    calls = len(connected.github.calls)
    reconcile(connected)
    assert len(connected.github.calls) == calls


def test_a_repository_that_cannot_be_asked_is_asked_again_later(connected: World) -> None:
    head = connected.push(2, "unheard of")
    url, connected.service.forge._connection._api = connected.github.url, "http://127.0.0.1:9"  # type: ignore[union-attr]
    connected.service.forge._connection._kits.clear()  # type: ignore[union-attr]
    reconcile(connected)
    assert connected.github.runs_of(head) == []
    connected.service.forge._connection._api = url  # type: ignore[union-attr]
    connected.service.forge._connection._kits.clear()  # type: ignore[union-attr]
    reconcile(connected)
    assert connected.run_of(head)["status"] == "queued"


def test_what_has_not_changed_is_not_counted_against_the_hours_requests(connected: World) -> None:
    reconcile(connected)
    counted, unchanged = connected.github.counted, connected.github.unchanged
    for _ in range(3):
        reconcile(connected)
    lists_of_messages = 3
    assert connected.github.counted - counted == lists_of_messages
    assert connected.github.unchanged - unchanged == 3


def test_a_pull_request_that_has_not_changed_is_not_counted_either(connected: World) -> None:
    counted = connected.github.counted
    connected.happens(1, "labeled")
    assert connected.github.counted == counted
    connected.push(1, "second")
    connected.happens(1, "synchronize")
    assert connected.github.counted == counted + 1
