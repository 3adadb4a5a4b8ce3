"""Trips that the event loop makes: it goes on meanwhile, and what is out of the ordinary has no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.store import prompt as prompts
from app.store.prompt import MOST, Prompt
from app.store.session import make_engine

pytestmark = pytest.mark.postgres

PROCESS = ("select pg_backend_pid()", {})
SLEEP = ("select pg_sleep(%(s)s)", {"s": 0.3})


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
    monkeypatch.setattr(prompts, "TRIED_AFTER_S", -1.0)
    taken: list[Any] = []
    take = Prompt._taken
    monkeypatch.setattr(Prompt, "_taken", lambda self, kept: taken.append(kept) or take(self, kept))
    assert run(lambda: process_of(prompt)) == before
    assert [kept is not None for kept in taken] == [True]


def test_whoever_is_no_longer_waited_for_gives_the_connection_up(prompt: Prompt) -> None:
    before = run(lambda: process_of(prompt))

    async def cancelled() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(prompt.trip(("select pg_sleep(60)", {})), 0.2)

    run(cancelled)
    assert run(lambda: process_of(prompt)) != before


def test_a_database_that_is_away_has_no_answer() -> None:
    away = Prompt(make_engine("postgresql://nobody@127.0.0.1:1/nothing"))
    assert run(lambda: away.trip(PROCESS)) is None
    away.close()


def test_more_than_the_wire_holds_goes_both_ways_at_once(prompt: Prompt) -> None:
    long = "x" * 3_000_000
    assert run(lambda: prompt.trip(("select %(long)s::text", {"long": long}))) == [(long,)]
