"""What the page of a run says of it in words."""

from __future__ import annotations

from dataclasses import dataclass

from app.reports.quantities import duration
from app.reports.words import Word
from app.services.list_runs import RunLine
from app.services.read_run import InvocationLine, RunDetail
from app.web import run_outcomes


@dataclass(frozen=True)
class InvocationWords:
    """An invocation, how it is shown, and what is to be said of it."""

    one: InvocationLine
    word: Word
    remark: str


@dataclass(frozen=True)
class RunWords:
    """What is said of a run, and of each of its invocations."""

    device_time: str
    void_counts: str
    voids: str
    why_no_results: str
    invocations: tuple[InvocationWords, ...]


def run_words(run: RunDetail) -> RunWords:
    """Return what the page says of the run."""
    return RunWords(
        device_time=_device_time(run.line),
        void_counts=run_outcomes.void_counts(run.invocations),
        voids=run_outcomes.voids_sentence(run.invocations),
        why_no_results=run_outcomes.why_no_results(run),
        invocations=tuple(map(_invocation, run.invocations)),
    )


def _device_time(line: RunLine) -> str:
    spent, granted = duration(line.device_s), duration(line.budget_s)
    return run_outcomes.device_time(spent, granted, is_over=line.device_s > line.budget_s)


def _invocation(one: InvocationLine) -> InvocationWords:
    return InvocationWords(one, run_outcomes.invocation_word(one), run_outcomes.remark(one))
