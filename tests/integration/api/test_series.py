"""Stored numbers read back: series, points, two commits side by side, and the runs that they come from."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from httpx import Response
from sqlalchemy import func, update

from app.services.access import Scope, issue_token
from app.store.tables import Token
from app.wiring import Service
from tests.factories.agent import CPU, FakeAgent, latency_listing
from tests.factories.checks import BASE, HEAD, check_request
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from workers import protocol

pytestmark = pytest.mark.postgres

ONE, TWO = "1a" * 20, "2b" * 20


def get(client: TestClient, token: str, path: str, **parameters: Any) -> Response:
    return client.get(f"/api/v1/{path}", params=parameters, headers={"Authorization": f"Bearer {token}"})


def post(client: TestClient, token: str, *results: dict[str, Any], **fields: Any) -> dict[str, Any]:
    response = post_results(client, token, posted_document(*results, **fields))
    assert response.status_code == 201, response.text
    return response.json()


@pytest.fixture
def measured(client: TestClient, admin_token: str, worker_token: str) -> str:
    """The name of a run that an agent made: two blocks of one case, head twice as slow."""
    agent = FakeAgent(client, worker_token)
    agent.register()
    headers = {"Authorization": f"Bearer {admin_token}"}
    assert client.post("/api/v1/checks", json=check_request(), headers=headers).status_code == 201
    lease = agent.claim()
    assert lease is not None
    listing = latency_listing("resize", batch=32)
    agent.prepare([listing], [listing])
    for _ in range(2):
        agent.block(
            protocol.CaseId(benchmark="resize", params={"batch": 32}),
            lambda arm, _: 1e-3 * (1 + (arm == "head")),
        )
    assert agent.finish().status_code == 200
    return str(lease.run_id)


# --- series --------------------------------------------------------------------------------------------------


def test_series_of_a_project_are_listed_with_their_size_and_newest_point(client, admin_token):
    post(client, admin_token, commit=ONE, time="2026-11-01T12:00:00Z")
    answer = post(client, admin_token, posted_result(values=[3.0]), commit=TWO, time="2026-11-02T12:00:00Z")
    response = get(client, admin_token, "series", project="acme/vision")
    assert response.status_code == 200
    assert response.json() == {
        "series": [
            {
                "id": answer["series"][0]["id"],
                "project": "acme/vision",
                "benchmark": "resize",
                "params": {"batch": 32},
                "metric": "latency_p50",
                "unit": "s",
                "better": "lower",
                "device_class": "cpu-test-2t",
                "version": "",
                "n": 2,
                "last": {"commit": TWO, "time": "2026-11-02T12:00:00Z", "value": 0.003},
            }
        ],
        "more": False,
        "next": None,
    }


@pytest.mark.parametrize(
    ("narrowed", "benchmarks"),
    [
        ({"benchmark": "crop"}, ["crop"]),
        ({"metric": "peak_memory"}, ["resize"]),
        ({"device_class": "tpu-v5e"}, ["blur"]),
        ({"benchmark": "crop", "device_class": "tpu-v5e"}, []),
        ({"benchmark": "cro%"}, []),
    ],
)
def test_series_are_narrowed_by_what_is_named(client, admin_token, narrowed, benchmarks):
    post(client, admin_token, posted_result("crop"), posted_result(metric="peak_memory", unit="B"))
    post(client, admin_token, posted_result("blur"), device_class="tpu-v5e")
    post(client, admin_token, posted_result("crop"), project="acme/speech")
    response = get(client, admin_token, "series", project="acme/vision", **narrowed)
    assert [series["benchmark"] for series in response.json()["series"]] == benchmarks


def test_list_that_was_cut_says_so(client, admin_token):
    post(client, admin_token, *map(posted_result, ("a", "b", "c")))
    cut = get(client, admin_token, "series", project="acme/vision", limit=2).json()
    assert ([series["benchmark"] for series in cut["series"]], cut["more"]) == (["a", "b"], True)
    assert get(client, admin_token, "series", project="acme/vision", limit=3).json()["more"] is False


# --- points --------------------------------------------------------------------------------------------------


def test_points_come_oldest_first_with_their_values_if_wanted(client, admin_token):
    first = post(
        client, admin_token, posted_result(values=[4.0, 1.0, 2.0]), commit=ONE, time="2026-01-01T00:00:00Z"
    )
    post(client, admin_token, posted_result(values=[5.0]), commit=TWO, branch=None)
    path = f"series/{first['series'][0]['id']}/points"
    response = get(client, admin_token, path, values=True)
    assert response.json()["series"]["benchmark"] == "resize"
    one, two = response.json()["points"]
    measured_at = one.pop("measured_at")
    assert one == {
        "commit": ONE,
        "branch": "main",
        "time": "2026-01-01T00:00:00Z",
        "value": 0.002,
        "low": 0.001,
        "high": 0.004,
        "n": 3,
        "arm": "head",
        "run": first["run"],
        "flags": ["client_time"],
        "values": [0.004, 0.001, 0.002],
    }
    assert two["time"] == two["measured_at"] > measured_at
    assert two["branch"] is None
    assert "values" not in get(client, admin_token, path).json()["points"][0]


def test_limit_keeps_the_newest_points(client, admin_token):
    for commit in (ONE, TWO, "3c" * 20):
        answer = post(client, admin_token, commit=commit)
    response = get(client, admin_token, f"series/{answer['series'][0]['id']}/points", limit=2)
    assert [point["commit"] for point in response.json()["points"]] == [TWO, "3c" * 20]


def test_points_of_a_measured_run_name_their_arm_and_run(client, admin_token, measured):
    (series,) = get(client, admin_token, "series", project="acme/vision").json()["series"]
    points = get(client, admin_token, f"series/{series['id']}/points").json()["points"]
    assert [(p["commit"], p["arm"], p["run"], p["value"]) for p in points] == [
        (BASE, "base", measured, 0.001),
        (HEAD, "head", measured, 0.002),
    ]


# --- two commits side by side --------------------------------------------------------------------------------


def test_commits_are_compared_series_by_series_without_a_verdict(client, admin_token):
    post(client, admin_token, posted_result("a", [2.0]), posted_result("gone", [7.0]), commit=ONE)
    head = post(
        client, admin_token, posted_result("a", [1.0, 3.0, 8.0]), posted_result("new", [9.0]), commit=TWO
    )
    answer = get(client, admin_token, "compare", project="acme/vision", base=ONE, head=TWO).json()
    assert (answer["base"], answer["head"]) == (ONE, TWO)
    assert "no verdict" in answer["note"]
    (both,) = answer["series"]
    assert (both["benchmark"], both["base_median"], both["head_median"]) == ("a", 0.002, 0.003)
    assert both["change"] == pytest.approx(0.5)
    assert (both["base_n"], both["head_n"], both["head_run"]) == (1, 3, head["run"])
    (only_base,), (only_head,) = answer["only_base"], answer["only_head"]
    assert (only_base["benchmark"], only_base["base_median"], only_base["head_median"]) == (
        "gone",
        0.007,
        None,
    )
    assert (only_head["benchmark"], only_head["base_median"], only_head["change"]) == ("new", None, None)


def test_newest_result_at_a_commit_is_the_one_compared(client, admin_token):
    post(client, admin_token, posted_result(values=[1.0]), commit=ONE)
    post(client, admin_token, posted_result(values=[4.0]), commit=ONE)
    post(client, admin_token, posted_result(values=[2.0]), commit=TWO)
    (both,) = get(client, admin_token, "compare", project="acme/vision", base=ONE, head=TWO).json()["series"]
    assert both["change"] == pytest.approx(-0.5)


@pytest.mark.parametrize(("base", "head"), [(0.0, 1.0), (1e-300, 1e300)])
def test_change_that_is_no_number_is_null(client, admin_token, base, head):
    for commit, value in ((ONE, base), (TWO, head)):
        post(client, admin_token, posted_result(unit="s", values=[value]), commit=commit)
    (both,) = get(client, admin_token, "compare", project="acme/vision", base=ONE, head=TWO).json()["series"]
    assert both["change"] is None
    assert (both["base_median"], both["head_median"]) == (base, head)


def test_commit_may_be_named_by_its_beginning(client, admin_token):
    post(client, admin_token, commit=ONE)
    answer = get(client, admin_token, "compare", project="acme/vision", base=ONE[:7].upper(), head=ONE).json()
    assert (answer["base"], answer["head"]) == (ONE, ONE)
    assert [pair["change"] for pair in answer["series"]] == [0.0]


def test_whole_commit_is_found_though_a_longer_one_begins_with_it(client, admin_token):
    for commit in (ONE, ONE + "0" * 24):
        post(client, admin_token, commit=commit)
    assert (
        get(client, admin_token, "compare", project="acme/vision", base=ONE, head=ONE).json()["base"] == ONE
    )


@pytest.mark.parametrize(
    ("base", "status", "code"),
    [
        ("1a1a1a1", 400, "ambiguous_commit"),
        ("1a1a1a", 400, "bad_commit"),
        ("main", 400, "bad_commit"),
        ("1a1a1a%", 400, "bad_commit"),
        ("\x00" * 40, 400, "bad_commit"),
        ("f" * 40, 404, "not_found"),
    ],
)
def test_commit_that_names_not_exactly_one_is_refused(client, admin_token, base, status, code):
    for commit in (ONE, ONE[:38] + "ff"):
        post(client, admin_token, commit=commit)
    response = get(client, admin_token, "compare", project="acme/vision", base=base, head=ONE)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.json()["message"].startswith("base")


# --- runs ----------------------------------------------------------------------------------------------------


def test_measured_run_is_read_back_with_job_worker_environment_and_invocations(client, admin_token, measured):
    run = get(client, admin_token, f"runs/{measured}").json()
    assert (run["run"], run["kind"], run["project"]) == (measured, "measured", "acme/vision")
    assert (run["base"], run["head"], run["device_class"]) == (BASE, HEAD, CPU)
    assert (run["job"]["suite"], run["job"]["state"], run["job"]["outcome"]) == (
        "inference",
        "succeeded",
        "ok",
    )
    assert (run["worker"]["name"], run["environment"]["machine_hash"]) == ("agent", "m1")
    assert run["invocations"] == {"total": 8, "void": 0, "arms": {"base": {"ok": 4}, "head": {"ok": 4}}}
    assert run["published_at"] is not None


def test_posted_run_is_read_back_with_its_environment(client, admin_token):
    answer = post(client, admin_token, posted_result("a"), posted_result("b"), commit=ONE)
    run = get(client, admin_token, f"runs/{answer['run']}").json()
    assert (run["run"], run["kind"], run["project"], run["head"]) == (
        answer["run"],
        "posted",
        "acme/vision",
        ONE,
    )
    assert (run["posted_by"], run["results"], run["environment"]["machine"]) == (
        "admin",
        2,
        {"kernel": "6.8.0"},
    )


# --- what is not there, and what is not yours ----------------------------------------------------------------

UNKNOWN = [
    ("series", {"project": "not/there"}),
    ("compare", {"project": "not/there", "base": ONE, "head": TWO}),
    ("series/999/points", {}),
    ("runs/999", {}),
    ("runs/upload-999", {}),
    ("runs/0", {}),
    ("runs/99999999999999999999", {}),
    ("runs/upload-", {}),
    ("runs/x%00", {}),
]


@pytest.mark.parametrize(("path", "parameters"), UNKNOWN)
def test_what_is_not_there_is_answered_404(client, admin_token, path, parameters):
    response = get(client, admin_token, path, **parameters)
    assert response.status_code == 404
    assert response.json().keys() == {"code", "message"}
    assert response.json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("series", {"q": "a\x00"}),
        ("series", {"project": "a\x00"}),
        ("series", {"project": "a", "benchmark": "\x00"}),
        ("series", {"project": "a", "limit": 0}),
        ("series/0/points", {}),
        (f"series/{2**63}/points", {}),
        ("series/1/points", {"limit": 10_001}),
        ("compare", {"project": "a", "base": ONE}),
    ],
)
def test_parameters_that_cannot_be_are_answered_422(client, admin_token, path, parameters):
    response = get(client, admin_token, path, **parameters)
    assert (response.status_code, response.json()["code"]) == (422, "bad_parameters")


def everything_of(client: TestClient, token: str, measured: str) -> list[int]:
    """Return the statuses of reading what belongs to acme/vision, which has one upload and one measured run."""
    parameters: dict[str, Any] = {"project": "acme/vision"}
    return [
        get(client, token, "series", **parameters).status_code,
        get(client, token, "compare", base=BASE, head=HEAD, **parameters).status_code,
        get(client, token, "series/1/points").status_code,
        get(client, token, "series/1/trend").status_code,
        get(client, token, f"runs/{measured}").status_code,
        get(client, token, "runs/upload-1").status_code,
    ]


def test_bound_reader_sees_its_own_project_and_no_other(
    client: TestClient, service: Service, admin_token, measured
):
    post(client, admin_token)
    for project, status in (("acme/vision", 200), ("acme/speech", 404)):
        token = bound_token(service, project, Scope.RESULTS_READ)
        assert everything_of(client, token, measured) == [status] * 6


def test_token_that_may_not_read_is_answered_403(client: TestClient, service: Service, admin_token, measured):
    post(client, admin_token)
    with service.database.session() as session:
        token = issue_token(session, "writer", [Scope.RESULTS_WRITE])
    assert everything_of(client, token, measured) == [403] * 6


def test_reader_without_a_token_is_answered_401(client: TestClient):
    for path in (
        "series?project=a",
        "series/1/points",
        "series/1/trend",
        "compare?project=a&base=b&head=c",
        "runs/1",
    ):
        assert client.get(f"/api/v1/{path}").status_code == 401


def test_where_reading_is_open_a_token_still_says_who_reads(
    client: TestClient, service: Service, admin_token: str
):
    service.settings.anonymous_read = True
    post(client, admin_token)
    assert client.get("/api/v1/series/1/trend").status_code == 200
    with service.database.session() as session:
        writer = issue_token(session, "writer", [Scope.RESULTS_WRITE])
    tokens = {
        admin_token: 200,
        bound_token(service, "acme/vision", Scope.RESULTS_READ): 200,
        bound_token(service, "acme/speech", Scope.RESULTS_READ): 404,
        writer: 403,
        "ratchet_1_2": 401,
        "x": 401,
    }
    for token, status in tokens.items():
        assert get(client, token, "series/1/trend").status_code == status
        assert get(client, token, "series/2/trend").status_code == (404 if status == 200 else status)


def test_for_a_token_that_was_good_the_trip_that_answers_also_looks_for_it(
    client: TestClient, admin_token: str, trips: list[int]
):
    post(client, admin_token)
    trips.clear()
    assert get(client, admin_token, "series/1/trend").status_code == 200
    assert trips == [1, 1, 3], "nobody knows yet who asks: that comes first"
    trips.clear()
    assert get(client, admin_token, "series/1/trend").status_code == 200
    assert trips == [1, 4]


def test_nothing_is_looked_up_for_a_token_that_is_no_longer_good(
    client: TestClient, service: Service, admin_token: str, trips: list[int]
):
    post(client, admin_token)
    token = bound_token(service, "acme/vision", Scope.RESULTS_READ)
    assert get(client, token, "series/1/trend").status_code == 200
    with service.database.session() as session:
        bound = Token.name == "bound to acme/vision"
        session.execute(update(Token).where(bound).values(revoked_at=func.now()))
    told = [get(client, token, "series/1/trend").status_code for _ in range(2)]
    assert told == [401, 401]
    assert trips[-1] == 1, "the second time only who asks"
    for never in ("ratchet_1_2", "ratchet_x_y"):
        trips.clear()
        assert [get(client, never, "series/1/trend").status_code for _ in range(2)] == [401, 401]
        assert set(trips) == {1}
