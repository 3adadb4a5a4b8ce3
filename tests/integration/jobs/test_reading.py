"""What is read of a check: numbers that agree, the bound that settled a case, settings that held for nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from app.wiring import Service
from tests.factories.agent import FakeAgent, latency_listing
from tests.factories.checks import SETTINGS
from tests.integration.jobs.conftest import Ask
from workers import protocol

pytestmark = pytest.mark.postgres

CASE = protocol.CaseId(benchmark="resize", params={})
LISTING = latency_listing("resize")
SLIPS = """
[[metric]]
name = "latency_p55"
tolerance = "3%"

[[budget]]
benchmark = "rezise"
metric = "latency_p50"
max = "50 ms"
"""


@pytest.fixture
def document(client: TestClient, admin_token: str) -> Any:
    headers = {"Authorization": f"Bearer {admin_token}"}
    return lambda check_id: client.get(f"/api/v1/checks/{check_id}", headers=headers).json()


def measure(agent: FakeAgent, sd: float, *, blocks: int = 20) -> None:
    rng = random.Random(11)
    answer = agent.prepare([LISTING], [LISTING])
    for _ in range(blocks):
        if not answer.open:
            break
        answer = agent.block(CASE, lambda arm, pair: 1e-3 * (1 + rng.gauss(0, sd)))
    agent.finish()


def test_change_of_a_noisy_case_is_the_ratio_of_the_means_beside_it(
    agent: FakeAgent, ask: Ask, document: Any
) -> None:
    check_id = ask()["check"]
    agent.claim()
    measure(agent, 0.2)
    (case,) = document(check_id)["suites"][0]["cases"]
    assert case["n_pairs"] > 10
    assert case["head_geomean"] / case["base_geomean"] - 1 == pytest.approx(case["change"], abs=1e-12)


def test_no_regression_tells_the_bound_that_settled_it(agent: FakeAgent, ask: Ask, document: Any) -> None:
    check_id = ask()["check"]
    agent.claim()
    measure(agent, 0.001)
    found = document(check_id)
    (case,) = found["suites"][0]["cases"]
    assert case["verdict"] == "no_regression"
    assert case["change"] < case["bound_pass"] < found["tolerance"]


@pytest.mark.parametrize(
    ("knows_net", "verdict", "base_s"),
    [(("base", "head"), "no_regression", 1e-3), (("base",), "regressed", 2e-3), ((), "regressed", 2e-3)],
    ids=["both arms", "one arm", "no arm"],
)
def test_pairs_are_of_times_without_other_programs_only_where_both_arms_know_them(
    agent: FakeAgent, ask: Ask, document: Any, knows_net: tuple[str, ...], verdict: str, base_s: float
) -> None:
    """Head had to share the processor more: by the clock it looks half slower, by itself it is not."""
    check_id = ask()["check"]
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    for _ in range(4):
        agent.block(
            CASE,
            lambda arm, pair: 2e-3 if arm == "base" else 3e-3,
            net=lambda arm, pair: 1e-3 if arm in knows_net else None,
        )
    (case,) = document(check_id)["suites"][0]["cases"]
    assert case["verdict"] == verdict
    assert case["base_geomean"] == pytest.approx(base_s)


@pytest.mark.parametrize(("flagged", "told"), [(1, []), (2, ["few_batches", "processor_shared"])])
def test_doubts_that_half_of_the_timings_have_are_told_beside_the_verdict(
    agent: FakeAgent, ask: Ask, document: Any, flagged: int, told: list[str]
) -> None:
    check_id = ask()["check"]
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    for block in range(4):
        doubts = ("tail_unavailable", "processor_shared", "few_batches") if block < flagged else ()
        agent.block(CASE, lambda arm, pair: 1e-3 * (2 if arm == "head" else 1), doubts)
    (case,) = document(check_id)["suites"][0]["cases"]
    assert case["flags"] == told


def test_looks_of_another_release_are_read_as_far_as_they_are_known(
    service: Service, agent: FakeAgent, ask: Ask, document: Any
) -> None:
    check_id = ask()["check"]
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    looks = '[{"n_pairs": 2, "change": 0.1, "low": null, "high": null, "later": 1}]'
    with service.database.engine.begin() as connection:
        connection.execute(text("update verdict set looks = cast(:looks as jsonb)"), {"looks": looks})
    (case,) = document(check_id)["suites"][0]["cases"]
    assert case["bound_pass"] is None


def test_commits_and_page_are_named(ask: Ask, document: Any) -> None:
    check_id = ask()["check"]
    found = document(check_id)
    assert (found["base_subject"], found["head_subject"]) == ("Before", "After")
    assert (found["page"], found["report"]) == (
        f"http://testserver/checks/{check_id}",
        f"http://testserver/checks/{check_id}/report",
    )


def test_settings_that_hold_for_nothing_are_told_once_all_cases_are_known(
    client: TestClient, agent: FakeAgent, ask: Ask, document: Any, admin_token: str
) -> None:
    check_id = ask(settings=SETTINGS.format(devices="cpu-*") + SLIPS)["check"]
    assert document(check_id)["notes"] == []
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    notes = document(check_id)["notes"]
    assert [note["flag"] for note in notes] == ["metric_unmatched", "budget_unmatched"]
    assert notes[1]["message"].endswith('there is no such benchmark — did you mean "resize"?')
    headers = {"Authorization": f"Bearer {admin_token}"}
    for path in (f"/api/v1/checks/{check_id}/report", f"/checks/{check_id}"):
        shown = client.get(path, headers=headers)
        assert "metric_unmatched: [[metric]] &#34;latency_p55&#34; holds for nothing" in shown.text, path


def test_part_of_the_suites_tells_nothing_of_the_settings(agent: FakeAgent, ask: Ask, document: Any) -> None:
    other = '\n[[suite]]\nname = "serving"\ncommand = "true"\n'
    check_id = ask(settings=SETTINGS.format(devices="cpu-*") + other + SLIPS, suites=["inference"])["check"]
    agent.claim()
    agent.prepare([LISTING], [LISTING])
    assert document(check_id)["notes"] == []
