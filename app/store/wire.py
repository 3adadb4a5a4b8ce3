"""Statements on the wire: sent to PostgreSQL together by libpq itself, each parsed there once a connection.

psycopg's own pipeline looks at the socket after every step that it takes, and so costs short statements several times
what they take themselves. Values become PostgreSQL's, and rows Python's, by psycopg's rules here too.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import select
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import adapt, errors, pq
from psycopg.abc import Buffer, Transformer
from psycopg.adapt import PyFormat
from psycopg.pq.abc import PGconn, PGresult

Value = TypeVar("Value")

Statement = tuple[str, Mapping[str, Any]]
"""SQL with places like `%(name)s`, and what stands there."""

Rows = list[tuple[Any, ...]]

Prepared = dict[bytes, bool]
"""The names of what was parsed on a connection, last used last, and whether the server has it for certain."""

MOST_PREPARED = 200
"""How many statements a connection keeps parsed; one is several where the types of its values differ."""

_PLACE = re.compile(r"%\((\w+)\)s|%%")


def exchange(
    connection: psycopg.Connection,
    prepared: Prepared,
    statements: Sequence[Statement],
    *,
    begins: bool = True,
    commits: bool = False,
    beside: Sequence[Exchange] = (),
) -> list[Rows]:
    """Return the rows of every statement; where no transaction is under way, one begins.

    Args:
        connection: what they are sent on.
        prepared: what it has parsed; brought up to date.
        statements: what is sent.
        begins: whether that transaction goes on after them; else they are one by themselves.
        commits: whether the transaction is committed after them.
        beside: what is under way on other connections, and goes on meanwhile.

    Raises:
        psycopg.Error: of the first that failed; those after it did not run.
    """
    with under_way(connection, prepared, statements, begins=begins, commits=commits) as its:
        return rows_of(its, *beside)


class Exchange:
    """Statements that are under way from the beginning of a block on; one that is left before their end is given up."""

    def __init__(self, connection: psycopg.Connection, talk: Talk[list[Rows]]) -> None:
        """Take what is to be said on a connection."""
        self._connection, self._talk = connection, talk
        self.wanted = 0
        """Which events it waits for."""
        self.rows: list[Rows] | None = None
        """Those of every statement, once all have ended."""
        self.error: psycopg.Error | None = None
        """Of the first statement that failed."""

    def __enter__(self) -> Exchange:
        self._go(lambda: next(self._talk))
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if isinstance(error, Exception):
            self.give_up(psycopg.OperationalError("nobody waits for it"))
        self._talk.close()

    @property
    def is_going(self) -> bool:
        """Whether any of it is still to come."""
        return self.rows is None and self.error is None

    @property
    def socket(self) -> int:
        """Where those events are."""
        return self._connection.pgconn.socket

    def go_on(self, found: int) -> None:
        """Go on with the events that there are."""
        with suppress(psycopg.Error):  # which is kept
            self._go(lambda: self._talk.send(found))

    def give_up(self, reason: BaseException) -> None:
        """Close the connection, unless all has ended; where it is no error, but somebody interrupts, also cancel."""
        with suppress(type(reason)):
            self._talk.throw(reason)

    def _go(self, on: Callable[[], int]) -> None:
        try:
            self.wanted = on()
        except StopIteration as end:
            self.rows = end.value
        except psycopg.Error as error:
            self.error = error
            raise


def rows_of(its: Exchange, *beside: Exchange) -> list[Rows]:
    """Return the rows of every statement, once all have ended; what is `beside` goes on meanwhile.

    A server whose answers nobody reads holds what it has locked, which somebody may wait for that this waits for.

    Raises:
        psycopg.Error: of the first statement that failed.
    """
    waiting = select.poll()
    going = {one.socket: one for one in (its, *beside) if one.is_going}
    while its.is_going:
        for socket, one in going.items():
            waiting.register(socket, one.wanted)
        try:
            events = waiting.poll()
        except BaseException as error:
            for one in going.values():
                one.give_up(error)
            raise
        for socket, found in events:
            going[socket].go_on(found)
            if not going[socket].is_going:
                del going[socket]
                waiting.unregister(socket)
    if its.error is not None:
        raise its.error
    return its.rows or []


def under_way(
    connection: psycopg.Connection,
    prepared: Prepared,
    statements: Sequence[Statement],
    *,
    begins: bool = True,
    commits: bool = False,
) -> Exchange:
    """Return statements for a block in which they are under way; they are sent as by `exchange`.

    What does not fit into the socket at once is sent when they are waited for.
    """
    return Exchange(connection, _talk(connection, prepared, statements, begins=begins, commits=commits))


async def exchange_in_loop(
    connection: psycopg.Connection, prepared: Prepared, statements: Sequence[Statement]
) -> list[Rows]:
    """Return as `exchange` does the rows of statements that are a transaction, while the event loop goes on.

    What the server has forgotten is an error here, and whoever no longer waits only closes the connection: more would
    have to be waited for.
    """
    talk = _talk(connection, prepared, statements, begins=True, commits=True, is_tried_again=False)
    try:
        wanted = next(talk)
        while True:
            try:
                found = await _events(connection.pgconn.socket, wanted)
            except BaseException as error:
                with suppress(psycopg.Error):
                    talk.throw(psycopg.OperationalError("nobody waits for it"))
                raise error from None
            wanted = talk.send(found)
    except StopIteration as end:
        rows: list[Rows] = end.value
        return rows
    finally:
        talk.close()


async def _events(socket: int, wanted: int) -> int:
    """Return which of these events there is, once there is one."""
    loop = asyncio.get_running_loop()
    there: asyncio.Future[int] = loop.create_future()

    def tell(event: int) -> None:
        if not there.done():
            there.set_result(event)

    loop.add_reader(socket, tell, select.POLLIN)
    if wanted & select.POLLOUT:
        loop.add_writer(socket, tell, select.POLLOUT)
    try:
        return await there
    finally:
        loop.remove_reader(socket)
        loop.remove_writer(socket)


Talk = Generator[int, int, Value]
"""What is said on a connection: it yields which events it waits for, and is sent those that there are."""


def _talk(
    connection: psycopg.Connection,
    prepared: Prepared,
    statements: Sequence[Statement],
    *,
    begins: bool,
    commits: bool,
    is_tried_again: bool = True,
) -> Talk[list[Rows]]:
    is_alone = connection.pgconn.transaction_status == pq.TransactionStatus.IDLE
    before = [_begin(connection)] if is_alone and begins and not connection.autocommit else []
    around = (before, [_COMMIT] if commits else [])
    try:
        return (yield from _exchange(connection, prepared, statements, around))
    except errors.InvalidSqlStatementName:
        # Somebody, as psycopg after DDL, had the server forget all that was parsed on this connection.
        doubt(prepared)
        if not (is_alone and is_tried_again):
            raise
        connection.rollback()
        return (yield from _exchange(connection, prepared, statements, around))


def doubt(prepared: Prepared) -> None:
    """Have all be parsed anew that is used again: the server may have forgotten it."""
    prepared.update(dict.fromkeys(prepared, False))


def _exchange(
    connection: psycopg.Connection,
    prepared: Prepared,
    statements: Sequence[Statement],
    around: tuple[list[_Command], list[_Command]],
) -> Talk[list[Rows]]:
    transformer: Transformer = adapt.Transformer(connection)
    bound = [_bound(transformer, *statement) for statement in statements]
    before, after = around
    closed = _closed(prepared, [its.name for its in bound])
    commands = [*before, *closed, *(command for its in bound for command in _commands(prepared, its)), *after]
    results = yield from _sent(connection, commands)
    for result in results:
        if result.status not in _DONE:
            doubt(prepared)
            raise errors.error_from_result(result, connection.info.encoding)
    answers = (result for command, result in zip(commands, results, strict=True) if command.is_answered)
    return [_rows(transformer, result) for result in answers]


_DONE = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.EMPTY_QUERY)


def _rows(transformer: Transformer, result: PGresult) -> Rows:
    if result.status != pq.ExecStatus.TUPLES_OK:
        return []
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, tuple)


class _Bound(NamedTuple):
    """A statement with its values as PostgreSQL takes them."""

    name: bytes
    sql: bytes
    values: Sequence[Buffer | None]
    types: tuple[int, ...]
    formats: Sequence[pq.Format] | None


def _bound(transformer: Transformer, sql: str, values: Mapping[str, Any]) -> _Bound:
    numbered, names = _numbered(sql)
    own = transformer.dump_sequence([values[name] for name in names], [PyFormat.AUTO] * len(names))
    types = tuple(transformer.types or ())
    return _Bound(_name(numbered, types), numbered, own, types, transformer.formats)


@lru_cache(maxsize=1_000)
def _numbered(sql: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the statement with its places as PostgreSQL has them, `$1` to `$n`, and the names of those."""
    numbers: dict[str, int] = {}

    def place(found: re.Match[str]) -> str:
        name: str | None = found[1]
        return "%" if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

    return _PLACE.sub(place, sql).encode(), tuple(numbers)


@lru_cache(maxsize=1_000)
def _name(sql: bytes, types: tuple[int, ...]) -> bytes:
    """Return what a statement with values of these types is called on every connection."""
    return b"trip_" + hashlib.sha256(sql + repr(types).encode()).hexdigest()[:24].encode()


class _Command(NamedTuple):
    """A step of the protocol, and whether its result is what a statement returns."""

    send: Callable[[PGconn], None]
    is_answered: bool = False


def _begin(connection: psycopg.Connection) -> _Command:
    """Return how a transaction begins, isolated as the connection says."""
    level = connection.isolation_level
    begin = b"BEGIN" if level is None else f"BEGIN ISOLATION LEVEL {level.name.replace('_', ' ')}".encode()
    return _Command(lambda pgconn: pgconn.send_query_params(begin, None))


_COMMIT = _Command(lambda pgconn: pgconn.send_query_params(b"COMMIT", None))


def _commands(prepared: Prepared, its: _Bound) -> list[_Command]:
    """Return how a statement is run, which is parsed before that if it was not yet."""
    run = _Command(
        lambda pgconn: pgconn.send_query_prepared(its.name, its.values, its.formats, pq.Format.BINARY),
        is_answered=True,
    )
    is_there = prepared.pop(its.name, False)
    prepared[its.name] = True
    if is_there:
        return [run]
    parse = _Command(lambda pgconn: pgconn.send_prepare(its.name, its.sql, its.types))
    # To close what is not there is no error, and to parse what is there would be one.
    return [_close(its.name), parse, run]


def _closed(prepared: Prepared, wanted: Collection[bytes]) -> list[_Command]:
    """Return how those are forgotten that were not used for longest, where there are too many with the wanted ones."""
    many = len(prepared) + sum(name not in prepared for name in wanted) - MOST_PREPARED
    if many <= 0:
        return []
    oldest = [name for name in prepared if name not in wanted][:many]
    for name in oldest:
        del prepared[name]
    return [_close(name) for name in oldest]


def _close(name: bytes) -> _Command:
    return _Command(lambda pgconn: pgconn.send_close_prepared(name))


def _sent(connection: psycopg.Connection, commands: Sequence[_Command]) -> Talk[list[PGresult]]:
    """Return the result of each command."""
    pgconn = connection.pgconn
    pgconn.enter_pipeline_mode()
    try:
        for command in commands:
            command.send(pgconn)
        pgconn.pipeline_sync()
        results = yield from _received(pgconn)
        pgconn.exit_pipeline_mode()
    except BaseException as error:
        if not isinstance(error, psycopg.Error):  # somebody interrupts it: so may the server be
            with suppress(psycopg.Error):
                pgconn.get_cancel().cancel()
        pgconn.finish()  # what of it is still under way is not known
        raise
    return results


def _received(pgconn: PGconn) -> Talk[list[PGresult]]:
    while pgconn.flush():
        # A server that waits for us to read its answers reads no more of ours.
        if (yield select.POLLIN | select.POLLOUT) & ~select.POLLOUT:
            pgconn.consume_input()
    results: list[PGresult] = []
    while True:
        while pgconn.is_busy():
            yield select.POLLIN
            pgconn.consume_input()
        result = pgconn.get_result()
        if result is not None and result.status == pq.ExecStatus.PIPELINE_SYNC:
            return results
        if result is not None:
            results.append(result)
        elif pgconn.status == pq.ConnStatus.BAD:  # else None stands between the results of two commands
            raise psycopg.OperationalError(pgconn.get_error_message())
