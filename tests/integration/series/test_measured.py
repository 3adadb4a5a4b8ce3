"""The pages of runs and uploads: every value behind a result, and what differs from what was measured before."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.services.publish import publish_run
from app.store.repositories import projects
from app.store.tables import Invocation, Run
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import counted, shown
from tests.factories.histories import deliver, sha
from tests.factories.posted_results import post_results, posted_document, posted_result

pytestmark = pytest.mark.postgres

BEFORE = {"kernel": "6.8.0", "driver": "570.1", "packages": {"torch": "2.5.0"}}
AFTER = {"kernel": "6.9.1", "packages": {"torch": "2.5.0", "triton": "3.1"}}


def post(client: TestClient, token: str, *commits: tuple[int, dict[str, Any]], n: int = 1) -> None:
    """Post a document for each commit and its environment, with `n` results of eight values."""
    for number, environment in commits:
        its = [
            posted_result(f"bench {i:02}", [10.0 + i + value / 10 for value in range(8)]) for i in range(n)
        ]
        document = posted_document(*its, commit=sha(number), environment=environment, position=number)
        assert post_results(client, token, document).status_code == 201


def test_upload_shows_its_values_and_what_differs_from_the_point_before(
    reader: TestClient, client: TestClient, service: Service, admin_token: str
) -> None:
    post(client, admin_token, (0, BEFORE), (1, AFTER), (2, AFTER))
    deliver(service)
    first, second, third = (shown(reader, f"/runs/upload-{number}") for number in (1, 2, 3))
    assert "There is nothing to hold this environment against" in first.text
    assert "1 fact changed, 1 is new, 1 is gone since upload-1 " in second.text
    for words in (
        "driver gone 570.1 not told",
        "kernel changed 6.8.0 6.9.1",
        "packages.triton new not told 3.1",
    ):
        assert words in second.text
    assert "Nothing differs from upload-2" in third.text
    assert first.html.count('<svg class="raw"') == 1
    assert "all 10.00 … 10.70 ms · n = 8" in first.text
    assert {"/series/1", "/runs/upload-2"} <= set(third.links)
    assert reader.get("/runs/upload-9").status_code == reader.get("/runs/upload-x").status_code == 404


def test_upload_says_when_and_on_which_branch_it_was_measured(
    reader: TestClient, client: TestClient, admin_token: str
) -> None:
    when = {"measured_at": "2026-09-13T17:24:26Z", "time": "2026-09-12T08:00:00Z"}
    document = posted_document(branch="release/2.x", **when)
    assert post_results(client, admin_token, document).status_code == 201
    page = shown(reader, "/runs/upload-1")
    assert "2026-09-13 17:24:26 UTC Branch release/2.x" in page.text
    assert '<dt>Committed</dt><dd><time datetime="2026-09-12T08:00:00+00:00"' in page.html


def test_results_come_in_pages_at_the_same_number_of_statements(
    reader: TestClient, client: TestClient, service: Service, admin_token: str
) -> None:
    post(client, admin_token, (0, BEFORE))
    post(client, admin_token, (1, AFTER), n=30)
    deliver(service)
    sent = []
    for path in ("/runs/upload-2", "/runs/upload-2?results=3"):
        with counted(service.database.engine) as statements:
            page = shown(reader, path)
        sent.append(len(statements))
    assert "Page 3 of 3, 30 series" in page.text
    assert page.html.count('<figure class="sample">') == 6
    assert sent[0] == sent[1] <= 8
    assert "Back to the first" in shown(reader, "/runs/upload-2?results=9").text


def test_run_of_a_check_shows_both_arms_and_what_differs_from_the_run_before(
    reader: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        stored.worker(session)
        for kernel in ("6.8.0", "6.9.1"):
            stored.check(session, results.regressed())
            run = session.scalars(select(Run).order_by(Run.id.desc()).limit(1)).one()
            machine = stored.MACHINE | {"machine": {"kernel": kernel}}
            software = {arm: stored.SOFTWARE | {"numpy": kernel} for arm in ("base", "head")}
            run.environment_id = projects.environment(session, kernel * 8, machine, software).id
            publish_run(session, run)
        for number, invocation in enumerate(session.scalars(select(Invocation))):
            read = {"power_w": [300.0, 310.0 + number, 400.0], "temp_c": [50.0, 50.0, 50.0]}
            told = {"gauges": read, "throttle": {}, "unavailable": []}
            invocation.detail = {"telemetry": [told]}
    deliver(service)
    page = shown(reader, "/runs/2")
    assert "2 facts changed since run 1" in page.text
    assert "kernel changed, machine 6.8.0 6.9.1" in page.text
    assert "numpy changed, packages 6.8.0 6.9.1" in page.text
    picture = page.html.partition('<figure class="sample">')[2].partition("</svg>")[0]
    assert 'class="dots base"' in picture
    assert 'class="dots head"' in picture
    assert "Power lowest, middle and highest of each of 48 invocations" in page.text
    assert "Temperature lowest" not in page.text, "it did not move"


def test_run_without_results_says_why_and_is_held_against_the_last_of_its_suite(
    reader: TestClient, service: Service
) -> None:
    with service.database.session() as session:
        stored.worker(session)
        stored.check(session, results.regressed())
        publish_run(session, session.get_one(Run, 1))
        stored.check(session, results.regressed())
    page = shown(reader, "/runs/2")
    assert "None was published" in page.text
    assert "Nothing differs from run 1" in page.text
    assert "There is nothing to hold this environment against" in shown(reader, "/runs/1").text
