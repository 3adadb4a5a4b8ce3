"""The summary of a check on a commit, and whether there is anything to comment on."""

from __future__ import annotations

from app.domain.jobs import TERMINAL, JobState
from app.domain.results import CheckResult, SuiteResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports.pull_request import rows
from app.reports.pull_request.markdown import block, code, words
from app.reports.pull_request.tables import Section, fitted
from app.reports.quantities import duration
from app.reports.ranking import findings, is_unmeasured_job
from app.reports.text import shorten
from app.reports.words import count, explain

LIMIT_B = 60_000
"""GitHub takes 65 535 characters; some room is left for what it counts otherwise."""

JOBS_NAMED = 20
LONGEST_SUBJECT = 80
LONGEST_REASON = 500

WORTH_A_COMMENT = (Verdict.REGRESSED, Verdict.HEAD_FAILS, Verdict.IMPROVED)
WORSE = (Verdict.REGRESSED, Verdict.HEAD_FAILS)
ROUGH = "It was measured on a machine of grade C, so the check is neutral: look at it, or measure it on a better one."
ASK_AGAIN = "`/ratchet rerun` measures it again."
SERVED_LATER = "It is measured once such a device is connected; `/ratchet rerun` measures all of it again."
UNSERVED = (JobState.NO_CAPACITY, JobState.EXPIRED)
UNCOMPARED = (Verdict.NOT_MEASURED, Verdict.BASE_FAILS, Verdict.NEW, Verdict.REMOVED)


def is_worth_a_comment(result: CheckResult) -> bool:
    """Tell whether the change did anything that its author should read of."""
    return any(found.case.gating and found.case.verdict in WORTH_A_COMMENT for found in findings(result))


def rests_on_rough_machines(result: CheckResult) -> bool:
    """Tell whether all that regressed was measured on machines of grade C alone; nothing that fails on head."""
    bad = [f.case for f in findings(result) if f.case.gating and f.case.verdict in WORSE]
    return bool(bad) and all(case.verdict is Verdict.REGRESSED and case.grade == "C" for case in bad)


def check_summary(result: CheckResult, page: str, *, limit_b: int = LIMIT_B) -> str:
    """Return the summary as Markdown in at most `limit_b` bytes, regressions first."""
    opening = [
        f"{compared(result)} · [full report]({page})",
        going_on(result),
        idle_jobs(result),
        again(result),
    ]
    return fitted(opening, _sections(result), [reproduce(result)], page, limit_b)


def compared(result: CheckResult) -> str:
    """Return which two commits were compared."""
    subject = f" {words(shorten(result.head.subject, LONGEST_SUBJECT))}" if result.head.subject else ""
    return f"base {code(result.base.sha[:10])} → head {code(result.head.sha[:10])}{subject}"


def going_on(result: CheckResult) -> str:
    """Return where each job stands that has not ended, a line each."""
    going = [suite for suite in result.suites if suite.state not in TERMINAL]
    return "\n".join(f"- {words(f'{_job(suite)}: {_stands(suite)}')}" for suite in going[:JOBS_NAMED])


def _stands(suite: SuiteResult) -> str:
    if suite.state == JobState.QUEUED:
        return explain(suite.reason) or "waiting for a device"
    spent = f"{count(suite.pairs_done, 'pair')} in {duration(suite.device_s)}" if suite.pairs_done else ""
    most = f"at most {duration(suite.budget_s)} of device time" if suite.budget_s else ""
    return ", ".join(filter(None, (suite.phase or "starting", spent, most)))


def _job(suite: SuiteResult) -> str:
    return f"{suite.name} on {suite.device_class}"


def again(result: CheckResult) -> str:
    """Return what to do where the change is not to blame that nothing is known."""
    if result.conclusion is Conclusion.REGRESSED and rests_on_rough_machines(result):
        return ROUGH
    if result.conclusion not in (Conclusion.NOT_MEASURED, Conclusion.INCONCLUSIVE):
        return ""
    waits = any(suite.state in UNSERVED for suite in result.suites)
    return f"This is no fault of the change, and nothing is known against it. {SERVED_LATER if waits else ASK_AGAIN}"


def idle_jobs(result: CheckResult) -> str:
    """Return why jobs measured nothing, a line each."""
    idle = [suite for suite in result.suites if is_unmeasured_job(suite)]
    lines = [f"- {words(_why_idle(suite))}" for suite in idle[:JOBS_NAMED]]
    more = [f"- and {count(len(idle) - JOBS_NAMED, 'more job')}"] if len(idle) > JOBS_NAMED else []
    return "\n".join(lines + more)


def _why_idle(suite: SuiteResult) -> str:
    return shorten(f"{_job(suite)}: {explain(suite.reason) or 'nothing was measured'}", LONGEST_REASON)


def reproduce(result: CheckResult) -> str:
    """Return the command that measures the same on the reader's own machine."""
    return f"To measure it yourself:\n\n{block(result.reproduce)}" if result.reproduce else ""


def over_budget_before(result: CheckResult) -> Section:
    """Return the results whose budget base breaks, too."""
    found = rows.changed(result, rows.broken_before(result))
    said = "Base is over these budgets, too, so they do not count against this change."
    return Section("Over budget already", rows.HEAD, found, is_folded=True, said=said)


def _sections(result: CheckResult) -> list[Section]:
    of = rows.by_verdict(result)
    return [
        Section("Regressed", rows.HEAD, rows.changed(result, of(Verdict.REGRESSED))),
        Section("Fails on head", rows.HEAD_PLAIN, rows.without_change(result, of(Verdict.HEAD_FAILS))),
        Section("Improved", rows.HEAD, rows.changed(result, of(Verdict.IMPROVED)[::-1])),
        Section("Inconclusive", rows.HEAD_OPEN, rows.still_open(result, of(Verdict.INCONCLUSIVE))),
        over_budget_before(result),
        Section("Not compared", rows.HEAD_PLAIN, rows.without_change(result, of(*UNCOMPARED))),
        Section(
            "No regression",
            rows.HEAD,
            rows.changed(result, of(Verdict.NO_REGRESSION)),
            is_folded=True,
        ),
    ]
