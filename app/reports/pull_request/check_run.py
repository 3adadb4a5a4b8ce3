"""What a check on a commit says, whatever there is to say: how it stands, its verdict, or why there is none."""

from __future__ import annotations

from dataclasses import replace

from app.domain.commands import APPROVE_BUTTON
from app.domain.forge import CheckOutcome, CheckState, CheckText
from app.domain.results import CheckResult
from app.domain.verdicts import Conclusion
from app.reports.pull_request.annotations import annotations_of
from app.reports.pull_request.approval import approval_summary, approval_title
from app.reports.pull_request.check_text import check_summary, rests_on_rough_machines
from app.reports.pull_request.markdown import code, words
from app.reports.text import shorten
from app.reports.titles import check_title

NAME = "ratchet"
"""What the check is called on the forge; branch protection refers to it."""

LONGEST_TITLE = 250
LONGEST_LINE, MOST_LINES = 500, 50
"""Of what is said of a head that is not measured."""

OUTCOMES = {
    Conclusion.PASSED: CheckOutcome.SUCCESS,
    Conclusion.REGRESSED: CheckOutcome.FAILURE,
    Conclusion.INCONCLUSIVE: CheckOutcome.NEUTRAL,
    Conclusion.NOT_MEASURED: CheckOutcome.NEUTRAL,
}


def run_of_check(result: CheckResult, page: str, *, strict: bool) -> CheckText:
    """Return how a check stands, or its verdict; `page` is where more is to be read."""
    state, outcome = _standing(result, strict=strict)
    return CheckText(
        name=NAME,
        sha=result.head.sha,
        key="",
        state=state,
        title=check_title(result)[:LONGEST_TITLE],
        summary=check_summary(result, page),
        url=page,
        outcome=outcome,
        annotations=annotations_of(result) if result.conclusion is not None else (),
    )


def _standing(result: CheckResult, *, strict: bool) -> tuple[CheckState, CheckOutcome | None]:
    if result.conclusion is None:
        return (CheckState.IN_PROGRESS if result.state == "running" else CheckState.QUEUED), None
    outcome = OUTCOMES[result.conclusion]
    if outcome is CheckOutcome.FAILURE and rests_on_rough_machines(result):
        outcome = CheckOutcome.NEUTRAL
    if strict and outcome is CheckOutcome.NEUTRAL:
        outcome = CheckOutcome.FAILURE
    return CheckState.COMPLETED, outcome


def accepted_run(text: CheckText, by: str, why: str) -> CheckText:
    """Return a check that does not pass by itself as one that somebody lets pass."""
    return replace(
        text,
        outcome=CheckOutcome.SUCCESS,
        annotations=(),
        title=f"accepted by {by}: {text.title}"[:LONGEST_TITLE],
        summary=f"Accepted by {code(by)}: {words(why)}\n\n{text.summary}",
    )


def ended_run(sha: str, why: str, page: str) -> CheckText:
    """Return what is said of a check that is not gone on with."""
    return _completed(sha, CheckOutcome.CANCELLED, why, words(why), url=page)


def untaken_run(sha: str, why: str) -> CheckText:
    """Return what is said of a head of which nothing is measured, and why."""
    title = f"not measured: {why.partition(chr(10))[0]}"[:LONGEST_TITLE]
    lines = [f"- {words(shorten(line, LONGEST_LINE))}" for line in why.splitlines()[:MOST_LINES]]
    return _completed(sha, CheckOutcome.NEUTRAL, title, "\n".join(lines))


def unapproved_run(sha: str, base_ref: str) -> CheckText:
    """Return what is said of a fork's head before somebody lets it run."""
    title, summary = approval_title(sha), approval_summary(sha, base_ref)
    text = _completed(sha, CheckOutcome.ACTION_REQUIRED, title, summary)
    return replace(text, buttons=(APPROVE_BUTTON,))


def _completed(sha: str, outcome: CheckOutcome, title: str, summary: str, url: str = "") -> CheckText:
    return CheckText(
        name=NAME,
        sha=sha,
        key="",
        state=CheckState.COMPLETED,
        title=title,
        summary=summary,
        url=url,
        outcome=outcome,
    )
