"""What goes over the wire in one trip arrives whole, whatever became of the connection meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.orm import Session

from app.store import wire
from app.store.pipeline import in_one_trip
from app.wiring import Service

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


def test_a_statement_is_parsed_once_a_connection(session: Session) -> None:
    in_one_trip(session, ONE)
    session.commit()
    before = parsed(session)
    in_one_trip(session, ONE, ONE)
    assert parsed(session) == before


def test_no_more_are_kept_than_are_wanted(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_PREPARED", 3)
    for number in range(8):
        in_one_trip(session, (f"select {number}", {}))
    in_one_trip(session, ONE)
    assert parsed(session) <= 4  # those, and what the last trip brought


def test_after_a_rollback_all_goes_on(session: Session) -> None:
    for _ in range(
        8
    ):  # psycopg prepares what it sends often, and forgets that at a rollback with all of ours
        session.execute(text("select 1"))
    in_one_trip(session, ONE)
    session.rollback()
    assert in_one_trip(session, ONE) == [[(1,)]]
    with session.begin_nested() as inner:
        in_one_trip(session, ONE)
        inner.rollback()
    assert in_one_trip(session, ONE) == [[(1,)]]


@pytest.mark.parametrize("forgetting", ["deallocate all", "drop table if exists nothing"])
def test_what_makes_the_server_forget_is_noticed(session: Session, forgetting: str) -> None:
    for _ in range(8):
        session.execute(text("select 1"))
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


def test_a_connection_that_is_cut_is_told_and_replaced(service: Service) -> None:
    with pytest.raises(OperationalError), service.database.session() as session:
        in_one_trip(session, ("select pg_terminate_backend(pg_backend_pid())", {}), ONE)
    with service.database.session() as session:
        assert in_one_trip(session, ONE) == [[(1,)]]
