"""A check as plain text for a terminal: the verdict, a table by effect, what failed, what is still open.

Fits any width: columns that matter less leave first, names are cut in the middle. Colour is used only when asked
for, and only beside a mark and a word. Starts fast: no template engine, no table library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from app.domain.results import CheckResult, CommitRef
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.case_text import interval_text
from app.reports.grid import (
    LEAST_WIDTH,
    Column,
    Paint,
    column,
    styles_of,
    verdict_table,
    without_quietest,
    wrapped,
)
from app.reports.ranking import WITHOUT_EFFECT, Finding, exploratory, gating, job_label, with_verdict
from app.reports.text import clip, fit, plain, subject_line, tail
from app.reports.titles import check_title, could_hide, hidden_effect
from app.reports.troubles import Trouble, troubles
from app.reports.words import CONCLUSIONS, count, explain, explain_flag, listing, word_of

LOG_LINES = 15
"""Lines of a failure's log."""

LOGS = 3
"""Failures whose log is shown."""

OPEN_NAMED = 5
"""Inconclusive results that are named."""

_MOST_METRIC = 24


def render_check(result: CheckResult, *, width: int, color: bool, page: str | None = None) -> str:
    """Return a check as text that ends in a newline.

    Args:
        result: the check, complete or not.
        width: columns of the terminal, below 40 counts as 40.
        color: whether to mark verdicts with ANSI colours.
        page: the address of the check's page, if it has one.
    """
    room = max(width, LEAST_WIDTH)
    paint = Paint(color)
    blocks = [
        _heading(result, room, paint),
        _table(result, room, paint),
        _failures(result, room, paint),
        _still_open(result, room),
        _notes(result, room),
        _where_to_go(result, page),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _heading(result: CheckResult, room: int, paint: Paint) -> list[str]:
    word = CONCLUSIONS[result.conclusion]
    title = wrapped(f"{word.mark} {plain(check_title(result))}", room)
    commits = [_commit("base", result.base), _commit("head", result.head)]
    return [
        *(paint(line, "bold", *styles_of(word.tone)) for line in title),
        *(paint(clip(line, room), "faint") for line in commits),
    ]


def _commit(role: str, commit: CommitRef) -> str:
    return f"  {role} {plain(commit.sha[:10])}  {subject_line(commit.subject)}".rstrip()


# --- the table ------------------------------------------------------------------------------------------------


def _table(result: CheckResult, room: int, paint: Paint) -> list[str]:
    ranked = [f for f in gating(result) if f.case.verdict not in WITHOUT_EFFECT]
    shown = without_quietest(ranked, lambda f: f.case.verdict, lambda f: f.effect)
    if not shown:
        return []
    verdicts = [f.case.verdict for f in shown]
    return verdict_table(_table_columns(result, shown), verdicts, len(ranked) - len(shown), room, paint)


def _table_columns(result: CheckResult, shown: Sequence[Finding]) -> list[Column]:
    cases = [f.case for f in shown]
    return [
        column("", (word_of(case.verdict).mark for case in cases)),
        column("case", (_where(result, f) for f in shown)),
        column("metric", (fit(plain(case.metric), _MOST_METRIC) for case in cases), expendable=5),
        column("base → head", (_values(f) for f in shown), right=True, expendable=2),
        column("change", (quantities.change(case.change) for case in cases), right=True),
        column("interval", (interval_text(case) for case in cases), right=True, expendable=4),
        column("pairs", (str(case.n_pairs) for case in cases), right=True, expendable=3),
        column("grade", (plain(case.grade or quantities.ABSENT) for case in cases), expendable=1),
        column("verdict", (word_of(case.verdict).name for case in cases)),
    ]


def _where(result: CheckResult, finding: Finding) -> str:
    label = plain(finding.label)
    job = plain(job_label(result, finding.suite))
    return f"{label} ({job})" if job else label


def _values(finding: Finding) -> str:
    case = finding.case
    return " → ".join(quantities.before_after(*case.levels, case.unit))


# --- what the table does not say ------------------------------------------------------------------------------


def _failures(result: CheckResult, room: int, paint: Paint) -> list[str]:
    lines = []
    for index, trouble in enumerate(troubles(result)):
        styles = styles_of(trouble.word.tone)
        lines += [paint(line, *styles) for line in wrapped(_told(trouble), room)]
        if trouble.log and index < LOGS:
            lines += [
                f"    {fit(line, room - 4)}" for line in tail(trouble.log, 4_000).splitlines()[-LOG_LINES:]
            ]
    return lines


def _told(trouble: Trouble) -> str:
    names = [name.shown for name in trouble.names[:3]]
    more = trouble.count - len(names)
    told = listing(names + ([f"{more} more"] if more else []))
    reason = f" ({trouble.reason})" if trouble.reason else ""
    return f"{trouble.word.mark} {trouble.word.name}: {told}{reason}"


def _still_open(result: CheckResult, room: int) -> list[str]:
    found = with_verdict(result, Verdict.INCONCLUSIVE)
    if not found:
        return []
    widest = sorted(found, key=hidden_effect, reverse=True)
    lines = [f"? {plain(f.name)} {could_hide(f.case.could_hide)}" for f in widest[:OPEN_NAMED]]
    if len(found) > OPEN_NAMED:
        lines.append(f"  and {len(found) - OPEN_NAMED} more")
    reasons = dict.fromkeys(plain(explain(f.case.reason)) for f in found if f.case.reason)
    why = f" ({'; '.join(reasons)})" if reasons else ""
    head = wrapped(f"still open: {count(len(found), 'result')}{why}", room)
    return [*head, *(fit(f"  {line}", room) for line in lines)]


def _notes(result: CheckResult, room: int) -> list[str]:
    lines = [
        line
        for note in result.notes
        for line in wrapped(f"note: {plain(note.flag)}: {plain(note.message)}", room)
    ]
    flagged = Counter(flag for f in gating(result) for flag in f.case.flags)
    for flag, number in sorted(flagged.items()):
        lines += wrapped(f"note on {count(number, 'result')}: {plain(explain_flag(flag))}", room)
    shown = len(exploratory(result))
    if shown:
        lines.append(f"{count(shown, 'exploratory metric')} {'is' if shown == 1 else 'are'} in the report")
    return lines


def _where_to_go(result: CheckResult, page: str | None) -> list[str]:
    """Return what is to be copied, and so is never cut."""
    pointers = {"page": page or "", "reproduce": result.reproduce}
    return [f"{name}: {plain(text)}" for name, text in pointers.items() if text]
