"""A pull request's one comment: what changed for the worse, for the better, and what nobody can tell."""

from __future__ import annotations

from app.domain.results import CheckResult
from app.domain.verdicts import Verdict
from app.reports.pull_request import rows
from app.reports.pull_request.check_text import LIMIT_B, compared, idle_jobs, over_budget_before, reproduce
from app.reports.pull_request.markdown import words
from app.reports.pull_request.tables import Section, fitted
from app.reports.titles import check_title
from app.reports.words import CONCLUSIONS

OPEN_AT_MOST = 10
"""More improved results are folded."""


def marker_of(repository: int, number: int) -> str:
    """Return the line that a comment of ours begins with, and that no reader sees."""
    return f"<!-- ratchet:{repository}:{number} -->"


def comment_body(result: CheckResult, marker: str, page: str, *, limit_b: int = LIMIT_B) -> str:
    """Return the comment as Markdown in at most `limit_b` bytes; regressions are the last to be cut."""
    title = check_title(result).partition(": ")
    word = CONCLUSIONS[result.conclusion]
    said = title[2] if title[0] == word.name else check_title(result)
    opening = [f"{marker}\n### {word.mark} {words(said[:1].upper() + said[1:])}", idle_jobs(result)]
    end = [_folded_reproduce(result), f"<sub>{compared(result)} · [full report]({page})</sub>"]
    return fitted(opening, _sections(result), end, page, limit_b)


def _folded_reproduce(result: CheckResult) -> str:
    command = reproduce(result)
    return f"<details><summary>Reproduce</summary>\n\n{command}\n\n</details>" if command else ""


def _sections(result: CheckResult) -> list[Section]:
    of = rows.by_verdict(result)
    improved = of(Verdict.IMPROVED)[::-1]
    open_ones = of(Verdict.INCONCLUSIVE)
    return [
        Section("Regressed", rows.HEAD, rows.changed(result, of(Verdict.REGRESSED))),
        Section("Fails on head", rows.HEAD_PLAIN, rows.without_change(result, of(Verdict.HEAD_FAILS))),
        Section(
            "Improved", rows.HEAD, rows.changed(result, improved), is_folded=len(improved) > OPEN_AT_MOST
        ),
        Section("Inconclusive", rows.HEAD_OPEN, rows.still_open(result, open_ones), is_folded=True),
        over_budget_before(result),
    ]
