"""The door for GitHub's messages: whose they are, how large, how often, and what is made of what nobody expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from app.store.tables import Delivery, Repository
from tests.integration.forge.conftest import SLUG, World

pytestmark = pytest.mark.postgres

REPOSITORY = {"id": 5, "full_name": SLUG, "default_branch": "main"}


def deliveries(world: World) -> list[Delivery]:
    with world.service.database.session() as session:
        return list(session.scalars(select(Delivery).order_by(Delivery.id)))


def test_a_message_without_our_secret_is_refused_and_not_kept(world: World) -> None:
    answer = world.send("ping", {"zen": "x"}, secret="not-ours")
    assert (answer.status_code, answer.json()["code"]) == (403, "bad_signature")
    assert deliveries(world) == []


def test_while_the_secret_is_changed_both_are_taken(world: World) -> None:
    assert world.send("ping", {}).status_code == 202
    assert world.send("ping", {}, secret="another").status_code == 403
    Path(world.service.settings.github_webhook_secret_file).write_text("another\nnew-one\n")
    assert world.send("ping", {}, secret="another").status_code == 202
    assert world.send("ping", {}, secret="new-one").status_code == 202


def test_where_no_secret_is_set_nothing_is_taken(world: World) -> None:
    world.service.settings.github_webhook_secret_file = ""
    assert world.send("ping", {}).status_code == 503


def test_the_same_message_again_changes_nothing(world: World) -> None:
    assert world.send("ping", {}, guid="one").json() == {"status": "kept"}
    again = world.send("ping", {}, guid="one")
    assert (again.status_code, again.json()) == (200, {"status": "known"})
    assert len(deliveries(world)) == 1


def test_a_message_over_the_limit_is_refused(world: World) -> None:
    world.service.settings.max_webhook_b = 100
    assert world.send("ping", {"zen": "x" * 100}).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b'{"title": "NUL \\u0000 and half \\ud83d a character", "\\u0000": 1}',
        b'{"title": "a backslash: \\\\u0000"}',
        '{"title": "速度 🚀"}'.encode(),
    ],
)
def test_texts_that_no_database_keeps_are_taken(world: World, body: bytes) -> None:
    assert world.send_raw("star", body).status_code == 202
    assert len(deliveries(world)) == 1


@pytest.mark.parametrize("body", [b"", b"{", b'{"a": NaN}', b'{"a": 1e', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(world: World, body: bytes) -> None:
    assert world.send_raw("ping", body).status_code == 422
    assert deliveries(world) == []


def test_a_body_that_is_no_object_is_refused_with_what_to_do(world: World) -> None:
    answer = world.send("ping", [1])  # type: ignore[arg-type]
    assert answer.status_code == 422
    assert "application/json" in answer.json()["message"]


@pytest.mark.parametrize(
    ("event", "payload", "outcome"),
    [
        ("ping", {"zen": "x"}, "the connection works"),
        ("star", {"action": "created"}, "nothing follows from star"),
        ("pull_request", {"action": "opened"}, "not understood: repository: Field required"),
        (
            "pull_request",
            {"action": "assigned", "repository": REPOSITORY, "pull_request": {"number": 1}},
            "nothing follows from a pull request that is assigned",
        ),
        ("pull_request", {"action": "op\x00ened"}, "not understood: repository: Field required"),
    ],
)
def test_what_nothing_follows_from_is_kept_with_the_reason(
    world: World, event: str, payload: dict[str, Any], outcome: str
) -> None:
    assert world.send(event, payload).status_code == 202
    world.settle()
    (kept,) = deliveries(world)
    assert kept.outcome == outcome


def test_a_renamed_repository_is_still_the_same(world: World) -> None:
    world.push(1, "first")
    world.happens(1, "opened")
    renamed = REPOSITORY | {"full_name": "acme/sight"}
    world.send("pull_request", {"action": "edited", "repository": renamed, "pull_request": {"number": 1}})
    world.tasks_of("forge.delivery")
    with world.service.database.session() as session:
        (row,) = session.scalars(select(Repository))
        assert (row.slug, row.external_id) == ("acme/sight", 5)


def test_a_repository_that_was_taken_away_is_told_nothing_any_more(world: World) -> None:
    world.push(1, "first")
    world.happens(1, "opened")
    world.send("installation_repositories", {"action": "removed", "repositories_removed": [{"id": 5}]})
    calls = len(world.github.calls)
    assert world.agent.claim() is not None
    world.settle()
    assert len(world.github.calls) == calls
