"""Statements that need not wait for each other run on two connections at once, where one is to spare."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest
from sqlalchemy import Engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.store import pipeline
from app.store.pipeline import SECOND, in_one_trip
from app.store.session import Database
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


def backends(session: Session) -> tuple[int, int]:
    """Return who answers a statement, and who the one beside it."""
    ((here,),), ((beside,),) = in_one_trip(session, WHO, beside=[WHO])
    return here, beside


def test_what_is_beside_runs_elsewhere_and_its_rows_come_last(reader: Session) -> None:
    here, beside = backends(reader)
    assert here != beside
    two, three, *more = in_one_trip(
        reader, ("select 2", {}), ("select 3", {}), beside=[("select 4", {}), ("select 5", {})]
    )
    assert (two, three, more) == ([(2,)], [(3,)], [[(4,)], [(5,)]])


def test_both_run_at_the_same_time(reader: Session, engine: Engine) -> None:
    held = 4711
    waits = (f"select pg_advisory_xact_lock_shared({held})", {})
    waiting = text(
        f"select count(*) from pg_locks where locktype = 'advisory' and objid = {held} and not granted"
    )
    with ThreadPoolExecutor(1) as threads, engine.connect() as holder:
        holder.execute(text(f"select pg_advisory_lock({held})"))
        asked = threads.submit(in_one_trip, reader, waits, beside=[waits])
        wait_for(lambda: holder.scalar(waiting) == 2)
        holder.execute(text(f"select pg_advisory_unlock({held})"))
        assert len(asked.result()) == 2


def test_long_answers_are_read_from_both(reader: Session) -> None:
    long = "x" * 3_000_000
    echo = ("select %(long)s::text", {"long": long})
    assert in_one_trip(reader, echo, echo, beside=[echo, echo]) == [[(long,)]] * 4


def test_whoever_changes_a_table_does_not_wait_for_what_nobody_reads(reader: Session, engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("create table changing as select repeat('x', 3000000) as long"))
    slow = [("select 1 from pg_sleep(0.4)", {}), ("select count(*) from changing", {})]
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(in_one_trip, reader, *slow, beside=[("select long from changing", {})])
        time.sleep(0.2)
        with engine.begin() as connection:
            connection.execute(text("set local lock_timeout = '5s'"))
            connection.execute(text("drop table changing"))
        with suppress(DBAPIError):  # the table is gone
            asked.result()


def test_a_transaction_is_on_one_connection(database: Database, reader: Session) -> None:
    with database.session() as writing:
        here, beside = backends(writing)
    assert here == beside
    reader.execute(text("select 1"))
    here, beside = backends(reader)
    assert here == beside, "the session has a connection already"


def test_in_a_small_pool_nobody_has_two(database_url: str) -> None:
    small = Database(database_url, pool_size=SECOND)
    with small.reading() as session:
        here, beside = backends(session)
    small.close()
    assert here == beside


def test_where_none_is_to_spare_they_run_one_after_the_other(
    reader: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_SECOND", threading.BoundedSemaphore(1))
    with pipeline._SECOND:
        here, beside = backends(reader)
    assert here == beside
    here, beside = backends(reader)
    assert here != beside


def test_many_at_once_wait_for_no_connection_that_is_never_given_back(database_url: str) -> None:
    shared = Database(database_url, pool_size=SECOND + 1)

    def ask(_: int) -> bool:
        with shared.reading() as session:
            return all(rows for rows in in_one_trip(session, SLOW, beside=[SLOW]))

    begun = time.monotonic()
    with ThreadPoolExecutor(20) as threads:
        assert all(threads.map(ask, range(40)))
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
        here, beside = backends(session)
    full.close()
    assert here == beside


@pytest.mark.parametrize("is_beside", [True, False])
def test_what_fails_is_told_and_leaves_both_connections_usable(reader: Session, is_beside: bool) -> None:
    here, beside = (WHO, WRONG) if is_beside else (WRONG, WHO)
    for _ in range(2 * SECOND):
        with pytest.raises(DBAPIError, match="division by zero"):
            in_one_trip(reader, here, beside=[beside])
    one, other = backends(reader)
    assert one != other
