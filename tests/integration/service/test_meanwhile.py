"""PostgreSQL works on statements while whoever asked does something else, and waits for their rows later."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session

from app.store.pipeline import meanwhile
from app.wiring import Service

pytestmark = pytest.mark.postgres

QUOTIENT = "select 6 / %(n)s::int"


def test_rows_are_waited_for_where_they_are_wanted(session: Session) -> None:
    with meanwhile(session, (QUOTIENT, {"n": 2}), (QUOTIENT, {"n": 3})) as rows:
        others = 1
        assert rows() == [[(3,)], [(2,)]]
    assert others == session.scalar(text("select 1"))


def test_what_a_statement_waits_for_may_be_done_by_the_block(service: Service) -> None:
    lock = "select 'locked' from pg_advisory_xact_lock(7)"
    with service.database.session() as holding, service.database.session() as wanting:
        holding.execute(text(lock))
        with meanwhile(wanting, (lock, {})) as rows:
            holding.commit()
            assert rows() == [[("locked",)]]


def test_what_a_statement_does_belongs_to_the_sessions_transaction(service: Service) -> None:
    made = "insert into project (name) values (%(name)s)"
    with service.database.session() as session:
        with meanwhile(session, (made, {"name": "acme/meanwhile"})) as rows:
            rows()
        session.rollback()
        assert session.scalar(text("select count(*) from project")) == 0


def test_error_of_a_statement_is_told_where_its_rows_are_waited_for(session: Session) -> None:
    with meanwhile(session, (QUOTIENT, {"n": 0})) as rows, pytest.raises(DataError, match="division by zero"):
        rows()
    session.rollback()
    assert session.scalar(text("select 1")) == 1


def test_block_that_fails_leaves_the_session_and_the_pool_usable(service: Service) -> None:
    for _ in range(3):
        with (
            pytest.raises(KeyError),
            service.database.session() as session,
            meanwhile(session, ("select pg_sleep(%(s)s)", {"s": 0.05})),
        ):
            raise KeyError
    with service.database.session() as session:
        assert session.scalar(text("select 1")) == 1
