"""The one comment on a merged pull request: what was found to be worse since, where from, and what can be said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from app.domain.notices import CommitRange, Notice, NoticedChange
from app.domain.results import CommitRef, case_label
from app.reports import quantities
from app.reports.pull_request.check_text import LIMIT_B
from app.reports.pull_request.markdown import code, words
from app.reports.pull_request.tables import Section, fitted
from app.reports.text import shorten
from app.reports.words import count

RANGES = 5
"""So many different ranges of commits are listed, each with as many commits as it names."""

LONGEST_SUBJECT = 80

LEAST = 0.001
"""Of money or of device hours; what is less is not told with its digits."""

HOW = {"confirmed by later points": "later results"}
PAIRS = "measured in pairs"
AT_FIRST = "its results"


def notice_marker(repository: int, number: int) -> str:
    """Return the line that the comment begins with, and that no reader sees."""
    return f"<!-- ratchet:alert:{repository}:{number} -->"


def notice_body(notice: Notice, marker: str, address: str, *, limit_b: int = LIMIT_B) -> str:
    """Return the comment as Markdown in at most `limit_b` bytes, the worst change first.

    Args:
        notice: what is told.
        marker: the line that the comment begins with.
        address: where the service is.
        limit_b: how long it may be [B of UTF-8].
    """
    changes = sorted(notice.changes, key=_badness, reverse=True)
    standing = [change for change in changes if change.stands]
    taken_back = [change for change in changes if change.taken_back]
    accepted = [change for change in changes if change.acceptance and not change.taken_back]
    page = f"{address}/api/v1/changes?project={quote(notice.project, safe='')}"
    opening = [f"{marker}\n### {_title(standing, accepted)}", _where(standing or accepted, notice.branch)]
    sections = [
        _section("Worse", standing, address),
        _accepted(accepted, address),
        _taken_back(taken_back, address),
    ]
    end = [_what_can_be_said(standing), f"<sub>[all changes of {code(notice.project)}]({page})</sub>"]
    return fitted(opening, sections, end, page, limit_b)


def _badness(change: NoticedChange) -> tuple[float, int]:
    """Return how much worse it is: by the ratio of its levels, those without one last."""
    before, after = change.before, change.after
    if before is None or after is None or before * after <= 0:
        return -1.0, -change.series
    return abs(math.log(after / before)), -change.series


def _title(standing: Sequence[NoticedChange], accepted: Sequence[NoticedChange]) -> str:
    if standing:
        return words(f"✗ {_are_worse(standing)}")
    if accepted:
        return words(f"✓ Accepted: {_are_worse(accepted)}")
    return "✓ Taken back: nothing is known to be worse since this was merged"


def _are_worse(changes: Sequence[NoticedChange]) -> str:
    worst, n = changes[0], len(changes)
    are = f"{count(n, 'result')} {'is' if n == 1 else 'are'} worse since this was merged"
    size = f" {quantities.change(worst.change)}" if worst.change is not None else ""
    return f"{are} · {'worst ' if n > 1 else ''}{_name(worst)}{size}"


def _name(change: NoticedChange) -> str:
    return f"{case_label(change.benchmark, change.params)}/{change.metric}"


def _where(standing: Sequence[NoticedChange], branch: str) -> str:
    """Return which commits it came with: a sentence, or one for each range of them."""
    ranges = list(dict.fromkeys(change.range for change in standing))
    if not ranges:
        return ""
    known = f"Confirmed in the history of {code(branch)}. "
    more = [f"And {count(len(ranges) - RANGES, 'more range')} of commits."] if len(ranges) > RANGES else []
    return known + "\n\n".join([*map(_of_range, ranges[:RANGES]), *more])


def _of_range(its: CommitRange) -> str:
    if its.n == 1:
        return f"It came with {_commit(its.commit)}."
    if its.n is None:
        return (
            f"It came with {_commit(its.commit)}, or a commit between it and {code(its.previous[:10])}, "
            "which was measured before it."
        )
    left_out = its.n - len(its.commits)
    lines = [f"- {_commit(commit)}" for commit in its.commits]
    lines += [f"- and {count(left_out, 'more commit')} before"] if left_out else []
    of_these = f"It came with one of {its.n} commits. Only the newest, which this pull request brought, was measured:"
    return "\n".join([of_these, "", *lines])


def _commit(commit: CommitRef) -> str:
    subject = f" {words(shorten(commit.subject, LONGEST_SUBJECT))}" if commit.subject else ""
    return f"{code(commit.sha[:10])}{subject}"


def _section(title: str, changes: Sequence[NoticedChange], address: str) -> Section:
    """Return a table; a column in which nothing is known of any of them is left out."""
    has_cost = any(change.cost for change in changes)
    names = ["result", "before → after", "change", "interval", *["costs"] * has_cost, "confirmed by"]
    marks = ["---", "---:", "---:", "---:", *["---:"] * has_cost, "---"]
    rows = [_row(change, address, has_cost=has_cost) for change in changes]
    return Section(title, f"{_line(names)}\n{_line(marks)}", rows)


def _row(change: NoticedChange, address: str, *, has_cost: bool) -> str:
    levels = " → ".join(quantities.before_after(change.before, change.after, change.unit))
    numbers = [levels, f"**{quantities.change(change.change)}**", _interval(change)]
    cost = [_unbroken(_cost(change))] * has_cost
    return _line([_linked(change, address), *map(_unbroken, numbers), *cost, _how(change, address)])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _linked(change: NoticedChange, address: str) -> str:
    page = f"{address}/api/v1/series/{change.series}/changes"
    return f"[{code(_name(change))}]({page}) on {code(change.device_class)}"


def _interval(change: NoticedChange) -> str:
    return "exact" if change.is_exact else quantities.interval(change.ci_low, change.ci_high)


def _cost(change: NoticedChange) -> str:
    cost = change.cost
    if cost is None:
        return quantities.ABSENT
    if cost.money is None:
        return f"{_more(cost.device_hours)} device hours per {cost.per}"
    return f"{_more(cost.money)} {cost.currency} per {cost.per}"


def _more(value: float) -> str:
    if value < LEAST:
        return f"less than {LEAST}"
    return f"+{quantities.trim(f'{value:.3g}') if value < 1_000 else f'{value:.0f}'}"


def _how(change: NoticedChange, address: str) -> str:
    if change.reason.startswith(PAIRS):
        return f"[pairs]({address}/runs/{change.run})" if change.run is not None else "pairs"
    return HOW.get(change.reason, AT_FIRST)


def _accepted(changes: Sequence[NoticedChange], address: str) -> Section:
    names, marks = ["result", "change", "accepted by", "why"], ["---", "---:", "---", "---"]
    rows = [
        _line(
            [
                _linked(its, address),
                _unbroken(quantities.change(its.change)),
                code(said.by),
                words(said.reason),
            ]
        )
        for its in changes
        if (said := its.acceptance) is not None
    ]
    return Section("Accepted", f"{_line(names)}\n{_line(marks)}", rows)


def _taken_back(changes: Sequence[NoticedChange], address: str) -> Section:
    head = f"{_line(['result', 'told before', 'why it does not hold'])}\n{_line(['---', '---:', '---'])}"
    rows = [
        _line([_linked(its, address), _unbroken(quantities.change(its.change)), words(its.taken_back)])
        for its in changes
    ]
    return Section("Taken back", head, rows, is_folded=True)


def _unbroken(numbers: str) -> str:
    return numbers.replace(" ", "\u00a0")


def _what_can_be_said(standing: Sequence[NoticedChange]) -> str:
    if not standing:
        return ""
    return "If this is wanted, comment `/ratchet accept REASON`, and the new level is what counts."
