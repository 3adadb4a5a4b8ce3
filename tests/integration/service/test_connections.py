"""Pooled connections whose server went away, in a real PostgreSQL: whoever takes one next gets one that works."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, text

from app.store import liveness
from app.store.session import make_engine


@pytest.fixture
def pool(database_url: str) -> Iterator[Engine]:
    """An engine of its own, without connections."""
    engine = make_engine(database_url, pool_size=2)
    yield engine
    engine.dispose()


def _backend(engine: Engine) -> int:
    with engine.connect() as connection:
        pid = connection.scalar(text("select pg_backend_pid()"))
    assert isinstance(pid, int)
    return pid


def _end(engine: Engine, backends: list[int]) -> None:
    """Have the server end its side of connections, as it does when it stops, and wait until it has."""
    query = text("select bool_and(pg_terminate_backend(pid, 5000)) from unnest(:pids) as pid")
    with engine.connect() as connection:
        assert connection.scalar(query, {"pids": backends})


def test_a_connection_that_works_is_used_again(pool: Engine) -> None:
    assert _backend(pool) == _backend(pool)


def test_what_the_server_ended_is_replaced(pool: Engine, engine: Engine) -> None:
    before = _backend(pool)
    _end(engine, [before])
    assert _backend(pool) != before


def test_all_that_the_server_ended_are_replaced(pool: Engine, engine: Engine) -> None:
    with pool.connect() as one, pool.connect() as other:
        before = [c.scalar(text("select pg_backend_pid()")) for c in (one, other)]
    _end(engine, before)
    with pool.connect() as one, pool.connect() as other:
        after = [c.scalar(text("select pg_backend_pid()")) for c in (one, other)]
    assert not set(before) & set(after)


def test_what_was_idle_for_long_is_tried(
    pool: Engine, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(liveness, "TRIED_AFTER_S", -1.0)
    before = _backend(pool)
    assert _backend(pool) == before
    monkeypatch.setattr(liveness, "has_ended", lambda _: False)
    _end(engine, [before])
    assert _backend(pool) != before
