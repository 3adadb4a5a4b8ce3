"""Statements that need not wait for each other run on two connections at once, where one is to spare."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from app.store import pipeline
from app.store.pipeline import SECOND, in_one_trip
from app.store.session import Database

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


def test_both_run_at_the_same_time(reader: Session) -> None:
    meets = """
        select count(*) from pg_stat_activity, pg_sleep(0.05 * %(turn)s)
        where query like '%%meets each other%%' and state = 'active' and pid <> pg_backend_pid()
    """
    asked = [(meets.replace("select", "select /* meets each other */", 1), {"turn": turn}) for turn in (1, 2)]
    found = in_one_trip(reader, asked[0], beside=[asked[1]])
    assert max(rows[0][0] for rows in found) == 1


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


@pytest.mark.parametrize("is_beside", [True, False])
def test_what_fails_is_told_and_leaves_both_connections_usable(reader: Session, is_beside: bool) -> None:
    here, beside = (WHO, WRONG) if is_beside else (WRONG, WHO)
    for _ in range(2 * SECOND):
        with pytest.raises(DBAPIError, match="division by zero"):
            in_one_trip(reader, here, beside=[beside])
    one, other = backends(reader)
    assert one != other
