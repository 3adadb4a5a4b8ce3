"""What is said where a benchmark is written: what of it got worse, in plain text, a note for each benchmark."""

from __future__ import annotations

from collections import defaultdict

from app.domain.forge import Annotation
from app.domain.results import CheckResult, Written
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.case_text import interval_text
from app.reports.ranking import Finding, gating, job_label
from app.reports.text import plain, shorten
from app.reports.titles import short_name, with_change
from app.reports.words import count, explain, word_of

MOST = 50
"""GitHub takes so many with one request."""

LINES = 12
LONGEST_LINE = 300
LONGEST_TITLE = 250
WORSE = (Verdict.REGRESSED, Verdict.HEAD_FAILS)


def annotations_of(result: CheckResult) -> tuple[Annotation, ...]:
    """Return the notes of the gating results that are worse on head, worst first; none for what is in no file."""
    found: dict[Written, list[Finding]] = defaultdict(list)
    for finding in gating(result):
        if finding.case.verdict in WORSE and finding.case.written is not None:
            found[finding.case.written].append(finding)
    return tuple(_note(result, where, its) for where, its in list(found.items())[:MOST])


def _note(result: CheckResult, where: Written, found: list[Finding]) -> Annotation:
    lines = [shorten(_line(result, finding), LONGEST_LINE) for finding in found[:LINES]]
    more = [f"and {count(len(found) - LINES, 'more result')}"] if len(found) > LINES else []
    return Annotation(where.file, where.line, _title(found), "\n".join(lines + more))


def _title(found: list[Finding]) -> str:
    worst = found[0]
    what = (
        with_change(worst)
        if worst.case.verdict is Verdict.REGRESSED
        else f"{short_name(worst)} fails on head"
    )
    return (what if len(found) == 1 else f"{len(found)} results are worse, first {what}")[:LONGEST_TITLE]


def _line(result: CheckResult, finding: Finding) -> str:
    """Return case and metric, where it was measured, and in which numbers it is worse."""
    case, job = finding.case, job_label(result, finding.suite)
    if case.verdict is Verdict.HEAD_FAILS:
        said = f"{word_of(case.verdict).name}: {explain(case.reason) or 'no reason is known'}"
    else:
        base, head = quantities.before_after(*case.levels, case.unit)
        said = f"{base} → {head}, {quantities.change(case.change)}, {interval_text(case)}"
    return plain(" ".join(filter(None, (finding.name, job and f"({job})", said))))
