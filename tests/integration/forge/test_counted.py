"""What is counted of GitHub: its messages, calls of it, and how long it takes to be told."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import text

from tests.factories.fake_github import Mood
from tests.factories.scrapes import scrape
from tests.integration.forge.conftest import World
from tests.integration.forge.test_telling import opened, write

pytestmark = pytest.mark.postgres


def test_messages_are_counted_by_what_became_of_them(world: World) -> None:
    world.send("ping", {}, guid="one")
    world.send("ping", {}, guid="one")
    world.send("ping", {}, guid="two", secret="another")
    found = scrape(world.client)
    for result in ("received", "duplicate", "refused"):
        assert found.value("ratchet_webhooks_total", result=result) == 1
    assert found.value("ratchet_webhook_seconds_count") == 3


def test_calls_are_counted_by_status_and_those_without_an_answer_too(world: World) -> None:
    opened(world, Mood(status=502, times=1), Mood(cut_after=True))
    write(world)
    found = scrape(world.client)
    assert (found.value("ratchet_forge_calls_total", code="200") or 0) > 0
    assert (found.value("ratchet_forge_calls_total", code="201") or 0) > 0
    assert found.value("ratchet_forge_calls_total", code="502") == 1
    assert found.value("ratchet_forge_calls_total", code="none") == 1


def test_the_quota_is_that_of_the_last_answer_until_it_is_a_new_one(world: World) -> None:
    assert scrape(world.client).value("ratchet_forge_quota_remaining") is None
    quota = {"x-ratelimit-remaining": "17", "x-ratelimit-reset": str(int(time.time()) + 600)}
    opened(world, Mood(status=502, headers=quota))
    assert scrape(world.client).value("ratchet_forge_quota_remaining") == 17


def test_a_check_is_visible_from_when_it_is_first_told(world: World) -> None:
    opened(world, Mood(status=422))
    assert scrape(world.client).value("ratchet_check_visible_seconds_count") == 0
    with world.service.database.session() as session:
        session.execute(text("update target set asked_at = clock_timestamp() - interval '25 seconds'"))
        session.execute(text("update target set error = null, not_before = clock_timestamp()"))
    write(world)
    found = scrape(world.client)
    assert found.value("ratchet_check_visible_seconds_count") == 1
    assert found.value("ratchet_check_visible_seconds_bucket", le="20.0") == 0
    assert found.value("ratchet_check_visible_seconds_bucket", le="60.0") == 1
    with world.service.database.session() as session:
        session.execute(text("update target set wanted_digest = 'another', not_before = clock_timestamp()"))
    write(world)
    assert scrape(world.client).value("ratchet_check_visible_seconds_count") == 1


def test_what_waits_for_github_is_told_by_its_age_and_what_is_told_is_not(world: World) -> None:
    opened(world)
    assert scrape(world.client).value("ratchet_delivery_lag_seconds") == 0
    with world.service.database.session() as session:
        session.execute(
            text(
                "update target set wanted_digest = 'another', untold_since = clock_timestamp() - interval '40 seconds'"
            )
        )
    assert 40 <= (scrape(world.client).value("ratchet_delivery_lag_seconds") or 0) < 100
    with world.service.database.session() as session:
        session.execute(text("update target set error = 'not allowed'"))
    assert scrape(world.client).value("ratchet_delivery_lag_seconds") == 0
