"""The report's own sentences: the verdict in one line, what it means, and how it was reached.

Names inside a sentence are wrapped in Unicode isolates (UAX #9), so that a right-to-left name does not turn the
sentence around.
"""

from __future__ import annotations

from app.domain.results import CheckResult, SuiteResult
from app.domain.verdicts import Conclusion, Verdict
from app.reports import quantities
from app.reports.case_names import isolated_case
from app.reports.ranking import UNMEASURED, Finding, Tally, gating, is_unmeasured_job, tally, with_verdict
from app.reports.text import plain, shorten
from app.reports.titles import could_hide, hidden_effect
from app.reports.words import count, explain, listing

_NAME_WIDTH = 80

_REASONS = 3
"""Reasons of results without a comparison that are told in a sentence."""


def headline(result: CheckResult) -> str:
    """Return the verdict of a check as one sentence."""
    counts = tally(result)
    if result.conclusion is None:
        return _progress(result, counts)
    if result.conclusion is Conclusion.REGRESSED:
        return _what_is_worse(counts)
    if result.conclusion is Conclusion.NOT_MEASURED:
        return _how_much_was_missing(counts)
    if result.conclusion is Conclusion.INCONCLUSIVE:
        return f"Not settled: {counts.verdicts[Verdict.INCONCLUSIVE]} of {_results(counts)} stayed open."
    improved = counts.verdicts[Verdict.IMPROVED]
    return f"Nothing regressed, {count(improved, 'result')} improved." if improved else "Nothing regressed."


def meaning(result: CheckResult) -> str:
    """Return what the headline means for this change, in one or two sentences."""
    if result.conclusion is None:
        return _what_is_running(result)
    write = {
        Conclusion.REGRESSED: _worst,
        Conclusion.NOT_MEASURED: _what_was_missing,
        Conclusion.INCONCLUSIVE: _what_stayed_open,
        Conclusion.PASSED: _what_is_excluded,
    }
    return write[result.conclusion](result)


def method(result: CheckResult) -> str:
    """Return how the verdicts were reached, with this check's own numbers; nothing where nothing was compared."""
    if not any(finding.case.n_pairs for finding in gating(result)):
        return ""
    total, jobs = tally(result).compared, max(len(result.suites), 1)
    alpha = quantities.threshold(result.alpha) + (f", shared by {count(jobs, 'job')}" if jobs > 1 else "")
    tau0, tau = quantities.threshold(result.minimum_effect), quantities.threshold(result.tolerance)
    return (
        "Base and head ran in turn on one device, each time in a fresh process, two pairs a block in the order "
        "base–head–head–base or the reverse. The effect is the mean over pairs of ln(head/base). After every block an "
        "interval that stays valid however often it is looked at was held against two limits: wholly beyond "
        f"the minimum effect (tau0 = {tau0}) on the worse side is regressed, on the better side improved; "
        f"excluding the tolerance (tau = {tau}) at 95 % is no regression; anything else was measured on until "
        f"the device time was spent. A result is one metric of one case; if none of the gating results (M = {total}) "
        f"moved, the chance of calling even one regressed or improved is at most alpha = {alpha}, and if some did, "
        "at most that share of those called is expected to be wrong. That is why single intervals are wide, and less "
        "so where much changed together. Exploratory metrics have no such protection."
    )


def isolated(text: str) -> str:
    """Return a name for use inside a sentence: one line, shortened, its direction kept to itself."""
    return f"\u2068{shorten(plain(text), _NAME_WIDTH)}\u2069"


def named_case(text: str) -> str:
    """Return a case's name for use inside a sentence: as `isolated` does, but each of its parts to itself."""
    return isolated_case(shorten(plain(text), _NAME_WIDTH))


def _results(counts: Tally) -> str:
    return count(counts.compared, "result")


def _progress(result: CheckResult, counts: Tally) -> str:
    if result.state == "queued":
        return "Waiting for a worker."
    if not counts.compared:
        return "Preparing base and head."
    return f"Still measuring: {counts.settled} of {_results(counts)} settled."


def _what_is_running(result: CheckResult) -> str:
    jobs = [
        f"{isolated(suite.name)} on {isolated(suite.device_class)}: {_phase(suite)}"
        + (f", {count(suite.pairs_done, 'pair')} so far" if suite.pairs_done else "")
        for suite in result.suites
    ]
    return "; ".join(jobs) + "." if jobs else ""


def _phase(suite: SuiteResult) -> str:
    return plain(suite.phase or explain(suite.reason) or suite.state).replace("_", " ")


def _what_is_worse(counts: Tally) -> str:
    regressed, failing = counts.verdicts[Verdict.REGRESSED], counts.verdicts[Verdict.HEAD_FAILS]
    fails = f"{count(failing, 'result')} {'fails' if failing == 1 else 'fail'} on head"
    if not regressed:
        return f"{fails}."
    worse = f"{regressed} of {_results(counts)} regressed"
    return f"{worse}, {failing} {'fails' if failing == 1 else 'fail'} on head." if failing else f"{worse}."


def _worst(result: CheckResult) -> str:
    regressed = with_verdict(result, Verdict.REGRESSED)
    if regressed:
        return f"Worst: {_moved(regressed[0])}."
    broken = with_verdict(result, Verdict.HEAD_FAILS)
    return _broken(broken[0]) if broken else ""


def _moved(finding: Finding) -> str:
    case = finding.case
    base, head = quantities.before_after(*case.levels, case.unit)
    return (
        f"{named_case(finding.name)}, {base} → {head}, {quantities.change(case.change)}{_sureness(finding)}"
    )


def _sureness(finding: Finding) -> str:
    case = finding.case
    if case.kind == "exact" or (case.ci_low is None and case.ci_high is None):
        return ""
    return f" ({quantities.interval(case.ci_low, case.ci_high)} at {quantities.level(case.ci_level)})"


def _broken(finding: Finding) -> str:
    reason = explain(finding.case.reason)
    why = f": {isolated(reason)}" if reason else ""
    return f"{named_case(finding.name)} runs on base but not on head{why}."


def _how_much_was_missing(counts: Tally) -> str:
    if not _is_partly_measured(counts):
        return "This change could not be measured."
    return f"{counts.unmeasured} of {_results(counts)} could not be compared."


def _is_partly_measured(counts: Tally) -> bool:
    return 0 < counts.unmeasured < counts.compared


def _what_was_missing(result: CheckResult) -> str:
    reasons, counts = (
        [_why_no_job(suite) for suite in result.suites if is_unmeasured_job(suite)],
        tally(result),
    )
    if _is_partly_measured(counts):
        reasons += [_why_no_case(finding) for finding in gating(result) if finding.case.verdict in UNMEASURED]
        return (
            f"{_listed(reasons)}. What could be compared stands below; the rest says nothing about the speed."
        )
    if not any(reasons) and counts.compared:
        reasons = [f"{counts.unmeasured} of {_results(counts)} could not be compared"]
    reasons = reasons if any(reasons) else [plain(explain(result.reason)) or "there was nothing to compare"]
    return f"{_listed(reasons)}. This says nothing about its speed."


def _why_no_job(suite: SuiteResult) -> str:
    reason = plain(explain(suite.reason))
    if not reason or suite.device_class in reason:
        return reason
    return f"{reason} ({isolated(suite.device_class)})"


def _why_no_case(finding: Finding) -> str:
    if finding.case.verdict is Verdict.BASE_FAILS:
        return "base fails"
    return plain(explain(finding.case.reason))


def _listed(reasons: list[str]) -> str:
    """Return what differs of reasons as one sentence without its full stop, the first few of many."""
    known = [reason.rstrip(".") for reason in dict.fromkeys(reasons) if reason] or ["no reason is known"]
    more = [f"and {len(known) - _REASONS} more"] if len(known) > _REASONS else []
    told = "; ".join(known[:_REASONS] + more)
    return f"{told[0].upper()}{told[1:]}"


def _what_stayed_open(result: CheckResult) -> str:
    still_open = with_verdict(result, Verdict.INCONCLUSIVE)
    if not still_open:
        return "Nothing is shown to have regressed."
    widest = max(still_open, key=hidden_effect)
    return (
        f"Nothing is shown to have regressed, but {named_case(widest.name)} {could_hide(widest.case.could_hide)}. "
        "More device time or a quieter machine would settle it."
    )


def _what_is_excluded(result: CheckResult) -> str:
    counts, tau = tally(result), quantities.threshold(result.tolerance)
    steady = counts.verdicts[Verdict.NO_REGRESSION]
    improved = with_verdict(result, Verdict.IMPROVED)
    said = [f"Best: {_moved(improved[-1])}"] if improved else []
    if steady:
        said.append(f"{_who_excludes(steady, counts)} a change for the worse of {tau} or more")
    said += [_open_ones(result)] if counts.verdicts[Verdict.INCONCLUSIVE] else []
    listed = [
        f"{counts.verdicts[verdict]} {word}"
        for verdict, word in ((Verdict.NEW, "new"), (Verdict.REMOVED, "removed"))
        if counts.verdicts[verdict]
    ]
    said += [f"{listing(listed)} without a counterpart"] if listed else []
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}." if said else ""


def _who_excludes(steady: int, counts: Tally) -> str:
    if steady < counts.compared:
        return f"{steady} of {_results(counts)} {'excludes' if steady == 1 else 'exclude'}"
    return f"all {_results(counts)} exclude" if steady > 1 else "the only result excludes"


def _open_ones(result: CheckResult) -> str:
    still_open = with_verdict(result, Verdict.INCONCLUSIVE)
    widest = max(still_open, key=hidden_effect)
    return f"{len(still_open)} stayed open and {could_hide(widest.case.could_hide)}"
