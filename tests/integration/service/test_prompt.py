"""Trips that the event loop makes: it goes on meanwhile, and what is out of the ordinary has no answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import Engine, text

from app.store import liveness
from app.store import prompt as prompts
from app.store.prompt import MOST, Prompt
from app.store.session import make_engine
from app.store.wire import Statement

pytestmark = pytest.mark.postgres

PROCESS: Statement = ("select pg_backend_pid()", {})
SLEEP: Statement = ("select pg_sleep(%(s)s)", {"s": 0.3})


@pytest.fixture
def prompt(database_url: str) -> Iterator[Prompt]:
    its = Prompt(make_engine(database_url, pool_size=MOST))
    yield its
    its.close()


def run(what: Callable[[], Awaitable[Any]]) -> Any:
    async def its() -> Any:
        return await what()

    return asyncio.run(its())


async def process_of(prompt: Prompt) -> int:
    rows = await prompt.trip(PROCESS)
    assert rows is not None
    return int(rows[0][0])


def test_a_statement_is_a_transaction(prompt: Prompt, engine: Engine) -> None:
    made = ("create table made_promptly as select %(n)s::int as n", {"n": 5})
    try:
        assert run(lambda: prompt.trip(made)) == []
        with engine.connect() as other:
            assert other.scalar(text("select n from made_promptly")) == 5
    finally:
        run(lambda: prompt.trip(("drop table made_promptly", {})))


def test_the_same_connection_serves_one_trip_after_the_other_on_any_loop(prompt: Prompt) -> None:
    assert len({run(lambda: process_of(prompt)) for _ in range(3)}) == 1


def test_the_loop_goes_on_meanwhile(prompt: Prompt) -> None:
    async def both() -> list[str]:
        order: list[str] = []

        async def trip(statement: Any, name: str) -> None:
            await prompt.trip(statement)
            order.append(name)

        await asyncio.gather(trip(SLEEP, "long"), trip(PROCESS, "short"))
        return order

    assert run(both) == ["short", "long"]


def test_of_too_many_at_once_some_have_no_answer(prompt: Prompt) -> None:
    async def many() -> list[Any]:
        return list(await asyncio.gather(*(prompt.trip(SLEEP) for _ in range(MOST + 2))))

    answers = run(many)
    assert answers.count(None) == 2
    assert run(lambda: process_of(prompt)), "and those that are over make room"


def test_a_refused_statement_has_no_answer_and_leaves_nothing_behind(prompt: Prompt) -> None:
    before = run(lambda: process_of(prompt))
    assert run(lambda: prompt.trip(("select 1 / %(n)s::int", {"n": 0}))) is None
    assert run(lambda: process_of(prompt)) != before


def test_a_server_that_ended_the_connection_is_asked_on_another(prompt: Prompt, engine: Engine) -> None:
    before = run(lambda: process_of(prompt))
    with engine.connect() as other:
        other.execute(text("select pg_terminate_backend(:pid, 5000)"), {"pid": before})
    assert run(lambda: process_of(prompt)) != before


def test_what_was_idle_for_long_is_tried_before(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(lambda: process_of(prompt))
    for module in (prompts, liveness):
        monkeypatch.setattr(module, "TRIED_AFTER_S", 60.0)
    tried = Mock(wraps=prompt._engine.dialect.do_ping)
    monkeypatch.setattr(prompt._engine.dialect, "do_ping", tried)
    assert run(lambda: process_of(prompt)) == before
    assert not tried.called
    now = time.monotonic()
    with monkeypatch.context() as later:
        later.setattr(time, "monotonic", lambda: now + 61)
        assert run(lambda: process_of(prompt)) == before
    assert tried.call_count == 1


def test_whoever_is_no_longer_waited_for_gives_the_connection_up(prompt: Prompt) -> None:
    before = run(lambda: process_of(prompt))

    async def cancelled() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(prompt.trip(("select pg_sleep(60)", {})), 0.2)

    run(cancelled)
    assert run(lambda: process_of(prompt)) != before


def test_what_is_not_answered_in_time_is_given_up(prompt: Prompt, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run(lambda: process_of(prompt))
    with monkeypatch.context() as hurried:
        hurried.setattr(prompts, "WITHIN_S", 0.2)
        assert run(lambda: prompt.trip(("select pg_sleep(60)", {}))) is None
    assert run(lambda: process_of(prompt)) != before


def test_a_statement_that_the_server_forgot_has_no_answer(prompt: Prompt) -> None:
    before = run(lambda: process_of(prompt))
    assert run(lambda: prompt.trip(("deallocate all", {}))) == []
    assert run(lambda: prompt.trip(PROCESS)) is None
    assert run(lambda: process_of(prompt)) != before


def test_a_database_that_is_away_has_no_answer_and_is_not_tried_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = Prompt(make_engine("postgresql://nobody@127.0.0.1:1/nothing"))
    tried = Mock(wraps=away._engine.raw_connection)
    monkeypatch.setattr(away._engine, "raw_connection", tried)
    assert [run(lambda: away.trip(PROCESS)) for _ in range(3)] == [None] * 3
    assert tried.call_count == 1
    away.close()


def test_nothing_is_asked_after_the_end(database_url: str) -> None:
    prompt = Prompt(make_engine(database_url, pool_size=MOST))

    async def closed_meanwhile() -> Any:
        trip = asyncio.create_task(prompt.trip(SLEEP))
        await asyncio.sleep(0.1)
        prompt.close()
        return await trip

    assert run(closed_meanwhile) is not None
    assert run(lambda: prompt.trip(PROCESS)) is None


def test_more_than_the_wire_holds_goes_both_ways_at_once(prompt: Prompt) -> None:
    long = "x" * 3_000_000
    assert run(lambda: prompt.trip(("select %(long)s::text", {"long": long}))) == [(long,)]
