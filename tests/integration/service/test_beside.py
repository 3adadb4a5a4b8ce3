"""Statements that need not wait for each other run on two connections at once, where one is to spare."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.store import pipeline
from app.store.pipeline import SECOND, beside, in_one_trip
from app.store.session import Database
from app.store.wire import Rows, Statement
from tests.factories.waiting import wait_for

pytestmark = pytest.mark.postgres

WHO = ("select pg_backend_pid()", {})
WRONG = ("select 1 / %(n)s::int", {"n": 0})
SLOW = ("select pg_backend_pid() from pg_sleep(0.2)", {})


@pytest.fixture
def reader(database: Database) -> Iterator[Session]:
    """A session that only reads."""
    with database.reading() as session:
        yield session


def ask(session: Session, here: Statement, there: Statement) -> tuple[Rows, Rows]:
    """Return the rows of a statement, and of another that is asked beside it."""
    with beside(session, there) as coming:
        (rows,) = in_one_trip(session, here)
        return rows, coming()[0]


def backends(session: Session) -> tuple[int, int]:
    """Return who answers a statement, and who the one beside it."""
    ((here,),), ((there,),) = ask(session, WHO, WHO)
    return here, there


def test_what_is_beside_runs_elsewhere(reader: Session) -> None:
    here, there = backends(reader)
    assert here != there
    with beside(reader, ("select 4", {}), ("select 5", {})) as coming:
        assert in_one_trip(reader, ("select 2", {}), ("select 3", {})) == [[(2,)], [(3,)]]
        assert coming() == coming() == [[(4,)], [(5,)]]
    assert in_one_trip(reader, ("select 6", {})) == [[(6,)]]


def test_what_is_beside_may_have_something_beside_it(reader: Session) -> None:
    with beside(reader, ("select 2", {})) as outer, beside(reader, ("select 3", {})) as inner:
        assert in_one_trip(reader, ("select 1", {})) == [[(1,)]]
        assert (outer(), inner()) == ([[(2,)]], [[(3,)]])
    assert in_one_trip(reader, ("select 4", {})) == [[(4,)]]


def test_nobody_need_want_what_is_beside(reader: Session) -> None:
    for _ in range(2 * SECOND):
        with beside(reader, WRONG):
            assert in_one_trip(reader, ("select 2", {})) == [[(2,)]]
    here, there = backends(reader)
    assert here != there


def test_both_run_at_the_same_time(reader: Session, engine: Engine) -> None:
    held = 4711
    held_by_both = (f"select 'held' from pg_advisory_xact_lock_shared({held})", {})
    with ThreadPoolExecutor(1) as threads, engine.connect() as holder:
        holder.execute(text(f"select pg_advisory_lock({held})"))
        asked = threads.submit(ask, reader, held_by_both, held_by_both)
        wait_for(lambda: waits(holder, held) == 2)
        holder.execute(text(f"select pg_advisory_unlock({held})"))
        assert asked.result() == ([("held",)], [("held",)])


def test_long_answers_are_read_from_both(reader: Session) -> None:
    long = "x" * 3_000_000
    echo = ("select %(long)s::text", {"long": long})
    with beside(reader, echo, echo) as coming:
        assert in_one_trip(reader, echo, echo) == [[(long,)]] * 2
        assert coming() == [[(long,)]] * 2


def test_whoever_changes_a_table_does_not_wait_for_what_nobody_reads(reader: Session, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("create table changing as select repeat('x', 3000000) as long"))
    slow = ("select 1 from pg_sleep(0.4)", {}), ("select count(*) from changing", {})

    def read() -> None:
        with beside(reader, ("select long from changing", {})):
            in_one_trip(reader, *slow)

    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(read)
        time.sleep(0.2)
        with engine.begin() as connection:
            connection.execute(text("set local lock_timeout = '5s'"))
            connection.execute(text("drop table changing"))
        with suppress(DBAPIError):  # the table is gone
            asked.result()


def test_a_transaction_is_on_one_connection(database: Database, reader: Session) -> None:
    with database.session() as writing:
        here, there = backends(writing)
    assert here == there
    reader.execute(text("select 1"))
    here, there = backends(reader)
    assert here == there, "the session has a connection already"


def test_in_a_small_pool_nobody_has_two(database_url: str) -> None:
    small = Database(database_url, pool_size=SECOND)
    with small.reading() as session:
        here, there = backends(session)
    small.close()
    assert here == there


def test_where_none_is_to_spare_they_run_one_after_the_other(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_SECOND", threading.BoundedSemaphore(1))
    its = Database(database_url)
    with its.reading() as session:
        with pipeline._SECOND:
            here, there = backends(session)
        assert here == there
        here, there = backends(session)
        assert here != there
    its.close()


def test_many_at_once_wait_for_no_connection_that_is_never_given_back(database_url: str) -> None:
    shared = Database(database_url, pool_size=SECOND + 1)

    def slowly(_: int) -> bool:
        with shared.reading() as session:
            return all(ask(session, SLOW, SLOW))

    begun = time.monotonic()
    with ThreadPoolExecutor(20) as threads:
        assert all(threads.map(slowly, range(40)))
    shared.close()
    assert time.monotonic() - begun < 25, "a pool is waited for 30 s"


def test_where_no_second_is_to_be_had_the_first_does_both(database_url: str) -> None:
    full = Database(database_url)
    with full.reading() as session:
        in_one_trip(session, WHO)

    def refuse(*_: object) -> None:
        raise psycopg.OperationalError("sorry, too many clients already")

    event.listen(full.engine, "do_connect", refuse)
    with full.reading() as session:
        here, there = backends(session)
    full.close()
    assert here == there


@pytest.mark.parametrize("is_beside", [True, False])
def test_what_fails_is_told_and_leaves_both_connections_usable(reader: Session, is_beside: bool) -> None:
    here, there = (WHO, WRONG) if is_beside else (WRONG, WHO)
    for _ in range(2 * SECOND):
        with pytest.raises(DBAPIError, match="division by zero"):
            ask(reader, here, there)
    one, other = backends(reader)
    assert one != other


def test_whoever_fails_between_gives_back_both_connections(database_url: str) -> None:
    its = Database(database_url)
    with its.reading() as session:
        one, other = backends(session)
        with pytest.raises(KeyError), beside(session, SLOW):
            raise KeyError
        assert {*backends(session)} == {one, other}, "neither was given up"
    its.close()


def interrupt_beside(reader: Session, holder: Connection, held: int) -> None:
    """Interrupt whoever has a statement beside it that waits for what another session holds."""
    with beside(reader, (f"select pg_advisory_lock({held})", {})):
        wait_for(lambda: waits(holder, held))
        raise KeyboardInterrupt


def waits(holder: Connection, held: int) -> int:
    """Return how many wait for what is held."""
    waiting = f"select count(*) from pg_locks where locktype = 'advisory' and objid = {held} and not granted"
    return int(holder.scalar(text(waiting)) or 0)


def test_who_interrupts_it_interrupts_the_second_server_too(reader: Session, engine: Engine) -> None:
    held = 4712
    with engine.connect() as holder:
        holder.execute(text(f"select pg_advisory_lock({held})"))
        with pytest.raises(KeyboardInterrupt):
            interrupt_beside(reader, holder, held)
        wait_for(lambda: not waits(holder, held))
