"""Entries of `ratchet.toml` that held for nothing are found where all of a check can be seen, and only there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.results import CaseVerdict
from app.domain.verdicts import Verdict
from app.services.find_unmatched import find_unmatched
from tests.factories.results import exact, measured, suite, untold

RESIZE = (measured("vision.resize", 0.0), exact("vision.resize", 1e6, 1e6))


def policy(*metrics: str, budgets: tuple[tuple[str, str], ...] = ()) -> dict[str, Any]:
    limits = [{"benchmark": b, "metric": m, "max": 1.0, "min": None} for b, m in budgets]
    return {"metrics": {name: {"tau0": 0.005, "tau": 0.02} for name in metrics}, "budgets": limits}


def told(settings: dict[str, Any], *cases: CaseVerdict) -> list[tuple[str, str]]:
    notes = find_unmatched(settings, ["inference"], [suite(*(cases or RESIZE))])
    return [(note.flag, note.message) for note in notes]


def test_entries_that_something_matches_are_not_told() -> None:
    assert told(policy("peak_memory", budgets=(("vision.*", "latency_p50"),))) == []


def test_metric_that_no_case_reports_is_told_with_the_nearest_one() -> None:
    wanted = '[[metric]] "latency_p5" holds for nothing: no case reports it — did you mean "latency_p50"?'
    assert told(policy("latency_p5")) == [("metric_unmatched", wanted)]


@pytest.mark.parametrize(
    ("benchmark", "metric", "why"),
    [
        ("vision.resize", "peak_mem", '"vision.resize" does not report it — did you mean "peak_memory"?'),
        ("vision.rezise", "latency_p50", 'there is no such benchmark — did you mean "vision.resize"?'),
        ("serving", "ttft", "there is no such benchmark"),
    ],
)
def test_budget_that_fits_no_result_is_told_with_the_part_that_does_not_fit(
    benchmark: str, metric: str, why: str
) -> None:
    wanted = f'[[budget]] on "{metric}" of "{benchmark}" limits nothing: {why}'
    assert told(policy(budgets=((benchmark, metric),))) == [("budget_unmatched", wanted)]


def test_nothing_is_told_while_a_suite_has_not_listed_its_cases() -> None:
    waiting = replace(suite(name="serving"), state="queued")
    settings = policy("ttft", budgets=(("serving", "ttft"),))
    assert find_unmatched(settings, ["inference", "serving"], [suite(*RESIZE), waiting]) == ()
    assert find_unmatched(settings, ["inference", "serving"], [suite(*RESIZE)]) == ()


def test_nothing_is_told_of_a_check_that_did_not_keep_its_suites() -> None:
    assert find_unmatched(policy("ttft"), None, [suite(*RESIZE)]) == ()


def test_metric_of_any_suite_counts_for_all() -> None:
    serving = suite(measured("serving", 0.0, metric="ttft"), name="serving")
    settings = policy("ttft", "latency_p50", budgets=(("serving", "ttft"),))
    assert find_unmatched(settings, ["inference", "serving"], [suite(*RESIZE), serving]) == ()


@pytest.mark.parametrize("verdict", [Verdict.HEAD_FAILS, Verdict.BASE_FAILS, Verdict.NOT_MEASURED])
def test_nothing_is_told_where_a_failure_may_hide_the_metric(verdict: Verdict) -> None:
    broken = untold("vision", verdict)
    assert told(policy("throughput", budgets=(("vision.crop", "ttft"),)), *RESIZE, broken) == []


def test_failure_elsewhere_does_not_hide_a_budget_of_a_benchmark_that_runs() -> None:
    broken = untold("audio", Verdict.HEAD_FAILS)
    found = told(policy(budgets=(("vision.resize", "ttft"),)), *RESIZE, broken)
    assert [flag for flag, _ in found] == ["budget_unmatched"]
