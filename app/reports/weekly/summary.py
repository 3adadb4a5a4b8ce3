"""The weekly report on a terminal: the sentence, then a line a loss, a drift and a gain."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from app.domain.results import case_label
from app.domain.weekly import Money, Monthly
from app.reports import quantities
from app.reports.text import clip, fit, pad, plain
from app.reports.weekly import amounts

RED, GREEN, DIM, BOLD, END = "\033[31m", "\033[32m", "\033[2m", "\033[1m", "\033[0m"

Document = Mapping[str, Any]


def render_summary(document: Document, *, width: int, color: bool) -> str:
    """Return the summary of a report's document, each line of at most `width` columns."""
    paint = _Paint(color)
    name = document["project"] or "all projects"
    lines = [paint(DIM, clip(f"{plain(name)} · week {document['week']}", width)), ""]
    lines += [paint(BOLD, line) for line in textwrap.wrap(_bare(document["headline"]), width)]
    lines += textwrap.wrap(_bare(document["first"]), width)
    changes = document["changes"]
    lines += _block("Losses that stand", map(_cause, changes["waste"]), width, paint, RED)
    lines += _block("Slow drifts", map(_drift, changes["drifts"]), width, paint, RED)
    lines += _block("What got better", map(_cause, changes["gains"]), width, paint, GREEN)
    return "\n".join(lines) + "\n"


class _Paint:
    def __init__(self, is_on: bool) -> None:
        self._is_on = is_on

    def __call__(self, code: str, text: str) -> str:
        return f"{code}{text}{END}" if self._is_on and text else text


def _bare(text: str) -> str:
    """Return a sentence without the marks that keep the direction of names apart, which terminals may show."""
    return text.replace("\u2068", "").replace("\u2069", "")


def _block(
    title: str, rows: Iterable[tuple[str, str, str]], width: int, paint: _Paint, code: str
) -> Iterable[str]:
    told = list(rows)
    if not told:
        return
    yield ""
    yield paint(DIM, title)
    costs = max(len(cost) for _, _, cost in told)
    room = max(20, width - 12 - costs - 2)
    for what, change, cost in told:
        line = f"{pad(fit(what, room), room)} {paint(code, pad(change, 10, right=True))}"
        yield f"{line} {pad(cost, costs, right=True)}".rstrip()


def _cause(cause: Document) -> tuple[str, str, str]:
    moved = cause["series"][0]
    monthly = _monthly(cause["monthly"])
    told = amounts.amounts(monthly) if moved["effect"] > 0 else amounts.saved(monthly)
    return _what(moved, cause["commit"]["sha"][:10]), quantities.change(moved["change"]), _a_month(told)


def _drift(drift: Document) -> tuple[str, str, str]:
    moved = drift["moved"]
    told = amounts.amounts(_monthly(drift["monthly"]))
    return _what(moved, f"since {drift['since']}"), quantities.change(moved["change"]), _a_month(told)


def _what(moved: Document, when: str) -> str:
    series = moved["series"]
    case = plain(case_label(series["benchmark"], series["params"]))
    return f"{case}  {plain(series['metric'])} · {plain(series['device_class'])} · {when}"


def _a_month(told: tuple[str, ...]) -> str:
    return f"{told[0]} a month" if told else ""


def _monthly(document: Document | None) -> Monthly | None:
    if document is None:
        return None
    money = tuple(Money(each["amount"], each["currency"]) for each in document["money"])
    return Monthly(document["device_hours"], document["kwh"], money, tuple(document["basis"]))
