"""What is read after its raw values have gone: numbers as before, and a word where something is missing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from app.cli import run
from app.services.publish import publish_run
from app.services.read_check import read_check
from app.store.tables import Run
from tests.factories import results
from tests.factories.browser import shown
from tests.factories.histories import deliver
from tests.factories.posted_results import posted_document, posted_result
from tests.factories.serving import served
from tests.integration.retention.conftest import Years

pytestmark = pytest.mark.postgres

OLD = 401


def document(years: Years, check: int) -> dict[str, Any]:
    found = years.poster.get(f"checks/{check}")
    return {name: value for name, value in found.items() if name != "notes"}


def measured(years: Years, **fields: Any) -> int:
    """Store a check whose numbers are published as results."""
    check = years.check(replace(results.regressed(), **fields))
    with years.service.database.session() as session:
        for one in session.scalars(select(Run)).all():
            if one.published_at is None:
                publish_run(session, one)
    return check


@pytest.mark.parametrize("kind", ["regressed", "improved", "failing", "inconclusive", "hostile"])
def test_check_reads_the_same_but_for_a_note(years: Years, kind: str) -> None:
    check = years.check(results.EVERY[kind]())
    before = document(years, check)
    years.go_by(OLD)
    years.prune()
    after = document(years, check)
    forgotten = {"log_tail"}
    for one in (before, after):
        for suite in one["suites"]:
            for part in (suite, *suite["cases"]):
                for name in forgotten & part.keys():
                    part[name] = None
    assert after == before
    notes = years.poster.get(f"checks/{check}")["notes"]
    assert "values_not_kept" in [note["flag"] for note in notes]


def test_check_page_and_report_say_that_values_are_gone(years: Years, reader: TestClient) -> None:
    check = years.check(results.regressed())
    for path in (f"/checks/{check}", f"/checks/{check}/report"):
        assert "older than this service keeps them" not in shown(reader, path).text
    years.go_by(OLD)
    years.prune()
    for path in (f"/checks/{check}", f"/checks/{check}/report"):
        page = shown(reader, path)
        assert "older than this service keeps them" in page.text
        assert "Gating results" in page.text
    with years.service.database.session() as session:
        assert {case.estimates for suite in read_check(session, check).suites for case in suite.cases} == {()}


def test_progress_of_an_old_check_counts_its_pairs(years: Years) -> None:
    check = years.check(results.regressed())
    before = years.poster.get(f"checks/{check}/progress")["jobs"][0]
    years.go_by(OLD)
    years.prune()
    after = years.poster.get(f"checks/{check}/progress")["jobs"][0]
    assert [after[name] for name in ("pairs", "settled", "cases")] == [
        before[name] for name in ("pairs", "settled", "cases")
    ]
    assert after["pairs"] > 0


def test_run_page_keeps_its_invocations_and_says_that_timings_are_gone(
    years: Years, reader: TestClient
) -> None:
    measured(years)
    before = shown(reader, "/runs/1").text
    assert "No longer kept" not in before
    years.do("delete from history")
    years.do("update result set place = id")
    years.go_by(OLD)
    years.prune()
    page = shown(reader, "/runs/1")
    assert "No longer kept: this run is older than this service keeps them" in page.text
    assert "The values behind these results are no longer kept" in page.text
    assert "4 of 52 are void" in page.text
    assert "median" in page.text
    assert "52 invocations, 4 void" in shown(reader, "/runs").text


def test_upload_page_says_which_values_are_gone(years: Years, reader: TestClient) -> None:
    years.poster.tell([10.0, 11.0, 12.0], 0)
    years.poster.tell([10.0, 11.0, 12.0], 1)
    years.go_by(OLD)
    years.prune()
    assert "median 11 ms · all 10 … 12 ms · n = 3" in shown(reader, "/runs/upload-1").text
    assert "no longer kept" not in shown(reader, "/runs/upload-2").text


def test_run_page_says_where_the_values_of_one_arm_alone_are_gone(years: Years, reader: TestClient) -> None:
    measured(years)
    deliver(years.service)
    years.go_by(OLD)
    years.prune()
    text = shown(reader, "/runs/1").text
    assert "Every value that stands behind a result" in text
    assert "Of some results here the values are no longer kept" in text


def test_results_of_a_run_are_listed_without_their_values(years: Years) -> None:
    for commit in range(2):
        years.poster.tell([10.0, 11.0, 12.0], commit)
    years.go_by(OLD)
    years.prune()
    [old], [young] = (years.poster.get(f"runs/upload-{n}/results")["results"] for n in (1, 2))
    assert (old["value"], old["low"], old["high"], old["n"]) == (0.011, 0.010, 0.012, 3)
    assert (old["values"], old["void"], young["values"]) == ([], [], [0.010, 0.011, 0.012])
    assert [point["values"] for point in years.poster.get("series/1/points", values="true")["points"]] == [
        [], [0.010, 0.011, 0.012],
    ]  # fmt: skip


def test_histories_and_comparisons_are_what_they_were(years: Years, reader: TestClient) -> None:
    years.poster.tell_all([10.0, 10.1, 12.0, 12.1])
    asked = {
        "series/1/trend": {},
        "series/1/changes": {},
        "compare": {"project": "acme/vision", "base": f"{1:040x}", "head": f"{4:040x}"},
    }
    years.do("update commit set authored_at = '2024-01-01'")
    before = [years.poster.get(path, **given) for path, given in asked.items()]
    years.go_by(OLD)
    years.prune()
    assert years.count("sample") < 4
    assert [years.poster.get(path, **given) for path, given in asked.items()] == before
    for path in (
        "/series/1",
        f"/commits/{1:040x}?project=acme/vision",
        "/benchmarks?project=acme/vision&name=resize",
    ):
        shown(reader, path)


def test_export_tells_a_summary_which_an_import_takes(
    years: Years, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, admin_token: str
) -> None:
    first, again = tmp_path / "first.jsonl", tmp_path / "again.jsonl"
    for commit in range(3):
        body = posted_document(
            posted_result(values=[10.0, 11.0, 13.0 + commit]),
            posted_result("alone", [5.0]),
            commit=f"{commit + 1:040x}",
        )
        answer = years.poster.client.post(
            "/api/v1/results",
            json=body,
            headers={"Authorization": f"Bearer {admin_token}", "Idempotency-Key": str(commit)},
        )
        assert answer.status_code == 201
    deliver(years.service)
    years.go_by(OLD)
    assert years.prune()["values"] == 4
    with served(years.service) as address:
        monkeypatch.setenv("RATCHET_URL", address)
        monkeypatch.setenv("RATCHET_TOKEN", admin_token)
        assert run(["export", "--project", "acme/vision", "--out", str(first)]) == 0
        documents = [json.loads(line) for line in first.read_text().splitlines()]
        told = [document["results"][0] for document in documents]
        assert [one["values"] for one in told] == [[0.011], [0.011], [0.010, 0.011, 0.015]]
        assert [(one.get("low"), one.get("high")) for one in told] == [
            (0.010, 0.013),
            (0.010, 0.014),
            (None, None),
        ]
        years.do("update project set name = 'other'")
        assert run(["import", str(first), "--project", "acme/vision"]) == 0
        assert run(["export", "--project", "acme/vision", "--out", str(again)]) == 0
    assert again.read_bytes() == first.read_bytes()
