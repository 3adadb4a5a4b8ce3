"""PostgreSQL works on statements while whoever asked does something else, and waits for their rows later."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError
from sqlalchemy.orm import Session

from app.store.pipeline import meanwhile, with_the_next
from app.wiring import Service
from tests.factories.waiting import wait_for

pytestmark = pytest.mark.postgres

QUOTIENT = "select 6 / %(n)s::int"
LOCK = "select 'locked' from pg_advisory_xact_lock(7)"
WAITING = text("select count(*) from pg_locks where locktype = 'advisory' and not granted")
MADE = "insert into project (name) values (%(name)s)"
COUNTED = "select count(*) from project"


def test_rows_are_waited_for_where_they_are_wanted(session: Session) -> None:
    with meanwhile(session, (QUOTIENT, {"n": 2}), (QUOTIENT, {"n": 3})) as rows:
        assert rows() == rows() == [[(3,)], [(2,)]]
    assert session.scalar(text("select 1")) == 1


def test_statements_are_under_way_before_anybody_waits_for_them(service: Service) -> None:
    with service.database.session() as holding, service.database.session() as wanting:
        holding.execute(text(LOCK))
        with meanwhile(wanting, (LOCK, {})) as rows:
            wait_for(lambda: holding.scalar(WAITING) == 1)
            holding.commit()
            assert rows() == [[("locked",)]]


def test_what_a_statement_does_belongs_to_the_sessions_transaction(service: Service) -> None:
    with service.database.session() as session:
        with meanwhile(session, (MADE, {"name": "acme/meanwhile"})) as rows:
            rows()
        session.rollback()
        assert session.scalar(text(COUNTED)) == 0


def test_statements_have_ended_with_the_block_though_nobody_wants_their_rows(service: Service) -> None:
    with service.database.session() as session:
        with meanwhile(session, (MADE, {"name": "acme/unasked"})):
            pass
        assert session.scalar(text(COUNTED)) == 1
    with (
        pytest.raises(DataError),
        service.database.session() as session,
        meanwhile(session, (QUOTIENT, {"n": 0})),
    ):
        pass


def test_what_waits_for_the_next_trip_goes_before_them(session: Session) -> None:
    joined = with_the_next(session, (MADE + " returning name", {"name": "acme/joined"}))
    with meanwhile(session, (COUNTED, {})) as rows:
        assert joined() == [("acme/joined",)]
        assert rows() == [[(1,)]]


def test_error_of_a_statement_is_told_each_time_that_its_rows_are_waited_for(session: Session) -> None:
    with meanwhile(session, (QUOTIENT, {"n": 0})) as rows:
        for _ in range(2):
            with pytest.raises(DataError, match="division by zero"):
                rows()
    session.rollback()
    assert session.scalar(text("select 1")) == 1


def test_error_within_a_savepoint_undoes_that_alone(session: Session) -> None:
    session.execute(text("insert into project (name) values ('acme/before')"))
    with pytest.raises(DataError), session.begin_nested(), meanwhile(session, (QUOTIENT, {"n": 0})) as rows:
        rows()
    assert session.scalar(text(COUNTED)) == 1


def fail_meanwhile(service: Service, holding: Session, error: BaseException) -> None:
    """Fail while a statement is under way that waits for what another session holds."""
    with service.database.session() as session, meanwhile(session, (LOCK, {})):
        wait_for(lambda: holding.scalar(WAITING) == 1)
        raise error


def test_block_that_fails_gives_its_connection_back(service: Service) -> None:
    with service.database.session() as holding:
        holding.execute(text(LOCK))
        with pytest.raises(KeyError):
            fail_meanwhile(service, holding, KeyError())
    assert service.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    with service.database.session() as session:
        assert session.scalar(text("select 1")) == 1


def test_who_interrupts_the_block_interrupts_the_server_too(service: Service) -> None:
    with service.database.session() as holding:
        holding.execute(text(LOCK))
        with pytest.raises(KeyboardInterrupt):
            fail_meanwhile(service, holding, KeyboardInterrupt())
        wait_for(lambda: holding.scalar(WAITING) == 0)
    assert service.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
