"""Results without a change to show: failing, not measured, new and removed cases, grouped, each with its reason.

Cases that fail in the same way print the same log; they are told once, with all their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.jobs import TERMINAL
from app.domain.results import CheckResult
from app.domain.verdicts import Verdict
from app.reports.ranking import WITHOUT_EFFECT, findings, is_unmeasured_job, most_pressing, spans_jobs
from app.reports.text import Name, name, plain, shorten, tail
from app.reports.words import Word, explain, word_of

LOG_TAIL = 4_000
"""Characters that are shown of one log."""

LOG_LIMIT = 10
"""Different logs that are shown; of all others there is the reason."""

GROUP_LIMIT = 40
"""Groups that are told apart; beyond it cases are grouped by verdict only."""

NAME_LIMIT = 100
"""Names of one group that are listed; the rest is counted."""

NAMES_AT_ONCE = 12
"""Names of one group that are shown without opening anything."""


@dataclass(frozen=True)
class Trouble:
    """Cases (or a whole job) that share a verdict, a reason and a log; `is_urgent` ones decide the check."""

    word: Word
    names: tuple[Name, ...]
    n_unnamed: int
    reason: str
    log: str
    is_urgent: bool

    @property
    def count(self) -> int:
        """Cases or jobs in this group."""
        return len(self.names) + self.n_unnamed


def troubles(result: CheckResult) -> list[Trouble]:
    """Return everything that has no change to show, most pressing first."""
    groups: dict[tuple[Verdict, str, str], list[str]] = {}
    logs = {""}
    for verdict, reason, log, what in (*_jobs(result), *_cases(result)):
        end = tail(log, LOG_TAIL)
        if len(logs) <= LOG_LIMIT:
            logs.add(end)
        key = (verdict, reason, end if end in logs else "")
        if key not in groups and len(groups) >= GROUP_LIMIT:
            key = (verdict, "", "")
        groups.setdefault(key, []).append(what)
    return [_trouble(*key, names) for key, names in groups.items()]


def _trouble(verdict: Verdict, reason: str, log: str, names: list[str]) -> Trouble:
    return Trouble(
        word=word_of(verdict),
        names=tuple(map(name, names[:NAME_LIMIT])),
        n_unnamed=max(0, len(names) - NAME_LIMIT),
        reason=shorten(plain(explain(reason)), 300),
        log=log,
        is_urgent=verdict not in (Verdict.NEW, Verdict.REMOVED),
    )


def _jobs(result: CheckResult) -> Iterable[tuple[Verdict, str, str, str]]:
    for suite in result.suites:
        is_broken = suite.state in TERMINAL and suite.reason is not None
        if is_broken or is_unmeasured_job(suite):
            yield (
                Verdict.NOT_MEASURED,
                suite.reason or "",
                suite.log_tail or "",
                f"{suite.name} on {suite.device_class}",
            )


def _cases(result: CheckResult) -> Iterable[tuple[Verdict, str, str, str]]:
    for finding in most_pressing(findings(result)):
        case, suite = finding.case, finding.suite
        if case.verdict in WITHOUT_EFFECT and case.verdict is not None and case.gating:
            place = f" ({suite.name} on {suite.device_class})" if spans_jobs(result) else ""
            yield case.verdict, case.reason or "", case.log_tail or "", finding.name + place
