"""The page of a benchmark: its series with their noise, what it costs, and how often it raised a change."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import update

from app.services.access import Scope
from app.services.publish import publish_run
from app.store.tables import Check, Run, SelfCheck
from app.wiring import Service
from tests.factories import results, stored
from tests.factories.browser import Page, browser, counted, shown
from tests.factories.histories import Poster, deliver, stepped
from tests.factories.posted_results import bound_token, post_results, posted_document, posted_result
from tests.integration.series.conftest import grown

pytestmark = pytest.mark.postgres

RESIZE = "/benchmarks?project=acme/vision&name=resize"


def test_posted_history_has_its_noise_by_its_points_and_its_changes_counted(
    poster: Poster, reader: TestClient
) -> None:
    grown(poster, stepped(60, 30, 0.2))
    page = shown(reader, RESIZE)
    assert "1 series" in page.text
    assert "1: 1 confirmed, 0 suspected, 0 withdrawn" in page.text
    assert "no check measured it in the last 30 days" in page.text
    assert "neighbouring points differ by 1." in page.text
    assert {f"/series/{poster.series}", "/series?project=acme/vision&benchmark=resize"} <= set(page.links)
    assert RESIZE in shown(reader, f"/series/{poster.series}").links
    assert RESIZE in shown(reader, "/series").links


def test_measured_benchmark_has_its_noise_by_pairs_and_the_device_and_costs_its_share_of_each_run(
    reader: TestClient, service: Service
) -> None:
    cases = [
        results.measured(name, 0.001, params={"batch": 1}, pairs=12) for name in ("resize", "decode", "blur")
    ]
    with service.database.session() as session:
        owner = stored.worker(session)
        device = stored.device(session, owner, results.suite().device_class)
        for _ in range(2):
            stored.check(session, results.check(None, results.suite(*cases)))
        session.execute(update(Check).values(state="complete"))
        session.execute(
            update(Run).values(device_s=90.0, sources={"resize": {"file": "bench_<i>.py", "line": 7}})
        )
        for run in session.query(Run):
            publish_run(session, run)
        session.add(SelfCheck(device_id=device.id, run_id=1, **WELL_KEPT))
    deliver(service)
    page = shown(reader, RESIZE)
    assert "measured by the suite inference · written in bench_<i>.py , line 7" in page.text
    assert "A check costs 30 s of device time, on average of 2 checks" in page.text, "a third of its run"
    assert "1 min of device time in 2 runs" in page.text
    assert "C · over" not in page.text
    assert (
        "A · at least 1 % beyond the minimum effect, in 32 pairs pairs of a check differ by 0." in page.text
    )


WELL_KEPT = {
    "sigma_pair": 0.003,
    "n_verdicts": 2,
    "false_alarms": 0,
    "mde": 0.005,
    "clocks_locked": True,
    "is_exclusive": True,
    "grade": "A",
}


def test_a_page_costs_the_same_statements_however_many_series_there_are(
    client: TestClient, reader: TestClient, service: Service, admin_token: str
) -> None:
    sent = []
    for n in (1, 60):
        its = [posted_result(params={"batch": batch}) for batch in range(n)]
        assert post_results(client, admin_token, posted_document(*its)).status_code == 201
        deliver(service)
        with counted(service.database.engine) as statements:
            page = shown(reader, RESIZE)
        sent.append(len(statements))
    assert "page 1 of 2" in page.text
    assert sent[0] == sent[1] <= 13
    assert "page 2 of 2" in shown(reader, f"{RESIZE}&at=2").text
    assert "Back to the first" in shown(reader, f"{RESIZE}&at=3").text


def test_what_is_not_there_or_not_to_be_seen_is_a_page_that_says_so(
    poster: Poster, reader: TestClient, service: Service
) -> None:
    poster.post(10.0, 0)
    answer = reader.get("/benchmarks?project=acme/vision&name=%3Ci%3E")
    assert answer.status_code == 404
    assert "has no series of a benchmark '<i>'" in Page(answer.text).text
    assert reader.get("/benchmarks?project=acme/vision").status_code == 422
    other = browser(service, bound_token(service, "acme/other", Scope.RESULTS_READ))
    assert other.get(RESIZE).status_code == 404
