"""Many documents of results at once: `POST /api/v1/results/batch`."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select

from app.services.access import Scope
from app.store.tables import AuditLog, BenchmarkCase, Commit, Environment, Outbox, Result, Series, Upload
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres


def old_document(number: int, *results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a document of a commit that was measured long ago, on the day of the month that is given."""
    day = f"2020-03-{number:02}T12:00:00+00:00"
    return posted_document(*results, **{"commit": f"{number:040x}", "time": day, "measured_at": day} | fields)


@pytest.fixture
def post(client, admin_token):
    def send(*documents: dict[str, Any], token: str = admin_token) -> Any:
        body = b"\n".join(json.dumps(document).encode() for document in documents)
        return client.post(
            "/api/v1/results/batch", content=body, headers={"Authorization": f"Bearer {token}"}
        )

    return send


def count(session, table) -> int:
    return session.scalar(select(func.count()).select_from(table))


def test_documents_of_a_batch_are_stored_as_if_they_had_come_one_by_one(post, session):
    results = [posted_result("a", [2.0, 4.0, 3.0]), posted_result("b", [1.0], low=0.5, high=9.0)]
    response = post(
        old_document(1, *results), old_document(2, *results, position=8, author="Ada", subject="s")
    )
    assert response.status_code == 200
    assert response.json() == {
        "documents": [
            {"status": "stored", "run": "upload-1", "stored": 2, "known": 0},
            {"status": "stored", "run": "upload-2", "stored": 2, "known": 0},
        ],
        "stored": 4,
        "known": 0,
    }
    commit = session.scalars(select(Commit).where(Commit.sha == f"{2:040x}")).one()
    assert (commit.position, commit.author, commit.subject) == (8, "Ada", "s")
    assert commit.authored_at == datetime(2020, 3, 2, 12, tzinfo=UTC)
    rows = session.scalars(select(Result).where(Result.commit_id == commit.id).order_by(Result.id)).all()
    assert [(row.value, row.low, row.high) for row in rows] == [
        (0.003, 0.002, 0.004),
        (0.001, 0.0005, 0.009),
    ]
    assert {row.measured_at for row in rows} == {commit.authored_at}
    assert {tuple(row.flags) for row in rows} == {("backdated",)}
    assert (count(session, Series), count(session, Outbox)) == (2, 1)
    assert session.scalars(select(AuditLog.action)).all()[-1] == "results.batch"


def test_the_same_batch_again_stores_nothing(post, session):
    post(old_document(1), old_document(2))
    again = post(old_document(1), old_document(2)).json()
    known = {"status": "known", "run": None, "stored": 0, "known": 1}
    assert again == {"documents": [known, known], "stored": 0, "known": 2}
    assert (count(session, Result), count(session, Upload)) == (2, 2)


def test_a_batch_that_came_before_is_not_announced_again(post, session):
    post(posted_document())
    message = session.scalars(select(Outbox)).one()
    message.sent_at = datetime.now(UTC) - timedelta(minutes=1)
    session.commit()
    assert post(posted_document()).json()["known"] == 1
    assert count(session, AuditLog) == 1 + 1, "the token, and the batch that came first"
    session.expire_all()
    assert session.scalars(select(Outbox.sent_at)).one() is not None
    assert post(posted_document(posted_result(values=[3.0]))).json()["stored"] == 1
    session.expire_all()
    assert session.scalars(select(Outbox.sent_at)).one() is None


def test_of_a_document_that_grew_only_what_is_new_is_stored(post, session):
    post(old_document(1, posted_result("a")))
    grown = post(old_document(1, posted_result("a"), posted_result("b"), subject="said later")).json()
    assert (grown["stored"], grown["known"]) == (1, 1)
    assert count(session, Result) == 2
    assert session.scalars(select(Commit.subject)).one() == "said later"


def test_summary_of_values_that_are_no_longer_kept_is_known_again(post, session):
    post(old_document(1, posted_result("a", [2.0, 4.0, 3.0])))
    answer = post(old_document(1, posted_result("a", [3.0], low=2.0, high=4.0))).json()
    assert (answer["stored"], answer["known"]) == (0, 1)
    assert count(session, Result) == 1


def test_line_that_stands_twice_in_a_batch_is_stored_once(post, session):
    plain = posted_document()
    answers = post(plain, plain).json()["documents"]
    assert [answer["status"] for answer in answers] == ["stored", "known"]
    assert count(session, Result) == 1


def test_two_different_measurements_of_one_commit_are_both_kept(post, session):
    post(old_document(1, posted_result(values=[1.0])), old_document(1, posted_result(values=[2.0])))
    assert (count(session, Result), count(session, Commit)) == (2, 1)


def test_one_point_in_two_documents_of_a_batch_is_stored_once(post, session):
    answers = post(old_document(1), old_document(1, subject="said later")).json()["documents"]
    assert [(answer["stored"], answer["known"]) for answer in answers] == [(1, 0), (0, 1)]
    assert count(session, Result) == 1


def test_equal_environments_are_one_however_they_are_written_and_each_document_has_its_own(post, session):
    one, other = {"cpu": "x", "numpy": 2}, {"cpu": "y"}
    turned = dict(reversed(one.items()))
    post(*(old_document(day, environment=its) for day, its in enumerate((one, other, turned), 1)))
    stored = select(Environment.machine).join(Upload, Upload.environment_id == Environment.id).join(Commit)
    assert session.scalars(stored.order_by(Commit.sha)).all() == [one, other, one]
    assert count(session, Environment) == 2


def test_what_is_there_already_is_known_beside_a_new_series_and_a_refused_document(post, session):
    post(old_document(1, posted_result("a")))
    bad, new = posted_result("a", unit="B"), posted_result("b")
    answers = post(
        old_document(2, bad), old_document(1, posted_result("a"), subject="said later"), old_document(3, new)
    ).json()["documents"]
    assert [answer["status"] for answer in answers] == ["refused", "known", "stored"]
    assert (count(session, Result), count(session, Commit)) == (2, 2)


def test_bad_document_is_refused_with_its_paths_and_keeps_no_other_out(post, session):
    bad = old_document(2, posted_result(benchmark="x" * 300))
    answers = post(old_document(1), bad, old_document(3)).json()["documents"]
    assert [answer["status"] for answer in answers] == ["stored", "refused", "stored"]
    assert [(e["path"], e["code"]) for e in answers[1]["errors"]] == [("results[0].benchmark", "bad_length")]
    assert count(session, Result) == 2


def test_document_that_disagrees_with_its_series_leaves_no_trace(post, session):
    bytes_ = [posted_result("a", unit="B"), posted_result("only here")]
    answers = post(old_document(1, posted_result("a")), old_document(2, *bytes_)).json()["documents"]
    assert [answer["status"] for answer in answers] == ["stored", "refused"]
    assert [(e["path"], e["code"]) for e in answers[1]["errors"]] == [("results[0].unit", "unit_mismatch")]
    assert (count(session, Commit), count(session, BenchmarkCase), count(session, Series)) == (1, 1, 1)


def test_document_that_disagrees_with_a_series_that_was_there_keeps_no_other_out(post, session):
    post(old_document(1, posted_result("a")))
    answers = post(old_document(2, posted_result("a", unit="B")), old_document(3, posted_result("a"))).json()
    assert [answer["status"] for answer in answers["documents"]] == ["refused", "stored"]
    assert sorted(session.scalars(select(Commit.sha))) == [f"{1:040x}", f"{3:040x}"]


def test_results_of_a_batch_are_stored_in_the_order_of_its_lines(post, session):
    post(old_document(1))
    days = [9, 4, 7, 2, 8, 3]
    post(*(old_document(day) for day in days))
    stored = session.scalars(select(Result.measured_at).order_by(Result.id)).all()
    assert [its.day for its in stored] == [1, *days]


def test_a_batch_that_names_nothing_new_is_found_in_one_trip_and_stored_in_one(post, trips):
    post(posted_document())
    trips.clear()
    assert post(posted_document(posted_result(values=[3.0]))).json()["stored"] == 1
    assert trips == [1, 2, 2, 1], "who asks; what is named; commits; uploads with results, and what follows"


def test_document_of_another_project_is_refused(post):
    answers = post(old_document(1), old_document(2, project="acme/other")).json()["documents"]
    assert [answer["status"] for answer in answers] == ["stored", "refused"]
    assert answers[1]["errors"][0]["code"] == "other_project"


def test_batch_that_is_refused_whole_makes_no_project(post, client, admin_token):
    assert post({"project": "acme/new"}).json()["documents"][0]["status"] == "refused"
    projects = client.get("/api/v1/projects", headers={"Authorization": f"Bearer {admin_token}"})
    assert "acme/new" not in projects.text


@pytest.mark.parametrize(("documents", "code"), [((), "missing"), (({},) * 1001, "too_many")])
def test_batch_of_no_or_too_many_documents_is_refused(post, documents, code):
    response = post(*documents)
    assert (response.status_code, response.json()["errors"][0]["code"]) == (422, code)


def test_token_of_another_project_may_not_post(post, service):
    token = bound_token(service, "acme/other", Scope.RESULTS_WRITE)
    assert post(old_document(1), token=token).status_code == 403


def test_post_of_one_document_is_not_the_batch_that_holds_it(post, client, admin_token, session):
    plain = posted_document()
    assert post_results(client, admin_token, plain).status_code == 201
    assert post(plain).json()["stored"] == 1
    assert post_results(client, admin_token, plain).json()["run"] == "upload-1"
    assert count(session, Result) == 2


def test_same_batch_from_several_clients_at_once_is_stored_once(post, session):
    documents = [old_document(day) for day in range(1, 21)]
    with ThreadPoolExecutor(4) as pool:
        answers = [one.json() for one in pool.map(lambda _: post(*documents), range(4))]
    assert sum(answer["stored"] for answer in answers) == 20
    assert count(session, Result) == 20
