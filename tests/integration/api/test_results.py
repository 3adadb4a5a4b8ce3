"""Results posted from elsewhere, through the real API into PostgreSQL."""

from __future__ import annotations

import gzip
import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from time import monotonic, sleep
from typing import Any

import pytest
from sqlalchemy import event, func, select
from sqlalchemy.orm import Session

from app.domain.errors import ConflictError
from app.services.access import Principal, Scope, issue_token
from app.services.ingest_results import QUICK_B, ingest_results
from app.store.tables import (
    AuditLog,
    BenchmarkCase,
    Commit,
    Environment,
    Project,
    Result,
    Sample,
    Series,
    Upload,
)
from app.wiring import Service
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from tests.integration.conftest import somebody_waits

pytestmark = pytest.mark.postgres

WRITER = Principal("writer", frozenset({Scope.RESULTS_WRITE}))
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def writer_token(service: Service) -> str:
    with service.database.session() as session:
        return issue_token(session, "writer", [Scope.RESULTS_WRITE])


def count(session: Session, table: type[Any]) -> int:
    return session.scalar(select(func.count()).select_from(table)) or 0


def assert_nothing_is_stored(session: Session) -> None:
    for table in (Project, Commit, Environment, BenchmarkCase, Upload, Series, Result, Sample):
        assert count(session, table) == 0, table.__tablename__


def test_posted_results_become_points_of_their_series(client, writer_token, session):
    document = posted_document(
        posted_result("resize", [1.0, 4.0, 2.0]),
        posted_result("crop", [900], metric="throughput", unit="images/s", better="higher", params={}),
        parent="b" * 40,
        time="2026-11-20T12:00:00Z",
    )
    response = post_results(client, writer_token, document)
    assert response.status_code == 201
    ids = [entry["id"] for entry in response.json()["series"]]
    assert response.json() == {
        "run": "upload-1",
        "series": [
            {"id": ids[0], "benchmark": "resize", "metric": "latency_p50", "n": 1, "new": True},
            {"id": ids[1], "benchmark": "crop", "metric": "throughput", "n": 1, "new": True},
        ],
    }
    latency, throughput = (session.get_one(Series, series_id) for series_id in ids)
    assert (latency.unit, latency.better, latency.device_class) == ("s", "lower", "cpu-test-2t")
    assert (throughput.unit, throughput.better) == ("images/s", "higher")
    result = session.scalars(select(Result).where(Result.series_id == latency.id)).one()
    assert (result.value, result.low, result.high, result.n) == (0.002, 0.001, 0.004, 3)
    assert session.get_one(Sample, result.id).values == [0.001, 0.004, 0.002]
    commit = session.get_one(Commit, result.commit_id)
    assert (commit.sha, commit.parent_sha, commit.branch) == ("c" * 40, "b" * 40, "main")
    assert commit.authored_at == datetime(2026, 11, 20, 12, tzinfo=UTC)
    environment = session.scalars(select(Environment)).one()
    assert environment.machine == {"kernel": "6.8.0"}


def test_post_is_in_the_audit_log(client, writer_token, session):
    post_results(client, writer_token, posted_document())
    entry = session.scalars(select(AuditLog).where(AuditLog.action == "results.posted")).one()
    assert (entry.actor, entry.object) == ("writer", "upload/1")
    assert entry.detail == {"project": "acme/vision", "results": 1}


def test_second_post_extends_the_series_whatever_the_prefix_of_its_unit(client, writer_token, session):
    first = post_results(client, writer_token, posted_document())
    again = posted_document(posted_result(unit="us", values=[1500.0]), commit="d" * 40)
    second = post_results(client, writer_token, again)
    assert second.status_code == 201
    assert second.json()["series"] == [first.json()["series"][0] | {"n": 2, "new": False}]
    assert sorted(session.scalars(select(Result.value))) == [0.0011, 0.0015]


def test_equal_environments_are_one(client, writer_token, session):
    post_results(client, writer_token, posted_document(environment={"a": 1, "b": {"c": 2}}))
    post_results(client, writer_token, posted_document(environment={"b": {"c": 2}, "a": 1}, commit="d" * 40))
    assert count(session, Environment) == 1


def test_doubt_about_a_sample_is_kept_with_its_result(client, writer_token, session):
    document = posted_document(posted_result(values=[0, 0]), time="2020-01-01T00:00:00Z")
    assert post_results(client, writer_token, document).status_code == 201
    assert session.scalars(select(Result.flags)).one() == ["all_zero", "client_time"]


# --- who may -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("authorization", [None, "Bearer", "Bearer x", "Bearer ratchet_1_2", "Basic abc"])
@pytest.mark.parametrize("body", [b"{}", json.dumps(posted_document()), b" " * QUICK_B + b"{}"])
def test_post_without_a_good_token_is_answered_401(client, session, authorization, body):
    headers = {"Authorization": authorization} if authorization else {}
    response = client.post("/api/v1/results", content=body, headers=headers)
    assert response.status_code == 401
    assert response.json()["code"] == "unauthenticated"
    assert_nothing_is_stored(session)


@pytest.mark.parametrize("scope", [Scope.RESULTS_READ, Scope.WORKER, Scope.JOBS_CREATE])
def test_post_with_a_token_of_another_scope_is_answered_403(client, service, session, scope):
    with service.database.session() as other:
        token = issue_token(other, "reader", [scope])
    response = post_results(client, token, posted_document())
    assert response.status_code == 403
    assert response.json()["code"] == "forbidden"
    assert_nothing_is_stored(session)


@pytest.mark.parametrize("project", ["acme/vision", "not/there"])
def test_bound_token_may_post_to_its_own_project_alone(client, service, session, project):
    token = bound_token(service, "acme/speech", Scope.RESULTS_WRITE)
    assert post_results(client, token, posted_document(project=project)).status_code == 403
    assert post_results(client, token, posted_document(project="acme/speech")).status_code == 201
    assert session.scalars(select(Project.name)).all() == ["acme/speech"]


# --- what is refused -----------------------------------------------------------------------------------------


def test_body_over_the_limit_is_answered_413(client, writer_token, service, session):
    body = b" " * (service.settings.max_body_b + 1)
    response = client.post(
        "/api/v1/results", content=body, headers={"Authorization": f"Bearer {writer_token}"}
    )
    assert response.status_code == 413
    assert response.json()["code"] == "too_large"


def test_gzip_bomb_is_answered_413(client, writer_token, service):
    bomb = gzip.compress(b" " * (4 * service.settings.max_body_b))
    assert len(bomb) < 100_000
    headers = {"Authorization": f"Bearer {writer_token}", "Content-Encoding": "gzip"}
    response = client.post("/api/v1/results", content=bomb, headers=headers)
    assert response.status_code == 413


def test_gzip_body_is_taken(client, writer_token):
    body = gzip.compress(json.dumps(posted_document()).encode())
    headers = {"Authorization": f"Bearer {writer_token}", "Content-Encoding": "gzip"}
    assert client.post("/api/v1/results", content=body, headers=headers).status_code == 201


def test_bad_document_is_answered_422_with_paths_and_nothing_is_stored(client, writer_token, session):
    document = posted_document(posted_result(), posted_result("crop", [1.0, float("nan")]))
    headers = {"Authorization": f"Bearer {writer_token}"}
    response = client.post("/api/v1/results", content=json.dumps(document), headers=headers)
    assert response.status_code == 422
    answer = response.json()
    assert answer["code"] == "bad_payload"
    assert [(e["path"], e["code"]) for e in answer["errors"]] == [("results[1].values[1]", "not_finite")]
    assert_nothing_is_stored(session)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xff", b'{"project": "\\ud800"}', b'{"\\ud800": 1}', b"[" * 50_000, b'{"commit": "\\u202e"}'],
)
def test_whatever_is_posted_is_answered_with_a_4xx(client, writer_token, body):
    headers = {"Authorization": f"Bearer {writer_token}"}
    response = client.post("/api/v1/results", content=body, headers=headers)
    assert response.status_code == 422
    assert response.json()["errors"]


@pytest.mark.parametrize(
    ("change", "path", "code"),
    [
        ({"unit": "MiB"}, "results[1].unit", "unit_mismatch"),
        ({"unit": "widgets"}, "results[1].unit", "unit_mismatch"),
        ({"better": "higher"}, "results[1].better", "direction_mismatch"),
    ],
)
def test_post_that_contradicts_a_series_is_answered_422_and_stored_in_no_part(
    client, writer_token, session, change, path, code
):
    post_results(client, writer_token, posted_document())
    document = posted_document(posted_result("crop"), posted_result(**change), commit="d" * 40)
    response = post_results(client, writer_token, document)
    assert response.status_code == 422
    assert response.json()["code"] == code
    assert [(e["path"], e["code"]) for e in response.json()["errors"]] == [(path, code)]
    assert [count(session, table) for table in (Upload, Commit, BenchmarkCase, Series, Result)] == [1] * 5


def test_largest_case_that_is_allowed_can_be_stored(client, writer_token):
    rng = random.Random(3)
    words = ["".join(chr(rng.randrange(0x4E00, 0x9FA5)) for _ in range(80)) for _ in range(8)]
    document = posted_document(
        posted_result("".join(words)[:85], params={f"p{i}": w for i, w in enumerate(words)})
    )
    assert post_results(client, writer_token, document).status_code == 201


# --- the same again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [None, "build-17", "x" * 255])
def test_same_document_again_is_answered_200_with_the_same_bytes(client, writer_token, session, key):
    first = post_results(client, writer_token, posted_document(), key)
    second = post_results(client, writer_token, posted_document(), key)
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.content == first.content
    assert count(session, Result) == 1


def test_answer_to_the_same_again_stays_what_it_was_after_the_series_grew(client, writer_token):
    first = post_results(client, writer_token, posted_document(), "one")
    post_results(client, writer_token, posted_document(commit="d" * 40), "two")
    assert post_results(client, writer_token, posted_document(), "one").content == first.content


def test_other_document_under_the_same_key_is_answered_409(client, writer_token, session):
    post_results(client, writer_token, posted_document(), "build-17")
    response = post_results(client, writer_token, posted_document(commit="d" * 40), "build-17")
    assert response.status_code == 409
    assert response.json()["code"] == "idempotency_conflict"
    assert [count(session, table) for table in (Commit, Result)] == [1, 1]


def test_other_document_under_the_same_key_is_answered_409_also_where_its_unit_is_another(
    client, writer_token
):
    post_results(client, writer_token, posted_document(), "build-17")
    other = posted_document(posted_result(unit="B"))
    assert post_results(client, writer_token, other, "build-17").json()["code"] == "idempotency_conflict"
    assert post_results(client, writer_token, other, "build-18").json()["code"] == "unit_mismatch"


def test_time_of_an_offset_with_seconds_is_kept_exactly(client, writer_token, session):
    measured = posted_document(measured_at="2024-01-02T03:04:05+01:02:03")
    post_results(client, writer_token, measured)
    assert session.scalars(select(Result.measured_at)).one() == datetime(2024, 1, 2, 2, 2, 2, tzinfo=UTC)


def test_number_that_no_column_of_four_bytes_holds_is_equal_to_none(session):
    assert session.scalars(select(Result).where(Result.series_id == 2**40)).all() == []


def test_same_document_under_another_key_is_another_run(client, writer_token):
    post_results(client, writer_token, posted_document(), "first")
    response = post_results(client, writer_token, posted_document(), "second")
    assert response.status_code == 201
    assert response.json()["series"][0]["n"] == 2


def test_each_project_has_keys_of_its_own(client, writer_token):
    for project in ("acme/vision", "acme/speech"):
        assert post_results(client, writer_token, posted_document(project=project), "k").status_code == 201


@pytest.mark.parametrize("key", ["", "x" * 256, "caf\xe9"])
def test_key_that_is_none_is_answered_422(client, writer_token, key):
    headers = {"Authorization": f"Bearer {writer_token}", "Idempotency-Key": key.encode("latin-1")}
    response = client.post("/api/v1/results", json=posted_document(), headers=headers)
    assert response.status_code == 422
    assert response.json()["errors"][0]["code"] == "bad_key"


# --- at the same time ----------------------------------------------------------------------------------------


def test_same_document_from_many_at_once_is_stored_once(client, writer_token, session):
    gate = threading.Barrier(6)

    def post() -> tuple[int, bytes]:
        gate.wait()
        response = post_results(client, writer_token, posted_document(), "build-17")
        return response.status_code, response.content

    with ThreadPoolExecutor(6) as pool:
        answers = [future.result() for future in [pool.submit(post) for _ in range(6)]]
    assert sorted(status for status, _ in answers) == [200] * 5 + [201]
    assert len({content for _, content in answers}) == 1
    assert [count(session, table) for table in (Upload, Result)] == [1, 1]


def test_posts_of_the_same_series_in_opposite_orders_do_not_deadlock(client, writer_token, session):
    names = [f"bench_{i}" for i in range(200)]
    gate = threading.Barrier(4)

    def post(index: int) -> int:
        ordered = names if index % 2 else names[::-1]
        document = posted_document(*map(posted_result, ordered), commit=f"{index:x}" * 40)
        gate.wait()
        return post_results(client, writer_token, document).status_code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(post, range(4))) == [201] * 4
    assert [count(session, table) for table in (Series, Result)] == [200, 800]


def ingest(session: Session, document: dict[str, Any], key: str = "key") -> tuple[int, dict[str, Any]]:
    return ingest_results(session, lambda: WRITER, key, json.dumps(document).encode(), now=NOW)


@pytest.fixture(params=["nothing known", "project and commit known"])
def first(service: Service, request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session that holds an upload under "key" and has not ended yet."""
    if request.param != "nothing known":
        with service.database.session() as earlier:
            ingest(earlier, posted_document(posted_result("earlier")), key="earlier")
    with Session(service.database.engine) as session:
        assert ingest(session, posted_document())[0] == 201
        yield session


@contextmanager
def waiting(service: Service, document: dict[str, Any]) -> Iterator[Future[tuple[int, dict[str, Any]]]]:
    """Post from another thread, and yield once that post waits for a lock in the database."""

    def post() -> tuple[int, dict[str, Any]]:
        with service.database.session() as session:
            return ingest(session, document)

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(post)
        deadline = monotonic() + 20
        while not somebody_waits(service) and not future.done():
            assert monotonic() < deadline
            sleep(0.01)
        assert not future.done()
        yield future


def test_post_waits_for_another_under_its_key_and_then_gives_its_answer(service, first):
    with waiting(service, posted_document()) as second:
        first.commit()
        assert second.result() == (200, ingest(first, posted_document())[1])


def test_post_waits_for_another_document_under_its_key_and_then_conflicts(service, first):
    with waiting(service, posted_document(posted_result("crop"))) as second:
        first.commit()
        with pytest.raises(ConflictError):
            second.result()


def test_post_takes_the_place_of_another_under_its_key_that_failed(service, first):
    with waiting(service, posted_document()) as second:
        first.rollback()
        assert second.result()[0] == 201


# --- large posts ---------------------------------------------------------------------------------------------


def test_thousand_results_of_ten_values_are_stored_in_a_few_statements(
    client, writer_token, service, session
):
    results = [posted_result(f"bench_{i}", [i + j / 10 for j in range(10)]) for i in range(1000)]
    statements: list[str] = []
    event.listen(service.database.engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    response = post_results(client, writer_token, posted_document(*results))
    assert response.status_code == 201
    assert len(statements) < 40
    assert [entry["benchmark"] for entry in response.json()["series"]] == [r["benchmark"] for r in results]
    assert [count(session, table) for table in (Series, Result, Sample)] == [1000, 1000, 1000]
    stored = session.execute(
        select(BenchmarkCase.benchmark, Sample.values)
        .join(Series, Series.case_id == BenchmarkCase.id)
        .join(Result, Result.series_id == Series.id)
        .join(Sample, Sample.result_id == Result.id)
    ).all()
    wanted = {r["benchmark"]: [value / 1000 for value in r["values"]] for r in results}
    assert {name: values for name, values in stored} == wanted
