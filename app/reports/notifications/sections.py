"""A message's alerts by what is said of them: the same parts in all of its forms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.notifications import AlertItem, Message, MessageKind, What
from app.reports.notifications.titles import age_words, facts
from app.reports.words import count

TITLES: dict[What, str] = {
    What.NEW: "New",
    What.AGAIN: "Back",
    What.WORSE: "Worse than it was",
    What.SETTLED: "Settled",
    What.OPEN: "Still open",
}


@dataclass(frozen=True)
class Section:
    """Alerts of which the same is said; without a title where a message has no parts."""

    title: str
    items: tuple[AlertItem, ...]
    message: Message

    def ages(self) -> dict[int, str]:
        """Return for how long each is open."""
        at = datetime.fromisoformat(self.message.at)
        return {
            item.alert: age_words((at - datetime.fromisoformat(item.opened_at)).total_seconds())
            for item in self.items
        }


def sections(message: Message) -> list[Section]:
    """Return the parts that have something in them; one without a title where a single alert is told."""
    if message.kind is MessageKind.ALERTS and len(message.items) == 1:
        return [Section("", message.items, message)]
    found = []
    for what, title in TITLES.items():
        items = tuple(item for item in message.items if item.what is what)
        if items:
            n = message.counts.get(what, len(items))
            found.append(
                Section(title if n == len(items) else f"{title} ({len(items)} of {n})", items, message)
            )
    return found


def left_out_words(message: Message) -> str:
    """Return how many alerts are told by their number alone, empty for none."""
    return f"And {count(message.left_out, 'more alert')}." if message.left_out > 0 else ""


def facts_of(item: AlertItem, age: str = "") -> list[str]:
    """Return what else is to be known of an alert."""
    told = facts(item)
    if item.what is What.OPEN:
        told += [f"open for {age}"] if age else []
        told += [] if item.owners else ["nobody's"]
    return told


def period_words(message: Message) -> str:
    """Return what a digest goes back to."""
    since = datetime.fromisoformat(message.since)
    return f"Since {since:%Y-%m-%d %H:%M} UTC."
