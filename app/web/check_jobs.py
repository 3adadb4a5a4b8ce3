"""How far a job of a check has come and what it has brought, in words."""

from __future__ import annotations

from app.domain.jobs import JobState
from app.domain.results import CaseVerdict, SuiteResult
from app.reports.ranking import UNMEASURED
from app.reports.words import Word, count
from app.web import words

NOTHING_COMPARED = Word(
    "∅", "not compared", "unmeasured", "it came to its end, but none of its results could be compared"
)


def job_word(suite: SuiteResult) -> Word:
    """Return how a job is shown: one that came to its end has not succeeded where nothing could be compared."""
    gating = _gating(suite)
    is_barren = bool(gating) and all(case.verdict in UNMEASURED for case in gating)
    return NOTHING_COMPARED if is_barren and suite.state == JobState.SUCCEEDED else words.JOBS[suite.state]


def job_results(suite: SuiteResult) -> str:
    """Return how many of a job's gating results are settled, and how many of them could not be compared."""
    gating = _gating(suite)
    if not gating:
        return "no results yet" if suite.state in (JobState.LEASED, JobState.RUNNING) else "no results"
    missing = sum(case.verdict in UNMEASURED for case in gating)
    if missing == len(gating):
        return f"{count(missing, 'result')} without a comparison"
    settled = sum(case.verdict is not None for case in gating)
    told = f"{settled} of {count(len(gating), 'result')} settled"
    return f"{told}, {missing} without a comparison" if missing else told


def _gating(suite: SuiteResult) -> list[CaseVerdict]:
    return [case for case in suite.cases if case.gating]
