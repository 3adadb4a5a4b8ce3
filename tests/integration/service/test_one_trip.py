"""Statements that go to PostgreSQL together."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.orm import Session

from app.store.pipeline import in_one_trip, with_the_next
from app.store.repositories import projects
from app.store.repositories.projects import CommitFacts, completed
from app.store.tables import Project
from app.wiring import Service

pytestmark = pytest.mark.postgres


def test_each_sees_what_those_before_it_did(session: Session) -> None:
    counted = "select count(*) from project where name = %(name)s"
    which = {"name": "acme/one"}
    assert in_one_trip(session, (MADE, which), (counted, which)) == [[("acme/one",)], [(1,)]]


def test_they_see_what_the_session_has_not_written_yet(session: Session) -> None:
    session.add(Project(name="acme/held"))
    found = in_one_trip(session, ("select name from project where name like %(like)s", {"like": "acme/%"}))
    assert found == [[("acme/held",)]]


def test_what_failed_is_told_as_any_statement_that_fails(session: Session) -> None:
    with pytest.raises(DataError, match="division by zero"):
        in_one_trip(session, ("select 1", {}), ("select 1 / %(zero)s::int", {"zero": 0}))
    session.rollback()
    session.execute(text("set local statement_timeout = 1"))
    with pytest.raises(OperationalError, match="statement timeout"):
        in_one_trip(session, ("select pg_sleep(5)", {}))


MADE = "insert into project (name) values (%(name)s) returning name"


def test_what_joins_the_next_trip_goes_before_it(session: Session) -> None:
    rows = with_the_next(session, (MADE, {"name": "acme/joined"}))
    counted = "select count(*) from project where name = %(name)s"
    assert in_one_trip(session, (counted, {"name": "acme/joined"})) == [[(1,)]]
    assert rows() == rows() == [("acme/joined",)]


def test_what_joins_is_sent_by_itself_where_it_is_wanted_before(session: Session) -> None:
    rows = [with_the_next(session, (f"select {number}", {})) for number in (1, 2)]
    assert [its() for its in rows] == [[(1,)], [(2,)]]
    assert in_one_trip(session, ("select 3", {})) == [[(3,)]]


def test_a_trip_may_end_its_transaction(service: Service) -> None:
    with service.database.session() as one, service.database.session() as other:
        in_one_trip(one, (MADE, {"name": "acme/ended"}), ends=True)
        assert projects.find_project(other, "acme/ended")
        assert projects.find_project(one, "acme/ended")
    with pytest.raises(DataError), service.database.session() as one:
        in_one_trip(one, (MADE, {"name": "acme/failed"}), ("select 1 / %(n)s::int", {"n": 0}), ends=True)
    with service.database.session() as other:
        assert projects.find_project(other, "acme/failed") is None


FACTS = CommitFacts("a" * 40, None, "main", None, "Ada", "First", 7)


def commit_ids(session: Session, project_id: int, *wanted: CommitFacts) -> dict[str, int]:
    with projects.making_commits(session, project_id, wanted) as made:
        return made()


def test_a_commit_that_is_known_wholly_is_not_locked(service: Service) -> None:
    with service.database.session() as session:
        project_id = projects.project(session, "acme/locks").id
        commit_ids(session, project_id, FACTS)
    with service.database.session() as one, service.database.session() as other:
        known = FACTS._replace(author="", subject="Another")
        in_one_trip(one, completed(project_id, [known]))
        other.execute(text("select from commit for update nowait"))


def test_what_is_known_of_a_commit_only_later_fills_what_was_empty(session: Session) -> None:
    project_id = projects.project(session, "acme/later").id
    bare = FACTS._replace(author="", subject="", position=None)
    first = commit_ids(session, project_id, bare)
    again = commit_ids(session, project_id, FACTS._replace(branch="other"))
    assert first == again
    its = session.execute(text("select author, subject, position, branch from commit")).one()
    assert tuple(its) == ("Ada", "First", 7, "main")
