"""What goes over the wire in one trip arrives whole, whatever became of the connection meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from app.store import wire
from app.store.pipeline import in_one_trip
from app.store.repositories import projects
from app.store.session import Database, make_engine, take_long
from app.wiring import Service
from tests.factories.waiting import wait_for

pytestmark = pytest.mark.postgres

ONE = ("select %(n)s::int", {"n": 1})


def parsed(session: Session) -> int:
    """Return how many statements the server keeps parsed for our trips on this session's connection."""
    query = text("select count(*) from pg_prepared_statements where name like 'trip_%'")
    return session.scalar(query) or 0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", "50 % of \N{GREEK SMALL LETTER MU}s, %(n)s; $1 'quoted'"),
        ("int", -1),
        ("bigint", 2**40),
        ("float8", 0.1),
        ("boolean", None),
        ("timestamptz", datetime(2026, 11, 23, 12, tzinfo=UTC)),
        ("interval", timedelta(days=2, microseconds=1)),
        ("text[]", ["a", 'b"', ""]),
        ("bytea", b"\x00\xff"),
    ],
)
def test_a_value_comes_back_as_it_went(session: Session, kind: str, value: Any) -> None:
    assert in_one_trip(session, (f"select %(value)s::{kind}", {"value": value})) == [[(value,)]]


def test_a_place_may_stand_twice_and_a_percent_sign_is_written_twice(session: Session) -> None:
    query = "select %(b)s::int - %(a)s::int, %(b)s::int, 'ab' like 'a%%'"
    assert in_one_trip(session, (query, {"a": 1, "b": 3})) == [[(2, 3, True)]]


def test_more_than_the_wire_holds_goes_both_ways_at_once(session: Session) -> None:
    long = "x" * 3_000_000
    echo = ("select %(long)s::text", {"long": long})
    assert in_one_trip(session, echo, echo, echo) == [[(long,)]] * 3


@pytest.fixture
def alone(database_url: str) -> Iterator[Session]:
    """A session on the one connection of an engine of its own."""
    engine = make_engine(database_url, pool_size=1)
    with Session(engine) as its_session:
        yield its_session
    engine.dispose()


def test_a_statement_is_parsed_once_a_connection(alone: Session) -> None:
    in_one_trip(alone, ONE)
    alone.commit()
    before = parsed(alone)
    in_one_trip(alone, ONE, ONE)
    assert parsed(alone) == before == 1


def test_no_more_are_kept_than_are_wanted_and_those_used_last(
    alone: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MOST_PREPARED", 3)
    for number in range(8):
        in_one_trip(alone, (f"select {number}", {}))
    assert parsed(alone) == 3
    in_one_trip(alone, ("select 5", {}), ("select 8", {}))  # the oldest of them, and a new one
    in_one_trip(alone, ("select 5", {}), *[(f"select {number}", {}) for number in range(20, 25)])
    assert in_one_trip(alone, ("select 5", {})) == [[(5,)]]


def prepare_by_psycopg(session: Session) -> None:
    """Have psycopg prepare a statement: it has the server forget that at a rollback, and all of ours with it."""
    for _ in range(8):
        session.execute(text("select 1"))


def test_after_a_rollback_all_goes_on(alone: Session) -> None:
    prepare_by_psycopg(alone)
    in_one_trip(alone, ONE)
    alone.rollback()
    alone.execute(text("select 2"))
    assert in_one_trip(alone, ONE) == [[(1,)]]


def test_after_a_savepoint_all_goes_on(alone: Session) -> None:
    prepare_by_psycopg(alone)
    with alone.begin_nested() as inner:
        in_one_trip(alone, ONE)
        inner.rollback()
    assert in_one_trip(alone, ONE) == [[(1,)]]


@pytest.mark.parametrize("forgetting", ["deallocate all", "drop table if exists nothing"])
def test_what_makes_the_server_forget_is_noticed(session: Session, forgetting: str) -> None:
    prepare_by_psycopg(session)
    in_one_trip(session, ONE)
    session.execute(text(forgetting))
    assert in_one_trip(session, ONE) == [[(1,)]]


def test_what_it_forgot_unnoticed_it_is_told_again_by_the_next_transaction(session: Session) -> None:
    in_one_trip(session, ONE)
    driver = session.connection().connection.driver_connection
    assert driver is not None
    driver.execute("deallocate all")
    with pytest.raises(ProgrammingError, match="does not exist"):
        in_one_trip(session, ONE)
    session.rollback()

    in_one_trip(session, ONE)
    session.commit()
    driver = session.connection().connection.driver_connection
    assert driver is not None
    driver.execute("deallocate all")
    driver.commit()
    assert in_one_trip(session, ONE) == [[(1,)]]


def test_what_only_reads_begins_nothing_and_leaves_its_connection_as_it_was(database_url: str) -> None:
    database = Database(database_url, pool_size=1)
    with database.reading() as reading:
        assert in_one_trip(reading, ONE) == [[(1,)]]
        driver = reading.connection().connection.driver_connection
        assert driver is not None
        assert driver.info.transaction_status == TransactionStatus.IDLE
        driver.execute("deallocate all")
        assert in_one_trip(reading, ONE) == [[(1,)]]
    with suppress(ZeroDivisionError), database.session() as writing:
        projects.project(writing, "acme/undone")
        raise ZeroDivisionError
    with database.reading() as reading:
        assert projects.find_project(reading, "acme/undone") is None
    database.close()


def test_a_transaction_is_isolated_as_its_connection_says(database_url: str) -> None:
    engine = make_engine(database_url, pool_size=1)
    with Session(engine.execution_options(isolation_level="REPEATABLE READ")) as session:
        assert in_one_trip(session, ("show transaction_isolation", {})) == [[("repeatable read",)]]
    with Session(engine) as session:
        assert in_one_trip(session, ("show transaction_isolation", {})) == [[("read committed",)]]
    engine.dispose()


CUT = "select pg_terminate_backend(pg_backend_pid())"


def cut_in_a_trip(service: Service) -> None:
    with service.database.session() as session:
        in_one_trip(session, (CUT, {}), ONE)


def cut_by_a_statement(service: Service) -> None:
    with service.database.session() as session:
        in_one_trip(session, ONE)
        session.execute(text(CUT))


@pytest.mark.parametrize("cut", [cut_in_a_trip, cut_by_a_statement])
def test_a_connection_that_is_cut_is_told_and_replaced(
    service: Service, cut: Callable[[Service], None]
) -> None:
    with pytest.raises(OperationalError, match=r"terminating connection|server closed the connection"):
        cut(service)
    with service.database.session() as session:
        assert in_one_trip(session, ONE) == [[(1,)]]


def interrupt_long_sleep(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with service.database.session() as session, monkeypatch.context() as patched:
        take_long(session)
        patched.setattr(wire, "_received", Mock(side_effect=KeyboardInterrupt))
        in_one_trip(session, ("select pg_sleep(%(s)s), 'interrupted'", {"s": 600}))


def test_who_interrupts_a_trip_interrupts_the_server_too(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt_long_sleep(service, monkeypatch)
    wait_for(lambda: not sleeps(service))


def sleeps(service: Service) -> bool:
    """Tell whether the server works on it still; within one transaction it would say always the same."""
    sleeping = (
        "select count(*) from pg_stat_activity where query like '%''interrupted''%' and state = 'active'"
    )
    with service.database.reading() as session:
        return bool(session.scalar(text(f"{sleeping} and pid <> pg_backend_pid()")))
