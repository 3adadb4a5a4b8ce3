"""Find what of a check's settings held for nothing that was measured: a slip of the pen that would pass unseen.

A `[[metric]]` or `[[budget]]` is for all suites of a repository, so that only all of them together can tell. Where
one was left out, has listed no case yet, or failed in a way that hides its metrics, nothing is said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from app.domain.results import CaseVerdict, Note, SuiteResult
from app.domain.verdicts import Verdict
from app.settings.wording import nearest, quoted

_MAY_HIDE_METRICS = (Verdict.HEAD_FAILS, Verdict.BASE_FAILS, Verdict.NOT_MEASURED)
"""Verdicts of cases that may have more metrics than are listed, or stand for a whole file of benchmarks."""


def find_unmatched(
    policy: dict[str, Any], declared: Collection[str] | None, suites: Sequence[SuiteResult]
) -> tuple[Note, ...]:
    """Return a note for every `[[metric]]` and `[[budget]]` that nothing in the check matched.

    Args:
        policy: what any of the check's jobs was told of its settings.
        declared: the suites that the settings have; None where that was not kept, which gives no notes.
        suites: the check's results, complete or not.
    """
    cases = [case for suite in suites for case in suite.cases]
    listed = {suite.name for suite in suites if suite.cases}
    if declared is None or not listed.issuperset(declared):
        return ()
    return (*_unmatched_metrics(policy["metrics"], cases), *_unmatched_budgets(policy["budgets"], cases))


def _unmatched_metrics(names: Iterable[str], cases: Sequence[CaseVerdict]) -> Iterator[Note]:
    if any(case.verdict in _MAY_HIDE_METRICS for case in cases):
        return
    reported = {case.metric for case in cases}
    for name in names:
        if name not in reported:
            message = (
                f"[[metric]] {quoted(name)} holds for nothing: no case reports it{_hint(name, reported)}"
            )
            yield Note("metric_unmatched", message)


def _unmatched_budgets(budgets: Iterable[dict[str, Any]], cases: Sequence[CaseVerdict]) -> Iterator[Note]:
    for budget in budgets:
        benchmark, metric = budget["benchmark"], budget["metric"]
        of_benchmark = [case for case in cases if fnmatchcase(case.benchmark, benchmark)]
        reported = {case.metric for case in of_benchmark}
        if metric in reported or any(case.verdict in _MAY_HIDE_METRICS for case in of_benchmark or cases):
            continue
        subject = f"[[budget]] on {quoted(metric)} of {quoted(benchmark)} limits nothing"
        if of_benchmark:
            why = f"{quoted(benchmark)} does not report it{_hint(metric, reported)}"
        else:
            why = f"there is no such benchmark{_hint(benchmark, {case.benchmark for case in cases})}"
        yield Note("budget_unmatched", f"{subject}: {why}")


def _hint(name: str, known: Collection[str]) -> str:
    meant = nearest(name, sorted(known))
    return f" — did you mean {quoted(meant)}?" if meant else ""
