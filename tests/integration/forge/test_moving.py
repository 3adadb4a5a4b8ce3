"""A repository gets another name, or goes to another account, and nothing of it is lost."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from app.services.forge.want_text import want_telling
from app.store.tables import Repository
from tests.integration.forge.conftest import World
from tests.integration.forge.test_pull_life import measure
from tests.integration.forge.test_reconciling import reconcile

pytestmark = pytest.mark.postgres

NEW = "acme/sight"
MOVED = "zenith/sight"


@pytest.fixture
def connected(world: World) -> World:
    """A repository with a pull request that is being measured."""
    world.push(1, "first")
    world.happens(1, "opened")
    return world


def known(world: World) -> tuple[str, int | None, bool]:
    with world.service.database.session() as session:
        its = session.scalars(select(Repository)).one()
        return its.slug, its.installation, its.is_connected


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_what_is_to_be_told_is_told_under_the_new_name(connected: World, is_forgotten: bool) -> None:
    connected.rename(NEW)
    connected.github.is_forgotten = is_forgotten
    measure(connected, slower=1.2)
    connected.settle()
    (run,) = connected.github.check_runs.values()
    assert run["conclusion"] == "failure"
    assert len(connected.github.comments) == 1
    assert known(connected)[0] == NEW


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_pull_requests_that_nobody_told_of_are_found_under_the_new_name(
    connected: World, is_forgotten: bool
) -> None:
    connected.rename(NEW)
    connected.github.is_forgotten = is_forgotten
    head = connected.push(2, "unheard of")
    reconcile(connected)
    assert known(connected)[0] == NEW
    reconcile(connected)
    assert connected.run_of(head)["status"] == "queued"


def test_a_message_that_was_waiting_is_followed_under_the_new_name(connected: World) -> None:
    head = connected.push(1, "second")
    connected.tell_of(1, "synchronize")
    connected.tasks_of("forge.delivery")
    connected.rename(NEW)
    connected.settle()
    assert connected.run_of(head)["status"] == "queued"
    assert known(connected)[0] == NEW


def test_another_repository_that_took_the_name_is_not_taken_for_it(connected: World) -> None:
    connected.rename(NEW)
    theirs = connected.github.pulls[1]
    connected.github.squatter = theirs | {"base": theirs["base"] | {"repo": {"id": 6}}, "state": "closed"}
    connected.tell_of(1, "synchronize")
    connected.settle()
    assert known(connected)[0] == NEW
    assert connected.agent.claim() is not None, "it is still open"


def test_a_pull_request_that_is_gone_moves_nothing(connected: World) -> None:
    connected.tell_of(7, "opened")
    connected.settle()
    assert known(connected) == ("acme/vision", 9, True)


def installed(world: World, event: str, installation: int, **fields: Any) -> None:
    """Have GitHub tell of an installation."""
    assert world.send(event, {"installation": {"id": installation}, **fields}).status_code == 202
    world.settle()


def moves(world: World) -> None:
    """Have the repository go to an account with an installation of its own."""
    world.rename(MOVED)
    world.github.installed = {12}


TAKEN = {"action": "removed", "repositories_removed": [{"id": 5, "full_name": "acme/vision"}]}
GIVEN = {"action": "added", "repositories_added": [{"id": 5, "full_name": MOVED}]}


@pytest.mark.parametrize("is_overtaken", [False, True])
def test_a_repository_that_went_to_another_account_is_reached_through_its_installation(
    connected: World, is_overtaken: bool
) -> None:
    moves(connected)
    head = connected.push(2, "unheard of")
    messages = [(9, TAKEN), (12, GIVEN)]
    for installation, fields in messages[::-1] if is_overtaken else messages:
        installed(connected, "installation_repositories", installation, **fields)
    assert known(connected) == (MOVED, 12, True)
    reconcile(connected)
    assert connected.run_of(head)["status"] == "queued"


def test_what_was_to_be_told_meanwhile_is_told_there(connected: World) -> None:
    moves(connected)
    installed(connected, "installation_repositories", 9, **TAKEN)
    measure(connected, slower=1.2)
    connected.settle()
    installed(connected, "installation", 12, action="created", repositories=GIVEN["repositories_added"])
    reconcile(connected)
    with connected.service.database.session() as session:
        want_telling(session, 1)
    connected.settle()
    (run,) = connected.github.check_runs.values()
    assert run["conclusion"] == "failure"


def test_a_repository_that_was_taken_from_the_app_is_let_be(connected: World) -> None:
    installed(connected, "installation_repositories", 9, **TAKEN)
    assert known(connected) == ("acme/vision", 9, False)


def test_an_app_that_was_suspended_is_let_be_until_it_is_not(connected: World) -> None:
    installed(connected, "installation", 9, action="suspend")
    assert known(connected) == ("acme/vision", 9, False)
    installed(connected, "installation", 9, action="unsuspend")
    assert known(connected) == ("acme/vision", 9, True)


def test_another_installation_that_was_removed_is_nobodys_business(connected: World) -> None:
    for fields in (
        {"action": "deleted"},
        {"action": "deleted", "repositories": TAKEN["repositories_removed"]},
    ):
        installed(connected, "installation", 12, **fields)
        assert known(connected) == ("acme/vision", 9, True)


def test_an_app_that_nobody_used_yet_makes_no_repository(world: World) -> None:
    installed(world, "installation", 12, action="created", repositories=GIVEN["repositories_added"])
    with world.service.database.session() as session:
        assert session.scalars(select(Repository)).all() == []
