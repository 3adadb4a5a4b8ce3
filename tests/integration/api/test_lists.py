"""Lists of the API page by page, chosen fields, and answers that a client has already."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import update

from app.store.tables import Check
from tests.factories.agent import FakeAgent
from tests.factories.checks import check_request
from tests.factories.histories import PROJECT, Poster, deliver, sha, stepped, store_all
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres


@pytest.fixture
def poster(client, service, admin_token) -> Poster:
    return Poster(client, service, admin_token)


@pytest.fixture
def changed(poster: Poster) -> Poster:
    """Three series with a change each."""
    results = [posted_result(name) for name in ("a", "b", "c")]
    post_results(poster.client, poster.token, posted_document(*results, commit=sha(0))).raise_for_status()
    for series in (1, 2, 3):
        store_all(poster.service, series, stepped(40, at=30, by=0.1, seed=series), first=1)
    poster.post(10.0, sha(41))
    deliver(poster.service)
    return poster


def pages(
    poster: Poster, path: str, meanwhile: Callable[[], Any] = lambda: None, **wanted: Any
) -> Iterator[Any]:
    """Yield a list's pages of one entry, with something happening between them."""
    cursor: dict[str, str] = {}
    while True:
        page = poster.get(path, limit=1, **wanted, **cursor)
        yield page
        assert page["more"] == (page["next"] is not None)
        if page["next"] is None:
            return
        cursor = {"cursor": page["next"]}
        meanwhile()


def test_series_follow_each_other_whatever_is_added_meanwhile(poster: Poster):
    post_results(
        poster.client, poster.token, posted_document(*map(posted_result, ("b", "d", "f")))
    ).raise_for_status()

    def add_before_and_after() -> None:
        results = map(posted_result, ("a", "e"))
        post_results(poster.client, poster.token, posted_document(*results), key="k").raise_for_status()

    names = [page["series"][0]["benchmark"] for page in pages(poster, "series", add_before_and_after)]
    assert names == ["b", "d", "e", "f"]


def test_points_and_changes_follow_each_other_from_the_newest_on(changed: Poster):
    newest = poster_points(changed, limit=3)
    found = pages(changed, "series/1/points", lambda: changed.post(9.0, sha(77)))
    assert [next(found)["points"][0] for _ in range(3)] == newest[::-1]
    ids = [change["id"] for change in changed.get("changes", project=PROJECT)["changes"]]
    assert len(ids) == 3
    assert [page["changes"][0]["id"] for page in pages(changed, "changes", project=PROJECT)] == ids
    (page,) = pages(changed, "series/1/changes")
    assert [change["commit"] for change in page["changes"]] == [sha(31)]


def poster_points(poster: Poster, limit: int) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = poster.get("series/1/points", limit=limit)["points"]
    return points


def test_checks_and_devices_follow_each_other(poster: Poster, worker_token):
    headers = {"Authorization": f"Bearer {poster.token}"}
    for key in ("one", "two"):
        poster.client.post("/api/v1/checks", json=check_request(key=key), headers=headers).raise_for_status()
    assert [page["checks"][0]["check"] for page in pages(poster, "checks")] == [2, 1]
    FakeAgent(poster.client, worker_token).register()
    (page,) = pages(poster, "devices")
    assert len(page["devices"]) == 1


def test_cursor_of_another_list_is_refused(changed: Poster):
    cursor = changed.get("series", limit=1)["next"]
    headers = {"Authorization": f"Bearer {changed.token}"}
    for wrong in (cursor, "x", "ü", "Y2hhbmdlczo"):
        response = changed.client.get(
            "/api/v1/changes", params={"project": PROJECT, "cursor": wrong}, headers=headers
        )
        assert (response.status_code, response.json()["errors"][0]["code"]) == (422, "bad_cursor")


def test_fields_that_are_named_are_told_alone(changed: Poster):
    series = changed.get("series", fields="id, benchmark", limit=1)["series"]
    assert series == [{"id": 1, "benchmark": "a"}]
    points = changed.get("series/1/trend", fields="value,commit")["points"]
    assert points.keys() == {"value", "commit"}
    assert len(points["value"]) == 41
    changes = changed.get("changes", project=PROJECT, fields="id,series")["changes"]
    assert [change.keys() for change in changes] == [{"id", "series"}] * 3
    assert changed.get("runs/upload-1", fields="run,worker") == {"run": "upload-1"}


def test_field_that_there_is_not_is_refused_with_the_nearest(changed: Poster):
    headers = {"Authorization": f"Bearer {changed.token}"}
    response = changed.client.get("/api/v1/series?fields=id,metrik", headers=headers)
    assert response.status_code == 422
    assert 'did you mean "metric"?' in response.json()["message"]


def test_answer_that_the_client_has_is_not_sent_again_until_it_changes(changed: Poster, service):
    headers = {"Authorization": f"Bearer {changed.token}"}
    for path in ("series", "series/1/trend", f"changes?project={PROJECT}", "runs/upload-1", "devices"):
        first = changed.client.get(f"/api/v1/{path}", headers=headers)
        assert first.headers["cache-control"] == "private, no-cache"
        assert "Authorization" in first.headers["vary"]
        again = changed.client.get(
            f"/api/v1/{path}", headers=headers | {"If-None-Match": f'"x", {first.headers["etag"]}'}
        )
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    known = {"If-None-Match": changed.client.get("/api/v1/series/1/trend", headers=headers).headers["etag"]}
    changed.post(10.0, sha(90), branch="main")
    deliver(service)
    path = f"/api/v1/series/{changed.series}/trend"
    assert changed.client.get(path, headers=headers | known).status_code == 200


def test_check_that_moves_on_is_another_answer(poster: Poster, service):
    headers = {"Authorization": f"Bearer {poster.token}"}
    poster.client.post("/api/v1/checks", json=check_request(), headers=headers).raise_for_status()
    tag = poster.client.get("/api/v1/checks/1", headers=headers).headers["etag"]
    with service.database.session() as session:
        session.execute(update(Check).values(state="running"))
    headers["If-None-Match"] = tag
    assert poster.client.get("/api/v1/checks/1", headers=headers).status_code == 200


def test_large_answers_are_packed_and_errors_are_kept_by_nobody(changed: Poster):
    headers = {"Authorization": f"Bearer {changed.token}", "Accept-Encoding": "gzip"}
    large = changed.client.get("/api/v1/series/1/trend", headers=headers)
    small = changed.client.get("/api/v1/series?limit=1&fields=id", headers=headers)
    assert (large.headers.get("content-encoding"), small.headers.get("content-encoding")) == ("gzip", None)
    missing = changed.client.get("/api/v1/series/999", headers=headers)
    assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("batch=32", ["resize", "resize"]),
        ("resize[batch=32]", ["resize", "resize"]),
        ("resize[batch=32, dtype=bf16]", ["resize"]),
        ("resize[batch=32,dtype=bf16]/latency_p50", ["resize"]),
        ("tch=3 dtype=BF", ["resize"]),
        ("batch=3", ["resize", "resize", "scale"]),
        ("scale[batch=3]", ["scale"]),
        ("[batch=3]", ["scale"]),
        ("[batch=3,", ["scale"]),
        ("scale[batch=3, mode=float 32]", ["scale"]),
        ("scale[batch=3, mode=float 32, fast=True, from=None]/latency_p50", ["scale"]),
        ("scale[x=1]", ["scale[x=1]"]),
        ("batch=33", []),
        ('path="a', ["quoted"]),
        ("batch=%", []),
        ("=", ["scale[x=1]"]),
    ],
)
def test_series_are_found_by_what_is_shown_of_them(poster: Poster, query: str, found: list[str]):
    cases: list[tuple[str, dict[str, Any]]] = [
        ("resize", {"batch": 32}),
        ("resize", {"batch": 32, "dtype": "bf16"}),
        ("resize", {"batch": 16, "dtype": "bf16"}),
        ("quoted", {"path": '"a" b'}),
        ("scale", {"batch": 3, "mode": "float 32", "fast": True, "from": None}),
        ("scale[x=1]", {}),
    ]
    results = [posted_result(name, params=params) for name, params in cases]
    post_results(poster.client, poster.token, posted_document(*results)).raise_for_status()
    answer = poster.get("series", q=query)
    assert sorted(one["benchmark"] for one in answer["series"]) == sorted(found)
