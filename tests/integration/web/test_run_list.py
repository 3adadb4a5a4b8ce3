"""The list of runs narrowed by project, commit and device class, with what was posted among what was measured."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.services.access import Scope
from app.store.repositories import run_list
from app.store.tables import Attempt, Invocation, Result
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, counted, shown
from tests.factories.histories import sha
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

DEVICE = "cpu-xeon-platinum-8488c-8t"


@pytest.fixture
def both(reader: TestClient, client: TestClient, service: Service, admin_token: str) -> TestClient:
    """A run of one project, and two posts of another on two device classes."""
    with service.database.session() as session:
        stored.device(session, stored.worker(session), DEVICE)
        stored.check(session, replace(results.regressed(), project="acme/speech"))
    for number, device_class in ((1, "cpu-test-2t"), (2, "cpu-better")):
        document = posted_document(
            posted_result("a"), posted_result("b"), commit=sha(number), device_class=device_class
        )
        assert post_results(client, admin_token, document).status_code == 201
    return reader


def runs_of(reader: TestClient, query: str = "") -> list[str]:
    return [
        link.rpartition("/")[2] for link in shown(reader, f"/runs{query}").links if link.startswith("/runs/")
    ]


def test_posted_results_stand_among_the_runs(both: TestClient) -> None:
    page = shown(both, "/runs")
    assert set(runs_of(both)) == {"1", "upload-1", "upload-2"}
    assert "posted Posted results on cpu-better acme/vision" in page.text
    assert "· admin · 2 results" in page.text


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("?project=acme/speech", ["1"]),
        ("?project=acme/vision", ["upload-2", "upload-1"]),
        ("?device_class=cpu-better", ["upload-2"]),
        (f"?device_class={DEVICE}", ["1"]),
        (f"?commit={sha(1)}", ["upload-1"]),
        ("?commit=B83E07D1", ["1"]),
        (f"?project=acme/vision&commit={sha(1)}&device_class=cpu-better", []),
    ],
)
def test_the_list_is_narrowed_by_its_address(both: TestClient, query: str, names: list[str]) -> None:
    assert runs_of(both, query) == names


def test_chips_lead_to_a_projects_runs_and_to_those_on_its_devices(both: TestClient) -> None:
    assert "/runs?project=acme%2Fspeech" in shown(both, "/runs").links
    page = shown(both, "/runs?project=acme/vision")
    assert page.title.startswith("Runs of acme/vision")
    assert {"/runs", "/runs?project=acme%2Fvision&device_class=cpu-better"} <= set(page.links)


def test_the_pages_of_a_run_and_of_a_post_lead_to_the_runs_of_their_project(both: TestClient) -> None:
    assert "/runs?project=acme/speech" in shown(both, "/runs/1").links
    assert "/runs?project=acme/vision" in shown(both, "/runs/upload-1").links


def test_what_is_no_commit_is_told_beside_the_field(both: TestClient) -> None:
    answer = both.get("/runs?commit=main")
    assert answer.status_code == 400
    assert "is no commit: give at least 7 hexadecimal digits" in answer.text
    assert 'value="main"' in answer.text
    (message,) = (its for tag, its in Page(answer.text).elements if its.get("role") == "alert")
    (field,) = (its for tag, its in Page(answer.text).elements if its.get("name") == "commit")
    assert (field["aria-invalid"], field["aria-describedby"]) == ("true", message["id"])


def test_a_place_that_is_none_in_the_list_is_told_and_leads_to_the_newest(both: TestClient) -> None:
    answer = both.get("/runs?project=acme/vision&before=123")
    assert answer.status_code == 400
    page = Page(answer.text)
    assert "is no place in the list" in page.text
    assert "/runs?project=acme%2Fvision" in page.links
    assert "upload-1" not in page.text
    assert "aria-invalid" not in page.html


def test_a_device_class_that_the_project_lacks_is_marked_among_its_own(both: TestClient) -> None:
    page = shown(both, f"/runs?project=acme/vision&device_class={DEVICE}")
    chosen = [its["href"] for tag, its in page.elements if tag == "a" and its.get("aria-current") == "true"]
    assert f"/runs?project=acme%2Fvision&device_class={DEVICE}" in chosen
    assert "/runs?project=acme%2Fvision&device_class=cpu-better" in page.links


def test_a_device_class_may_have_any_number_of_series(
    both: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "_series", lambda *_: range(70_000))
    assert runs_of(both, "?device_class=cpu-better") == ["upload-2", "upload-1"]


def test_nothing_is_found_where_nothing_was_measured(both: TestClient) -> None:
    assert "There is no such run." in shown(both, "/runs?commit=fffffff").text
    assert both.get("/runs?project=nobody").status_code == 404


def test_older_runs_stay_narrowed(both: TestClient, client: TestClient, admin_token: str) -> None:
    for number in range(3, 55):
        post_results(client, admin_token, posted_document(commit=sha(number)))
    first = shown(both, "/runs?project=acme/vision&device_class=cpu-test-2t")
    (older,) = [link for link in first.links if "before=" in link]
    assert "project=acme%2Fvision" in older
    assert runs_of(both, older.removeprefix("/runs")) == ["upload-4", "upload-3", "upload-1"]


def test_a_project_that_one_may_not_see_has_no_runs_for_one(both: TestClient, service: Service) -> None:
    token = bound_token(service, "acme/vision", Scope.RESULTS_READ)
    both.headers["Authorization"] = f"Bearer {token}"
    both.cookies.clear()
    assert runs_of(both) == ["upload-2", "upload-1"]
    assert both.get("/runs?project=acme/speech").status_code == 404


def test_a_run_whose_every_invocation_failed_is_nowhere_called_measured(
    both: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        for result in session.scalars(select(Result).where(Result.run_id == 1)):
            session.delete(result)
        for one in session.scalars(select(Invocation)):
            one.status, one.reason, one.exit_code = "failed", "exit_code: it ended with exit status 3", 3
            one.void, one.void_reason = False, None
    page = shown(both, "/runs/1")
    assert "benchmark failed inference on" in shown(both, "/runs?project=acme/speech").text
    assert "benchmark failed the benchmark ended badly on either arm" in page.text
    assert "All 52 invocations failed, so there is nothing to publish." in page.text
    assert "Job 1, nothing measured" in page.text
    assert page.text.count("failed It ended with exit status 3 ") == 52
    assert "came to its end" not in page.text


def line_of(page: Page, run: str) -> str:
    (its,) = (line for line in re.findall(r"<li>.*?</li>", page.html, re.DOTALL) if f'"/runs/{run}"' in line)
    return its


def test_an_old_run_reads_the_same_however_the_list_is_narrowed(reader: TestClient, service: Service) -> None:
    case = results.untold("resize", None)
    going_on = {"state": "running", "finished_at": None}
    here, elsewhere = (
        results.check(None, results.suite(case, device_class=name, **going_on))
        for name in (DEVICE, "cpu-better")
    )
    with service.database.session() as session:
        for check in (results.regressed(), *[elsewhere] * 51, here):
            stored.check(session, check)
        attempt = session.get_one(Attempt, 1)
        attempt.number, attempt.outcome = 2, "lost"
        attempt.reason, attempt.message = "lease_expired", "nothing was heard of it"
    newest = shown(reader, "/runs")
    (older,) = (link for link in newest.links if "before=" in link)
    narrowed = shown(reader, f"/runs?device_class={DEVICE}")
    assert line_of(narrowed, "1") == line_of(shown(reader, older), "1")
    assert "Lease expired: nothing was heard of it" in narrowed.text
    assert "52 invocations, 4 void · attempt 2 of " in narrowed.text


def test_the_list_costs_the_same_statements_however_many_runs_failed(
    reader: TestClient, service: Service
) -> None:
    sent = []
    for n in (1, 4):
        with service.database.session() as session:
            for _ in range(n):
                stored.check(session, results.regressed())
            for one in session.scalars(select(Invocation)):
                one.status, one.reason, one.exit_code = "failed", "exit_code: 3", 3
        with counted(service.database.engine) as statements:
            page = shown(reader, "/runs?project=acme/vision")
        sent.append(len(statements))
    assert page.text.count("benchmark failed inference on") == 5
    assert sent[0] == sent[1]
    assert sum("project.name = " in statement for statement in statements) == 1
    assert not any("history" in statement for statement in statements)
