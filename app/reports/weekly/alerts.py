"""Alerts of a week as people read them: what is open and how old, who has it, and how right the detector was."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from app.domain.alerts import OPEN_STATES
from app.domain.weekly_alerts import AGES, AlertsWeek, OpenAlert, Rate
from app.reports import quantities
from app.reports.alert_words import ALERTS, NOTHING_LEFT, check_title_sentence, worst_sentence
from app.reports.text import Name, name, plain
from app.reports.weekly.parts import Link, Rest, address, link, rest, share_bar, stacked_bar
from app.reports.words import count, listing


@dataclass(frozen=True)
class StateRow:
    """Open alerts in one state: how many of each age, and all of them."""

    state: Link
    meaning: str
    counts: tuple[str, ...]
    total: str
    picture: Markup


@dataclass(frozen=True)
class AlertRow:
    """One of the oldest open alerts."""

    title: Link
    project: Name
    state: str
    tone: str
    owner: Name
    age: str
    opened: str


@dataclass(frozen=True)
class RateLine:
    """A share with its interval, as text and picture."""

    title: str
    meaning: str
    text: str
    picture: Markup


@dataclass(frozen=True)
class AlertsView:
    """The section; `is_empty` where there never was an alert."""

    is_empty: bool
    headline: str
    ages: tuple[str, ...]
    states: tuple[StateRow, ...]
    oldest: tuple[AlertRow, ...]
    rest: Rest | None
    rates: tuple[RateLine, ...]


def alerts_view(week: AlertsWeek, base: str) -> AlertsView:
    """Return the section with links to the service at `base`."""
    return AlertsView(
        is_empty=not week,
        headline=_headline(week),
        ages=tuple(words for _, words in AGES),
        states=tuple(_state(week, state, base) for state in OPEN_STATES if week.ages.get(state)),
        oldest=tuple(_alert(one, week, base) for one in week.oldest),
        rest=rest(
            week.n_open - len(week.oldest),
            "open alert",
            "open alerts",
            address(base, "/alerts", state="open"),
        ),
        rates=tuple(_rates(week)),
    )


def _headline(week: AlertsWeek) -> str:
    again = f", {week.reopened} opened again" if week.reopened else ""
    ranked = sorted(week.closed.items(), key=lambda item: -item[1])
    closed = listing([f"{n} as {ALERTS[state].name}" for state, n in ranked])
    nobody = f", {week.n_unowned} of them nobody's" if week.n_unowned else ""
    return (
        f"{count(week.opened, 'alert')} opened in the week{again}, {week.n_closed} closed"
        f"{f': {closed}' if closed else ''}. {week.n_open} open now{nobody}."
    )


def _state(week: AlertsWeek, state: str, base: str) -> StateRow:
    word = ALERTS[state]
    counts = next(its for key, its in week.ages.items() if key == state)
    parts = [(words, n) for (_, words), n in zip(AGES, counts, strict=True)]
    return StateRow(
        state=link(word.name, base, "/alerts", state=state),
        meaning=word.meaning,
        counts=tuple(str(n) if n else "" for n in counts),
        total=str(sum(counts)),
        picture=stacked_bar(
            parts, shades="a", label=f"{word.name}: " + ", ".join(f"{n} {words}" for words, n in parts if n)
        ),
    )


def _alert(its: OpenAlert, week: AlertsWeek, base: str) -> AlertRow:
    word = ALERTS[its.state]
    return AlertRow(
        title=link(_title(its), base, f"/alerts/{its.id}"),
        project=name(its.project, 40),
        state=word.name,
        tone=word.tone,
        owner=name(its.owner or "nobody", 40),
        age=_age((week.now - its.opened_at).total_seconds()),
        opened=quantities.moment(its.opened_at),
    )


def _title(its: OpenAlert) -> str:
    if its.worst is not None:
        worst = its.worst
        return worst_sentence(
            worst.benchmark, worst.params, worst.metric, worst.change, max(0, its.n_changes - 1)
        )
    return check_title_sentence(its.check) if its.check else NOTHING_LEFT


def _age(seconds: float) -> str:
    days = int(seconds // 86_400)
    return count(days, "day") if days else "today"


def _rates(week: AlertsWeek) -> list[RateLine]:
    told = (
        ("Precision", "real, of those that people judged real or noise", week.precision),
        ("Recall", "found, of the real changes that people know of", week.recall),
    )
    return [_rate(title, meaning, rate) for title, meaning, rate in told if rate.share is not None]


def _rate(title: str, meaning: str, rate: Rate) -> RateLine:
    ends = ""
    if rate.low is not None and rate.high is not None:
        ends = f", 95 % interval {quantities.percent(rate.low).removesuffix(' %')} … {quantities.percent(rate.high)}"
    text = f"{quantities.percent(rate.share)} ({rate.k} of {rate.n}{ends})"
    return RateLine(
        title, plain(meaning), text, share_bar(rate.share, label=text, low=rate.low, high=rate.high)
    )
