"""The one-line title of a check: what a status line, a list of checks and the terminal say first.

Plain text in correct grammar, no markup. Names come from users and are shown as they are, shortened only.
"""

from __future__ import annotations

from app.domain.jobs import JobState
from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports import quantities
from app.reports.ranking import UNMEASURED, Finding, Tally, gating, is_unmeasured_job, tally, with_verdict
from app.reports.text import plain, shorten
from app.reports.words import count, explain, listing

NAME_WIDTH = 60
"""Longest name of a case and metric in a title, in characters."""

_ALSO_NAMED = (
    (Verdict.INCONCLUSIVE, "inconclusive"),
    (Verdict.NEW, "new"),
    (Verdict.REMOVED, "removed"),
)


def check_title(result: CheckResult) -> str:
    """Return the title: `2 regressed of 48 · worst bert/latency_p50 +6.1 % ±0.8`."""
    if result.state != "complete" or result.conclusion is None:
        return _progress(result)
    write = {
        Conclusion.REGRESSED: _regressed,
        Conclusion.NOT_MEASURED: _not_measured,
        Conclusion.INCONCLUSIVE: _inconclusive,
        Conclusion.PASSED: _passed,
    }[result.conclusion]
    return write(result, tally(result))


def could_hide(case_limit: float | None) -> str:
    """Return what an open case might still be: `could hide up to 3.1 %`, or `could hide anything`."""
    if quantities.finite(case_limit) is None:
        return "could hide anything"
    return f"could hide up to {quantities.percent(case_limit)}"


def hidden_effect(finding: Finding) -> float:
    """Return how much worse an open case might still be, as a number to sort by: infinite where unbounded."""
    limit = quantities.finite(finding.case.could_hide)
    return float("inf") if limit is None else limit


def _progress(result: CheckResult) -> str:
    if result.state == "queued":
        waiting = listing(sorted({suite.device_class for suite in result.suites}))
        return f"queued: waiting for a worker with {waiting}" if waiting else "queued"
    counts = tally(result)
    pairs = sum(suite.pairs_done for suite in result.suites)
    if not counts.compared:
        return "measuring: preparing base and head"
    return f"measuring: {counts.settled} of {counts.compared} settled · {count(pairs, 'pair')} so far"


def _regressed(result: CheckResult, counts: Tally) -> str:
    regressed, failing = counts.verdicts[Verdict.REGRESSED], counts.verdicts[Verdict.HEAD_FAILS]
    fail = "fails" if failing == 1 else "fail"
    if not regressed:
        return f"{failing} of {counts.compared} {fail} on head{_why(result)}"
    failures = f"{failing} {fail} on head, " if failing else ""
    worst = with_change(with_verdict(result, Verdict.REGRESSED)[0])
    return f"{failures}{regressed} regressed of {counts.compared} · worst {worst}"


def _not_measured(result: CheckResult, counts: Tally) -> str:
    if not counts.compared:
        return f"not measured: {explain(result.reason) or 'there was nothing to compare'}"
    if counts.unmeasured_jobs == counts.compared:
        return f"not measured: {_why_no_job(result)}"
    return f"not measured: {counts.unmeasured} of {counts.compared} could not be compared{_reasons(result)}"


def _why_no_job(result: CheckResult) -> str:
    idle = [suite for suite in result.suites if is_unmeasured_job(suite)]
    classes = sorted({suite.device_class for suite in idle})
    if all(suite.state == JobState.NO_CAPACITY for suite in idle):
        return f"no worker for device class{'es' if len(classes) > 1 else ''} {listing(classes)}"
    return f"{explain(idle[0].reason) or 'the job ended without results'} ({listing(classes)})"


def _reasons(result: CheckResult) -> str:
    codes = {f.case.reason or str(f.case.verdict) for f in gating(result) if f.case.verdict in UNMEASURED}
    codes |= {suite.reason for suite in result.suites if is_unmeasured_job(suite) and suite.reason}
    said = sorted({explain(code) if code != Verdict.BASE_FAILS else "base fails" for code in codes})
    return f" ({'; '.join(said[:2])})" if said else ""


def _inconclusive(result: CheckResult, counts: Tally) -> str:
    still_open = with_verdict(result, Verdict.INCONCLUSIVE)
    title = f"inconclusive: {len(still_open)} of {counts.compared} stayed open"
    if not still_open:
        return title
    widest = max(still_open, key=hidden_effect)
    return f"{title} · {short_name(widest)} {could_hide(widest.case.could_hide)}"


def _passed(result: CheckResult, counts: Tally) -> str:
    steady, improved = counts.verdicts[Verdict.NO_REGRESSION], counts.verdicts[Verdict.IMPROVED]
    parts = []
    if steady:
        parts.append(f"{steady} of {counts.compared} {'shows' if steady == 1 else 'show'} no regression")
    if improved:
        parts.append(f"{improved} improved" if steady else f"{improved} of {counts.compared} improved")
    parts += [
        f"{counts.verdicts[verdict]} {word}" for verdict, word in _ALSO_NAMED if counts.verdicts[verdict]
    ]
    if counts.unmeasured:
        parts.append(f"{counts.unmeasured} not measured")
    best = f" · best {with_change(with_verdict(result, Verdict.IMPROVED)[-1])}" if improved else ""
    return f"passed: {', '.join(parts)}{best}"


def _why(result: CheckResult) -> str:
    broken = with_verdict(result, Verdict.HEAD_FAILS)
    if not broken:
        return ""
    reason = shorten(plain(explain(broken[0].case.reason)), NAME_WIDTH)
    return f" · {short_name(broken[0])}: {reason}" if reason else f" · {short_name(broken[0])}"


def with_change(finding: Finding) -> str:
    """Return case and metric, its change, and how sure that is."""
    case = finding.case
    parts = [short_name(finding), quantities.change(case.change)]
    if case.kind == "sampled":
        parts.append(quantities.plus_minus(case.ci_low, case.ci_high))
    return " ".join(part for part in parts if part)


def short_name(finding: Finding) -> str:
    """Return case and metric in a title's width."""
    return shorten(plain(finding.name), NAME_WIDTH)
