"""Several statements in one round trip: PostgreSQL gets them together, and answers one after the other.

They run as they would each by itself: a statement sees what those before it did, and what others committed while one
before it waited for a lock. What need not wait for others may run beside them, on a second connection.

A trip that is a transaction of its own takes a connection from the pool for itself: to have a session begin, end and
forget a transaction takes longer than all else that Python does for a trip.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from pydantic_core import to_json
from sqlalchemy import ClauseElement, Connection, Engine, PoolProxiedConnection, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from app.store.wire import Exchange, Prepared, Rows, Statement, doubt, exchange, rows_of, under_way

_DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call]

READS = "reads"
"""What a session has among its `info` whose statements are each a transaction."""


def in_one_trip(session: Session, *statements: Statement, ends: bool = False) -> list[Rows]:
    """Return the rows of every statement; what the session holds back is written before them.

    Args:
        session: its transaction is what they run in.
        statements: what is sent.
        ends: whether the transaction is committed in the same trip. Then nothing else belongs to it, and whoever asks
            is known to be allowed to.

    Raises:
        DBAPIError: SQLAlchemy's own for the first that failed; those after it did not run.
    """
    session.flush()
    joining: list[_Joining] = session.info.get(_JOINING, [])
    sent = [*(its.statement for its in joining), *statements]
    reads = READS in session.info
    engine = session.get_bind()
    is_alone = (reads or ends) and isinstance(engine, Engine) and not session.in_transaction()
    with _of_the_pool(engine.engine) if is_alone else _of_the_session(session) as pooled:
        answers = _sent(pooled, sent, session.info.get(_BESIDE, ()), begins=not reads, commits=ends)
    for its, rows in zip(joining, answers, strict=False):
        its.rows = rows
    session.info.pop(_JOINING, None)
    return answers[len(joining) :]


@contextmanager
def meanwhile(session: Session, *statements: Statement) -> Iterator[Callable[[], list[Rows]]]:
    """Have PostgreSQL work on statements while the block does something else; yield what waits for their rows.

    They run in the session's transaction, of which nothing else is asked before their rows are there; what the session
    holds back, and what waits for its next trip, goes before them. They have ended when the block has. A block that
    ends by an error before that gives the connection up, since nobody knows then how far they came.

    Raises:
        DBAPIError: as `in_one_trip`, where the rows are waited for; at once where the connection is lost already.
    """
    session.flush()
    if session.info.get(_JOINING):
        in_one_trip(session)
    queries = _queries(statements)
    with (
        _of_the_session(session) as pooled,
        _told_as_errors_of_sqlalchemy(queries),
        under_way(driver_of(pooled), prepared_on(pooled), statements) as sent,
    ):
        yield partial(_awaited, sent, queries)
        if sent.error is None:
            _awaited(sent, queries)


@contextmanager
def beside(session: Session, *statements: Statement) -> Iterator[Callable[[], list[Rows]]]:
    """Have statements run on a second connection while the block asks for other things; yield what gives their rows.

    That is in a session whose statements are each a transaction, and where a connection is to spare; they have ended
    there when the block has, wanted or not. Else they are a trip of their own each time that their rows are wanted.

    Raises:
        DBAPIError: as `in_one_trip`, where the rows are wanted; at once where the connection is lost already.
    """
    engine = session.get_bind()
    with ExitStack() as stack:
        other = None
        if READS in session.info and isinstance(engine, Engine) and not session.in_transaction():
            with _of_the_pool(engine.engine):  # which is there for the block then
                other = stack.enter_context(_spare(engine.engine))
        if other is None:
            yield partial(in_one_trip, session, *statements)
            return
        queries = _queries(statements)
        with _told_as_errors_of_sqlalchemy(queries):
            sent = stack.enter_context(
                under_way(driver_of(other), prepared_on(other), statements, begins=False)
            )
        under_way_beside: list[Exchange] = session.info.setdefault(_BESIDE, [])
        under_way_beside.append(sent)
        try:
            with _ending(sent):
                yield partial(_awaited, sent, queries)
        finally:
            under_way_beside.remove(sent)


_BESIDE = "beside"
"""Where a session keeps what is under way on its second connection."""


@contextmanager
def _ending(sent: Exchange) -> Iterator[None]:
    """Have all of it come to its end after the block, unless somebody interrupts that; nobody wants to know how."""
    try:
        yield
    except Exception:
        _end(sent)
        raise
    _end(sent)


def _end(sent: Exchange) -> None:
    with suppress(psycopg.Error):
        rows_of(sent)


def _awaited(sent: Exchange, queries: str) -> list[Rows]:
    with _told_as_errors_of_sqlalchemy(queries):
        return rows_of(sent)


@contextmanager
def _of_the_pool(engine: Engine) -> Iterator[PoolProxiedConnection]:
    """Yield a connection for a trip that leaves nothing under way."""
    with _told_as_errors_of_sqlalchemy("connect"):
        pooled = engine.raw_connection()
    try:
        yield pooled
    finally:
        if driver_of(pooled).closed:
            pooled.invalidate()
        else:
            pooled.close()


@contextmanager
def _of_the_session(session: Session) -> Iterator[PoolProxiedConnection]:
    """Yield the connection of the session's transaction."""
    connection = session.connection()
    driver = driver_of(connection.connection)
    try:
        yield connection.connection
    finally:
        if driver.closed:
            connection.invalidate()  # else the rollback that follows would fail, and its error be told


def _sent(
    pooled: PoolProxiedConnection, statements: Sequence[Statement], others: Sequence[Exchange], **how: bool
) -> list[Rows]:
    prepared = prepared_on(pooled)
    with _told_as_errors_of_sqlalchemy(_queries(statements)):
        return exchange(driver_of(pooled), prepared, statements, beside=others, **how)


SECOND = 4
"""Threads that have a second connection at the most: fewer than there are, as each may wait for its first."""

_SECOND = threading.BoundedSemaphore(SECOND)


@contextmanager
def _spare(engine: Engine) -> Iterator[PoolProxiedConnection | None]:
    """Yield a second connection of the pool; None where there is none to spare, or none to be had."""
    pool = engine.pool
    is_spare = isinstance(pool, QueuePool) and SECOND < pool.size() > pool.checkedout()
    if not is_spare or not _SECOND.acquire(blocking=False):
        yield None
        return
    try:
        with ExitStack() as stack:
            other = None
            with suppress(SQLAlchemyError):
                other = stack.enter_context(_of_the_pool(engine))
            yield other
    finally:
        _SECOND.release()


def _queries(statements: Sequence[Statement]) -> str:
    return "; ".join(query for query, _ in statements)


@contextmanager
def _told_as_errors_of_sqlalchemy(what: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise DBAPIError.instance(what, None, error, psycopg.Error) from error


def with_the_next(session: Session, statement: Statement) -> Callable[[], Rows]:
    """Have the statement sent with the session's next trip, before it; return what gives its rows.

    Whoever wants them before there was another trip makes one for them.
    """
    its = _Joining(statement)
    session.info.setdefault(_JOINING, []).append(its)

    def rows() -> Rows:
        if its.rows is None:
            in_one_trip(session)
        assert its.rows is not None
        return its.rows

    return rows


@dataclass
class _Joining:
    """A statement that waits for the next trip, and then its rows."""

    statement: Statement
    rows: Rows | None = None


_JOINING = "joining"
"""Where a session keeps what waits for its next trip."""

_PREPARED = "prepared"
"""Where a pooled connection keeps what was parsed on it."""

_FORGETTING = ("ALTER", "DEALLOCATE", "DISCARD", "DROP", "ROLLBACK")
"""Commands after which psycopg has the server forget all that was parsed on the connection, whoever had it parsed."""


def know_what_is_forgotten(engine: Engine) -> None:
    """Have connections parse anew what the server may have forgotten."""

    def rolled_back(connection: Connection) -> None:
        if (
            not connection.invalidated and not driver_of(connection.connection).autocommit
        ):  # which has nothing to roll back
            _doubt(connection)

    def executed(connection: Connection, cursor: psycopg.Cursor[Any], *_: object) -> None:
        if (cursor.statusmessage or "").startswith(_FORGETTING):
            _doubt(connection)

    event.listen(engine, "rollback", rolled_back)
    event.listen(engine, "after_cursor_execute", executed)


def driver_of(pooled: PoolProxiedConnection) -> psycopg.Connection:
    """Return the driver's connection."""
    driver = pooled.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


def prepared_on(pooled: PoolProxiedConnection) -> Prepared:
    """Return what was parsed on the connection."""
    found: Prepared = pooled.info.setdefault(_PREPARED, {})
    return found


def _doubt(connection: Connection) -> None:
    doubt(connection.connection.info.get(_PREPARED, {}))


def as_json(value: Any) -> str:
    """Return plain values, times among them, as a JSON document: a parameter that is many rows. Numbers are finite."""
    return to_json(value).decode()


def written(query: ClauseElement) -> str:
    """Return the query as text for a statement; the names of its `bindparam`s are those of the values."""
    return str(query.compile(dialect=_DIALECT))
