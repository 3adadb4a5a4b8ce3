"""What the sections of the weekly report share: links, device hours, money, bars, and what does not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from app.domain.weekly import Money
from app.reports import quantities
from app.reports.text import Name, name
from app.reports.weekly import amounts

MOST = 12
"""Rows of one table; the rest is counted."""

WIDTH = 120
"""Of a bar's picture [px]."""

_SHORT = 64
"""Characters of a name in a table."""

_KWH_J = 3.6e6


@dataclass(frozen=True)
class Link:
    """A name that leads somewhere; `title` is what a pointer that rests on it shows."""

    name: Name
    address: str
    title: str = ""


def link(text: str, base: str, path: str, /, **chosen: object) -> Link:
    """Return a name that leads to a page of the service: its `path`, with what is chosen there."""
    return Link(name(text, _SHORT), address(base, path, **chosen))


def address(base: str, path: str, /, **chosen: object) -> str:
    """Return the whole address of a page of the service at `base`; what is empty is left out."""
    told = {key: value for key, value in chosen.items() if value not in ("", None)}
    return f"{base.rstrip('/')}{path}" + (f"?{urlencode(told)}" if told else "")


@dataclass(frozen=True)
class Rest:
    """What a table leaves out, and where all of it is."""

    words: str
    address: str


def rest(n: int, one: str, many: str, where: str) -> Rest | None:
    """Return how many more there are; None for none."""
    return Rest(f"{n} more {one if n == 1 else many}", where) if n > 0 else None


def hours(seconds: float | None) -> str:
    """Return device time in hours: `412 h`, `3.5 h`, `0.05 h`, `0 h`; `–` where it is not known."""
    if seconds is None:
        return quantities.ABSENT
    value = seconds / 3600
    if value >= 100:
        return f"{amounts.grouped(value)} h"
    if value >= 0.95 or value == 0:
        return f"{quantities.trim(f'{value:.1f}')} h"
    return f"{value:.2g} h" if value >= 0.01 else "<0.01 h"


def money(amount: Money | None) -> str:
    """Return an amount with its currency; `–` where nobody stated a price."""
    return quantities.ABSENT if amount is None else amounts.money(amount)


def moneys(paid_in: Iterable[Money], *, unpriced_s: float = 0.0) -> str:
    """Return amounts of several currencies, and how much time has no price: `36 EUR + 2 USD, 4 h without a price`."""
    paid = " + ".join(map(money, paid_in))
    if not paid:
        return quantities.ABSENT
    return f"{paid}, {hours(unpriced_s)} without a price" if unpriced_s >= 36 else paid


def kwh(joules: float) -> str:
    """Return energy in kilowatt-hours."""
    return f"{quantities.factor(joules / _KWH_J)} kWh"


def share_bar(
    share: float | None, *, label: str, low: float | None = None, high: float | None = None
) -> Markup:
    """Return a share as a bar of its whole, with the range that it can lie in as a line; empty where it is not known.

    Args:
        share: from 0 to 1; what is above fills the bar.
        label: what it is, for whoever does not see it.
        low: where the range begins.
        high: where it ends.
    """
    if share is None:
        return Markup("")
    shapes = [
        Markup('<rect class="whole" width="{}" height="8" rx="2"/>').format(WIDTH),
        Markup('<rect class="part" width="{}" height="8" rx="2"/>').format(_x(share)),
    ]
    if low is not None and high is not None and high > low:
        shapes.append(
            Markup('<path class="range" d="M{0} 4H{1}M{0} 1v6M{1} 1v6"/>').format(_x(low), _x(high))
        )
    return Markup('<svg class="wk-bar" viewBox="0 0 {} 8" role="img"><title>{}</title>{}</svg>').format(
        WIDTH, label, Markup("").join(shapes)
    )


def stacked_bar(parts: Iterable[tuple[str, int]], *, label: str, shades: str = "s") -> Markup:
    """Return counts as parts of one bar, each of the class of `shades` by its place; empty where all are zero."""
    counts = list(parts)
    total, shapes, start = sum(n for _, n in counts), [], 0.0
    if not total:
        return Markup("")
    for place, (words, n) in enumerate(counts):
        width = 2 * WIDTH * n / total
        if n:
            shapes.append(
                Markup(
                    '<rect class="{}{}" x="{:.1f}" width="{:.1f}" height="12"><title>{}</title></rect>'
                ).format(shades, place, start, max(width - 1, 1), f"{words}: {n}")
            )
        start += width
    return Markup(
        '<svg class="wk-stack" viewBox="0 0 {} 12" preserveAspectRatio="none" role="img"><title>{}</title>{}</svg>'
    ).format(2 * WIDTH, label, Markup("").join(shapes))


def _x(share: float) -> int:
    return round(WIDTH * min(1.0, max(0.0, share)))
