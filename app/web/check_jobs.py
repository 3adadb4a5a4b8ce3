"""How far a job of a check has come and what it has brought, in words."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.jobs import TERMINAL, JobState
from app.domain.results import SuiteResult
from app.reports.ranking import UNMEASURED
from app.reports.words import Word, count
from app.web import words

NOTHING_COMPARED = Word(
    "∅", "not compared", "unmeasured", "it came to its end, but none of its results could be compared"
)


@dataclass(frozen=True)
class JobTold:
    """How a job is shown, what it has brought, and how many of its gating results are settled."""

    word: Word
    results: str
    n_settled: int
    n_gating: int


def job_told(suite: SuiteResult) -> JobTold:
    """Return what is said of a job."""
    gating = [case for case in suite.cases if case.gating]
    settled = sum(case.verdict is not None for case in gating)
    missing = sum(case.verdict in UNMEASURED for case in gating)
    return JobTold(
        _word(suite, is_barren=0 < len(gating) == missing),
        _results(len(gating), settled, missing) or _no_results(suite),
        settled,
        len(gating),
    )


def _word(suite: SuiteResult, *, is_barren: bool) -> Word:
    """Return how a job is shown: one that came to its end has not succeeded where nothing could be compared."""
    return NOTHING_COMPARED if is_barren and suite.state == JobState.SUCCEEDED else words.JOBS[suite.state]


def _no_results(suite: SuiteResult) -> str:
    return "no results" if suite.state in TERMINAL else "no results yet"


def _results(n: int, settled: int, missing: int) -> str:
    """Return how many of `n` results are settled, and how many of them could not be compared; nothing of none."""
    if not n:
        return ""
    if missing == n:
        return f"{count(missing, 'result')} without a comparison"
    told = f"{settled} of {count(n, 'result')} settled"
    return f"{told}, {missing} without a comparison" if missing else told
