"""A year with losses, a gain and a drift planted in it: the report finds them, in the order of what they cost."""

from __future__ import annotations

import re

import pytest
from sqlalchemy import text

from app.wiring import Service
from tests.factories.planted_year import EDGE, GPU, PROJECT
from tests.integration.weekly.conftest import Lead

pytestmark = pytest.mark.usefixtures("year")


def losses(report) -> list[tuple[str, str, bool]]:
    """Return which series shows each loss most, and whether it is new."""
    worst = [(cause["series"][0]["series"], cause["is_new"]) for cause in report["changes"]["waste"]]
    return [(series["benchmark"], series["device_class"], is_new) for series, is_new in worst]


@pytest.mark.usefixtures("costs")
def test_losses_stand_in_the_order_of_what_they_cost(lead: Lead) -> None:
    found = losses(lead.report(project=PROJECT))
    assert found[0] == ("resize", GPU, True)
    assert found[1] == ("serve_llm", GPU, False)
    assert ("train_step", GPU, False) not in found, "it was undone"


def test_without_prices_the_largest_is_first_and_no_money_is_told(lead: Lead) -> None:
    report = lead.report(project=PROJECT)
    assert {benchmark for benchmark, _, _ in losses(report)[:2]} == {"serve_llm", "resize"}
    assert all(cause["monthly"] is None for cause in report["changes"]["waste"])
    assert "Nothing is told in money" in lead.html(project=PROJECT)


def test_changes_of_one_commit_on_two_device_classes_are_one_cause(lead: Lead) -> None:
    causes = lead.report(project=PROJECT)["changes"]["waste"]
    resize = next(cause for cause in causes if cause["series"][0]["series"]["benchmark"] == "resize")
    assert {moved["series"]["device_class"] for moved in resize["series"]} == {GPU, EDGE}
    assert resize["n_series"] == 2
    assert resize["state"] == "new"


def test_what_was_lost_little_by_little_is_told_as_a_ramp_or_a_drift(lead: Lead) -> None:
    changes = lead.report(project=PROJECT)["changes"]
    told = [cause["series"][0] for cause in changes["waste"]] + [
        drift["moved"] for drift in changes["drifts"]
    ]
    assert "tokenize" in {moved["series"]["benchmark"] for moved in told}


def test_the_weeks_gain_is_told_and_older_ones_are_not(lead: Lead) -> None:
    gains = lead.report(project=PROJECT)["changes"]["gains"]
    assert [cause["series"][0]["series"]["benchmark"] for cause in gains] == ["embed"]
    assert gains[0]["series"][0]["change"] == pytest.approx(-0.10, abs=0.02)


def test_a_loss_that_was_undone_stood_in_the_weeks_before_that(lead: Lead) -> None:
    before = lead.report(project=PROJECT, week="2026-W20")
    assert ("train_step", GPU, False) in losses(before)


@pytest.mark.usefixtures("costs")
def test_money_agrees_with_a_calculation_by_hand_to_the_last_shown_digit(
    lead: Lead, service: Service
) -> None:
    with service.database.session() as session:
        by_hand = session.scalar(
            text(
                """
                select sum(400000000 * (365.25 / 12) * (after - before) / 3600 * 2.49)
                from change_point
                  join series on series.id = series_id join benchmark_case on benchmark_case.id = case_id
                where benchmark = 'resize' and device_class like 'nvidia-%' and state = 'confirmed' and after > before
                """
            )
        )
    shown = f"{by_hand:,.0f}".replace(",", "\u202f") + "\u00a0USD"
    assert f"<b>{shown}</b>" in lead.html(project=PROJECT)


def test_levels_agree_with_sql(lead: Lead, service: Service) -> None:
    (case,) = [
        case
        for case in lead.report(project=PROJECT)["efficiency"]["cases"]
        if case["benchmark"] == "serve_llm"
    ]
    mfu = next(metric for metric in case["metrics"] if metric["series"]["metric"] == "mfu")
    with service.database.session() as session:
        now, n, best = session.execute(
            text(
                """
                select percentile_cont(0.5) within group (order by value) filter (where is_now),
                  count(*) filter (where is_now), max(value)
                from (
                  select value, authored_at >= '2026-11-16' and authored_at < '2026-11-23' as is_now
                  from result join commit on commit.id = commit_id
                  where series_id = :id and result.branch = 'main') as point
                """
            ),
            {"id": mfu["series"]["id"]},
        ).one()
    assert (mfu["now"]["median"], mfu["now"]["n"], mfu["best"]) == (now, n, best)
    assert case["roof"] == now


def test_an_accepted_loss_stands_no_more(lead: Lead) -> None:
    causes = lead.report(project=PROJECT)["changes"]["waste"]
    serve = next(cause for cause in causes if cause["series"][0]["series"]["benchmark"] == "serve_llm")
    said = {"state": "accepted", "comment": "the larger model is wanted"}
    lead.client.post(f"/api/v1/alerts/{serve['alert_id']}", json=said, headers=lead.headers)
    assert "serve_llm" not in {benchmark for benchmark, _, _ in losses(lead.report(project=PROJECT))}


def test_the_page_loads_nothing_and_every_number_leads_somewhere(lead: Lead) -> None:
    html = lead.html(project=PROJECT)
    assert not re.findall(r"(?:src|srcset)=|@import [\"']|url\([^)]", html)
    links = set(re.findall(r'href="(http[^"]+)"', html))
    paths = {link.replace("http://127.0.0.1:8440", "") for link in links}
    for path in paths:
        assert lead.client.get(path, headers=lead.headers).status_code == 200, path


def test_the_whole_installation_names_the_project_of_each(lead: Lead) -> None:
    report = lead.report()
    assert report["project"] is None
    assert report["changes"]["waste"][0]["project"] == PROJECT
    assert "all projects" in lead.html()
