"""How a check's job is called, and what it has brought."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.results import SuiteResult
from app.domain.verdicts import Verdict
from app.web.check_jobs import job_told
from tests.factories import results


def job(*verdicts: Verdict | None, state: str = "succeeded") -> SuiteResult:
    cases = [results.untold(f"case {i}", verdict, gating=True) for i, verdict in enumerate(verdicts)]
    return results.suite(*cases, state=state)


@pytest.mark.parametrize(
    ("its", "name", "told"),
    [
        (job(Verdict.NOT_MEASURED), "not compared", "1 result without a comparison"),
        (
            job(Verdict.NOT_MEASURED, Verdict.NO_REGRESSION),
            "succeeded",
            "2 of 2 results settled, 1 without a comparison",
        ),
        (job(Verdict.IMPROVED, None, state="running"), "running", "1 of 2 results settled"),
        (job(state="running"), "running", "no results yet"),
        (job(state="queued"), "queued", "no results yet"),
        (job(state="no_capacity"), "no capacity", "no results"),
    ],
)
def test_a_job_that_could_compare_nothing_has_not_succeeded(its: SuiteResult, name: str, told: str) -> None:
    assert (job_told(its).word.name, job_told(its).results) == (name, told)


def test_progress_is_of_what_gates() -> None:
    its = job(Verdict.IMPROVED, Verdict.NOT_MEASURED, None, state="running")
    aside = results.untold("aside", Verdict.IMPROVED, gating=False)
    told = job_told(replace(its, cases=(*its.cases, aside)))
    assert (told.n_settled, told.n_gating) == (2, 3)
