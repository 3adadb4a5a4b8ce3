"""A check as plain text for a terminal: the verdict, a table by effect, what failed, what is still open.

Fits any width: columns that matter less leave first, names are cut in the middle. Colour is used only when asked
for, and only beside a mark and a word. Starts fast: no template engine, no table library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from app.domain.results import CheckResult, CommitRef
from app.domain.verdicts import Verdict
from app.reports import quantities
from app.reports.case_text import interval_text
from app.reports.ranking import (
    WITHOUT_EFFECT,
    Finding,
    exploratory,
    gating,
    job_label,
    with_verdict,
    worst_first,
)
from app.reports.text import clip, columns, fit, pad, plain, subject_line, tail
from app.reports.titles import check_title, could_hide, hidden_effect
from app.reports.troubles import Trouble, troubles
from app.reports.words import CONCLUSIONS, count, explain_flag, listing, word_of

QUIET_ROWS = 10
"""Rows without regression that are shown where there are many rows."""

MANY_ROWS = 30
"""From more rows than this only some of the quiet ones are shown."""

LOG_LINES = 15
"""Lines of a failure's log."""

LOGS = 3
"""Failures whose log is shown."""

OPEN_NAMED = 5
"""Inconclusive results that are named."""

_COLOURS = {"regressed": "31", "fails": "31", "improved": "36", "open": "33", "unmeasured": "33"}
_GAP = "  "
_LEAST_CASE = 16
_MOST_METRIC = 24


@dataclass(frozen=True)
class _Column:
    """A column: title, cells, alignment, and which leaves first when the line is too narrow (0 stays)."""

    title: str
    cells: tuple[str, ...]
    right: bool = False
    expendable: int = 0

    @property
    def width(self) -> int:
        return max(map(columns, (self.title, *self.cells)))


def render_check(result: CheckResult, *, width: int, color: bool, page: str | None = None) -> str:
    """Return a check as text that ends in a newline.

    Args:
        result: the check, complete or not.
        width: columns of the terminal; below 40 counts as 40.
        color: whether to mark verdicts with ANSI colours.
        page: the address of the check's page, if it has one.
    """
    room = max(width, 40)
    paint = _Paint(color)
    blocks = [
        _heading(result, room, paint),
        _table(result, room, paint),
        _failures(result, room, paint),
        _still_open(result, room),
        _notes(result, room),
        _where_to_go(result, page),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


@dataclass(frozen=True)
class _Paint:
    """Wraps text in ANSI colours, or does not."""

    is_on: bool

    def tone(self, text: str, tone: str) -> str:
        return self._wrap(text, _COLOURS.get(tone, ""))

    def bold(self, text: str, tone: str) -> str:
        return self._wrap(text, "1;" + _COLOURS[tone] if tone in _COLOURS else "1")

    def faint(self, text: str) -> str:
        return self._wrap(text, "2")

    def _wrap(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_on and code else text


def _heading(result: CheckResult, room: int, paint: _Paint) -> list[str]:
    word = CONCLUSIONS[result.conclusion]
    title = _wrapped(f"{word.mark} {plain(check_title(result))}", room)
    commits = [_commit("base", result.base), _commit("head", result.head)]
    return [
        *(paint.bold(line, word.tone) for line in title),
        *(paint.faint(clip(line, room)) for line in commits),
    ]


def _commit(role: str, commit: CommitRef) -> str:
    return f"  {role} {plain(commit.sha[:10])}  {subject_line(commit.subject)}".rstrip()


# --- the table ------------------------------------------------------------------------------------------------


def _table(result: CheckResult, room: int, paint: _Paint) -> list[str]:
    ranked = [f for f in gating(result) if f.case.verdict not in WITHOUT_EFFECT]
    shown = _shown(ranked)
    if not shown:
        return []
    fitted = _fitted(_table_columns(result, shown), room)
    lines = [paint.faint(_joined(fitted, [column.title for column in fitted]))]
    for index, finding in enumerate(shown):
        line = _joined(fitted, [column.cells[index] for column in fitted])
        lines.append(paint.tone(line, word_of(finding.case.verdict).tone))
    hidden = len(ranked) - len(shown)
    if hidden:
        show = "shows" if hidden == 1 else "show"
        lines += _wrapped(f"and {hidden} more {show} no regression, with smaller changes", room)
    return lines


def _joined(table: Sequence[_Column], cells: Sequence[str]) -> str:
    padded = (pad(cell, c.width, right=c.right) for c, cell in zip(table, cells, strict=True))
    return _GAP.join(padded).rstrip()


def _shown(ranked: Sequence[Finding]) -> list[Finding]:
    """Return the rows to print: all, or all but the quietest where there are many."""
    if len(ranked) <= MANY_ROWS:
        return list(ranked)
    quiet = [f for f in ranked if f.case.verdict is Verdict.NO_REGRESSION]
    largest = sorted(quiet, key=lambda f: -abs(f.effect or 0.0))[:QUIET_ROWS]
    return worst_first([f for f in ranked if f.case.verdict is not Verdict.NO_REGRESSION] + largest)


def _table_columns(result: CheckResult, shown: Sequence[Finding]) -> list[_Column]:
    def column(title: str, cells: Iterable[str], *, right: bool = False, expendable: int = 0) -> _Column:
        return _Column(title, tuple(cells), right, expendable)

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


def _fitted(table: list[_Column], room: int) -> list[_Column]:
    """Drop columns until the case column has room, then cut its cells to what is left."""
    while _room_for_case(table, room) < min(_LEAST_CASE, table[1].width):
        expendable = [column for column in table if column.expendable]
        if not expendable:
            break
        table = [column for column in table if column is not min(expendable, key=lambda c: c.expendable)]
    width = max(_room_for_case(table, room), 4)
    case = table[1]
    cut = _Column(case.title, tuple(fit(cell, width) for cell in case.cells))
    return [table[0], cut, *table[2:]]


def _room_for_case(table: Sequence[_Column], room: int) -> int:
    others = [column.width for column in table if column is not table[1]]
    return room - sum(others) - len(_GAP) * (len(table) - 1)


# --- what the table does not say ------------------------------------------------------------------------------


def _failures(result: CheckResult, room: int, paint: _Paint) -> list[str]:
    lines = []
    for index, trouble in enumerate(troubles(result)):
        lines += [paint.tone(line, trouble.word.tone) for line in _wrapped(_told(trouble), room)]
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
    return [f"still open: {count(len(found), 'result')}", *(fit(f"  {line}", room) for line in lines)]


def _notes(result: CheckResult, room: int) -> list[str]:
    lines = [
        line
        for note in result.notes
        for line in _wrapped(f"note: {plain(note.flag)}: {plain(note.message)}", room)
    ]
    flagged = Counter(flag for f in gating(result) for flag in f.case.flags)
    for flag, number in sorted(flagged.items()):
        lines += _wrapped(f"note on {count(number, 'result')}: {plain(explain_flag(flag))}", room)
    shown = len(exploratory(result))
    if shown:
        lines.append(f"{count(shown, 'exploratory metric')} {'is' if shown == 1 else 'are'} in the report")
    return lines


def _where_to_go(result: CheckResult, page: str | None) -> list[str]:
    """Return what is to be copied, and so is never cut."""
    pointers = {"page": page or "", "reproduce": result.reproduce}
    return [f"{name}: {plain(text)}" for name, text in pointers.items() if text]


def _wrapped(text: str, room: int) -> list[str]:
    return [fit(line, room) for line in wrap(text, room, subsequent_indent="  ")]
