"""Results as rows of Markdown tables: worst first, those of one verdict together."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from app.domain.results import CheckResult
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.case_text import interval_text
from app.reports.pull_request.markdown import code, words
from app.reports.ranking import Finding, findings, gating, job_label, worst_first
from app.reports.titles import could_hide
from app.reports.words import explain, word_of

HEAD = "| | result | base → head | change | interval |\n| --- | --- | ---: | ---: | ---: |"
HEAD_OPEN = "| result | what it could hide |\n| --- | --- |"
HEAD_PLAIN = "| | result | why |\n| --- | --- | --- |"

BROKEN, BROKEN_BEFORE = "budget", "already_broken"
"""Flags of a budget that head breaks, and of one that base breaks as well (`analysis.budget.BudgetState`)."""


def changed(result: CheckResult, found: Iterable[Finding]) -> list[str]:
    """Return a row for each result that has a change to show."""
    return [_changed(result, finding) for finding in found]


def _changed(result: CheckResult, finding: Finding) -> str:
    case = finding.case
    base, head = quantities.before_after(*case.levels, case.unit)
    change = quantities.change(case.change)
    shown = f"**{change}**" if case.verdict is Verdict.REGRESSED else change
    numbers = (f"{base} → {head}", shown, interval_text(case))
    cells = (word_of(case.verdict).mark, named(result, finding), *map(_unbroken, numbers))
    return f"| {' | '.join(cells)} |"


def _unbroken(numbers: str) -> str:
    """Return numbers with their units and percent signs in one line."""
    return numbers.replace(" ", "\u00a0")


def still_open(result: CheckResult, found: Iterable[Finding]) -> list[str]:
    """Return a row for each result that stayed open, with what it could hide."""
    return [f"| {named(result, finding)} | {could_hide(finding.case.could_hide)} |" for finding in found]


def without_change(result: CheckResult, found: Iterable[Finding]) -> list[str]:
    """Return a row for each result that is told in words."""
    return [
        f"| {word_of(finding.case.verdict).mark} | {named(result, finding)} | {_why(finding)} |"
        for finding in found
    ]


def _why(finding: Finding) -> str:
    reason = explain(finding.case.reason)
    return words(f"{word_of(finding.case.verdict).name}{': ' if reason else ''}{reason}")


def named(result: CheckResult, finding: Finding) -> str:
    """Return case and metric, and the suite and device class where the check has several."""
    job = job_label(result, finding.suite)
    flags = [" over its budget"] if BROKEN in finding.case.flags else []
    flags += [" (exploratory)"] if finding.case.exploratory else []
    return f"{code(finding.name)}{f' {words(job)}' if job else ''}{''.join(flags)}"


def broken_before(result: CheckResult) -> list[Finding]:
    """Return the results whose budget base breaks, too: the change did not do that."""
    return worst_first(finding for finding in findings(result) if BROKEN_BEFORE in finding.case.flags)


def by_verdict(result: CheckResult) -> Callable[..., list[Finding]]:
    """Return what gives the gating results of some verdicts, worst first; they are sorted once."""
    found = gating(result)

    def of(*verdicts: Verdict) -> list[Finding]:
        return [finding for finding in found if finding.case.verdict in verdicts]

    return of
