"""A short document that names no new series is stored by one statement: as any other is, and for nobody else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Row, func, select, text, update
from sqlalchemy.orm import Session

from app.services.access import Principal, Role, Scope, issue_token
from app.services.ingest_at_once import ingest_at_once
from app.services.ingest_results import ingest_results
from app.store.prompt import Prompt
from app.store.repositories import projects
from app.store.session import make_engine
from app.store.tables import Commit, Result, Token, Upload
from app.wiring import Service
from tests.factories.application import application
from tests.factories.people import person
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)


@pytest.fixture
def token(service: Service) -> str:
    with service.database.session() as session:
        return issue_token(session, "writer", [Scope.RESULTS_WRITE])


@pytest.mark.parametrize("commit", ["c", "d"], ids=["known commit", "new commit"])
def test_what_names_no_new_series_is_looked_up_and_stored_in_one_trip(
    client: TestClient, token: str, session: Session, trips: list[int], commit: str
) -> None:
    post_results(client, token, posted_document())
    trips.clear()
    again = posted_document(posted_result(values=[2.0]), commit=commit * 40)
    assert post_results(client, token, again).status_code == 201
    assert trips == [], "none of those that a thread waits for"
    assert session.scalars(select(Result.value).order_by(Result.id)).all() == [0.0011, 0.002]


DOCUMENTS = {
    "one result": posted_document(posted_result(values=[3.0, 1.0, 2.0])),
    "two results": posted_document(posted_result("crop", [5.0]), posted_result("resize", [4.0])),
    "another prefix of the unit": posted_document(posted_result(unit="us", values=[1500.0])),
    "all its values are zero": posted_document(posted_result(values=[0, 0]), time="2020-01-01T00:00:00Z"),
    "no branch": posted_document(branch=None),
    "another branch": posted_document(branch="feature", measured_at="2026-11-20T10:00:00Z"),
    "a new commit": posted_document(commit="d" * 40, parent="c" * 40, author="Ada", subject="Shrink it"),
    "more of its commit": posted_document(parent="b" * 40, time="2026-11-19T08:00:00+01:00", position=7),
}


def rows(session: Session, project: str) -> list[Row[Any]]:
    """All that is stored of the project's last upload but the numbers of rows and the times of receipt."""
    query = text(
        """
        select upload.key, upload.body_digest, upload.posted_by, environment.digest, commit.sha, commit.parent_sha,
          commit.branch, commit.authored_at, commit.author, commit.subject, commit.position,
          upload.answer #- '{series,0,id}' #- '{series,1,id}' as answer,
          benchmark, params_key, metric, device_class, version, unit, arm, value, low, high, n, flags, measured_at,
          result.branch, place, result.run_id, sample."values", sample.void,
          audit_log.actor, audit_log.action, audit_log.detail - 'project', audit_log.address,
          outbox.topic, outbox.payload = jsonb_build_object('project_id', project.id), outbox.sent_at,
          outbox.available_at between clock_timestamp() - interval '1 minute' and clock_timestamp() + interval '2 s'
        from project
        join upload on upload.id = (select max(id) from upload where project_id = project.id)
        join environment on environment.id = environment_id
        join commit on commit.id = upload.commit_id
        join result on result.upload_id = upload.id and result.commit_id = upload.commit_id
        join sample on sample.result_id = result.id
        join series on series.id = series_id
        join benchmark_case on benchmark_case.id = case_id
        join audit_log on audit_log.object = 'upload/' || upload.id
        join outbox on outbox.key = 'series.examine/' || project.id
        where project.name = :project
        order by benchmark
        """
    )
    return list(session.execute(query, {"project": project}).all())


@pytest.mark.parametrize("key", ["it", None])
@pytest.mark.parametrize("document", DOCUMENTS.values(), ids=DOCUMENTS)
def test_it_is_stored_as_any_other(
    client: TestClient,
    service: Service,
    token: str,
    session: Session,
    document: dict[str, Any],
    key: str | None,
) -> None:
    """The one is posted with its token, and the other by who is known already."""
    writer = Principal("writer", frozenset({Scope.RESULTS_WRITE}))
    both = posted_document(posted_result("crop"), posted_result("resize"))
    for project in ("acme/at-once", "acme/else"):
        post_results(client, token, both | {"project": project})
    status = post_results(client, token, document | {"project": "acme/at-once"}, key=key).status_code
    with service.database.session() as other:
        body = client.build_request("POST", "/", json=document | {"project": "acme/else"}).content
        stored, answer = ingest_results(other, lambda: writer, key, body, now=datetime.now(UTC))
    assert status == stored == 201
    at_once, otherwise = (rows(session, project) for project in ("acme/at-once", "acme/else"))
    assert len(at_once) == len(document["results"]) == len(answer["series"])
    differing = {
        name
        for one, two in zip(at_once, otherwise, strict=True)
        for name in one._fields
        if one._mapping[name] != two._mapping[name]
    }
    of_each = {"body_digest"} if key else {"body_digest", "key"}
    assert differing <= of_each | ({"measured_at"} if "measured_at" not in document else set())


def of_no_scope(session: Session) -> str:
    return issue_token(session, "reader", [Scope.RESULTS_READ, Scope.JOBS_CREATE, Scope.ALERTS_WRITE])


def of_another_project(session: Session) -> str:
    other = projects.project(session, "acme/speech")
    return issue_token(session, "bound", [Scope.RESULTS_WRITE], project_id=other.id)


def expired(session: Session) -> str:
    return issue_token(session, "old", [Scope.ADMIN], expires_at=datetime.now(UTC) - timedelta(seconds=1))


def revoked(session: Session) -> str:
    shown = issue_token(session, "revoked", [Scope.ADMIN])
    session.execute(update(Token).where(Token.name == "revoked").values(revoked_at=NOW))
    return shown


def of_another_secret(session: Session) -> str:
    _, public_id, secret = issue_token(session, "guessed", [Scope.ADMIN]).split("_")
    return f"ratchet_{public_id}_{secret[::-1]}"


def of_a_viewer(session: Session) -> str:
    return own(session, Role.VIEWER)


def of_a_disabled_maintainer(session: Session) -> str:
    return own(session, Role.MAINTAINER, disabled_at=NOW)


def own_of_a_maintainer(session: Session) -> str:
    return own(session, Role.MAINTAINER)


def own(session: Session, role: Role, **changes: Any) -> str:
    """A token of somebody's with this role in the project."""
    user = person(session, "ada", {"acme/vision": role})
    for name, value in changes.items():
        setattr(user, name, value)
    project = projects.project(session, "acme/vision")
    return issue_token(session, "own", [Scope.RESULTS_WRITE], project_id=project.id, user_id=user.id)


REFUSED = [
    (of_no_scope, 403),
    (of_another_project, 403),
    (expired, 401),
    (revoked, 401),
    (of_another_secret, 401),
    (of_a_viewer, 403),
    (of_a_disabled_maintainer, 401),
]


def count(session: Session, table: type[Upload | Commit]) -> int | None:
    return session.scalar(select(func.count()).select_from(table))


@pytest.mark.parametrize(("made", "status"), REFUSED)
def test_nothing_is_stored_for_a_token_that_may_not_post_there(
    client: TestClient,
    service: Service,
    token: str,
    session: Session,
    made: Callable[[Session], str],
    status: int,
) -> None:
    post_results(client, token, posted_document())
    with service.database.session() as other:
        its = made(other)
    for commit in "cd":
        again = posted_document(posted_result(values=[2.0]), commit=commit * 40)
        assert post_results(client, its, again).status_code == status
    assert (count(session, Upload), count(session, Commit)) == (1, 1)


@pytest.mark.parametrize("made", [*(made for made, _ in REFUSED), own_of_a_maintainer])
def test_the_statement_itself_stores_nothing_under_such_a_token(
    client: TestClient, service: Service, token: str, session: Session, made: Callable[[Session], str]
) -> None:
    post_results(client, token, posted_document())
    with service.database.session() as other:
        its = made(other)
        other.execute(update(Token).values(last_used_at=func.clock_timestamp()))

    def at_once(shown: str, commit: str) -> int | None:
        document = posted_document(posted_result(values=[2.0]), commit=commit * 40)
        body = json.dumps(document).encode()
        found = asyncio.run(ingest_at_once(service.database.prompt, shown, None, body, now=datetime.now(UTC)))
        return found and found[0]

    assert [at_once(its, commit) for commit in "cd"] == [None, None]
    assert (count(session, Upload), count(session, Commit)) == (1, 1)
    assert [at_once(token, commit) for commit in "cd"] == [201, 201], "there is nothing else against it"


@pytest.mark.parametrize("scope", [Scope.RESULTS_WRITE, Scope.ADMIN])
def test_a_token_of_the_project_may_post_at_once(
    client: TestClient, service: Service, token: str, trips: list[int], scope: Scope
) -> None:
    post_results(client, token, posted_document())
    with service.database.session() as session:
        project = projects.project(session, "acme/vision")
        its = issue_token(session, "its", [scope], project_id=project.id)
    post_results(client, its, posted_document(posted_result(values=[2.0])))
    trips.clear()
    assert post_results(client, its, posted_document(posted_result(values=[3.0]))).status_code == 201
    assert trips == []


def test_a_maintainers_own_token_may_post(client: TestClient, service: Service, token: str) -> None:
    post_results(client, token, posted_document())
    with service.database.session() as session:
        its = own(session, Role.MAINTAINER)
    again = posted_document(posted_result(values=[2.0]))
    assert post_results(client, its, again).json()["series"][0]["n"] == 2
    assert post_results(client, its, again).status_code == 200
    posters = application(service).state.posters
    assert (token in posters, its in posters) == (True, False), "it is not tried at once each time"


def test_it_is_stored_as_well_where_no_connection_is_at_hand(
    client: TestClient, service: Service, token: str, trips: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    post_results(client, token, posted_document())
    monkeypatch.setattr(
        service.database, "prompt", Prompt(make_engine("postgresql://nobody@127.0.0.1:1/nothing"))
    )
    trips.clear()
    again = posted_document(posted_result(values=[2.0]))
    assert post_results(client, token, again).json()["series"][0]["n"] == 2
    assert trips, "a thread waited for them"


def test_of_many_at_once_one_is_stored(client: TestClient, token: str, session: Session) -> None:
    post_results(client, token, posted_document())
    gate = Barrier(6)
    again = posted_document(posted_result(values=[2.0]), commit="d" * 40)

    def post() -> tuple[int, bytes]:
        gate.wait()
        response = post_results(client, token, again)
        return response.status_code, response.content

    with ThreadPoolExecutor(6) as pool:
        answers = [future.result() for future in [pool.submit(post) for _ in range(6)]]
    assert sorted(status for status, _ in answers) == [200] * 5 + [201]
    assert len({content for _, content in answers}) == 1
    assert session.scalar(select(func.count()).select_from(Result)) == 2


def test_when_a_token_was_used_last_is_noted(client: TestClient, token: str, session: Session) -> None:
    post_results(client, token, posted_document())
    session.execute(update(Token).values(last_used_at=NOW - timedelta(days=1)))
    session.commit()
    post_results(client, token, posted_document(posted_result(values=[2.0])))
    session.expire_all()
    used = session.scalars(select(Token.last_used_at).where(Token.name == "writer")).one()
    assert used is not None
    assert datetime.now(UTC) - used < timedelta(minutes=1)
