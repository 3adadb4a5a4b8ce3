"""A message's alerts, and its incidents of machines, by what is said of them: the same parts in all of its forms."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from app.domain.notifications import AlertItem, MachineItem, Message, MessageKind, What
from app.reports.notifications.titles import age_words, facts
from app.reports.text import plain
from app.reports.words import count, listing

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


MACHINE_TITLES: dict[What, str] = {
    What.NEW: "Machines",
    What.SETTLED: "Machines: over",
    What.OPEN: "Machines: not over yet",
}


@dataclass(frozen=True)
class MachineSection:
    """Incidents of which the same is said; without a title where a message tells of a single one."""

    title: str
    items: tuple[MachineItem, ...]
    at: str

    def facts(self, item: MachineItem) -> str:
        """Return since when it is so, or for how long it was."""
        opened = datetime.fromisoformat(item.opened_at)
        ended = datetime.fromisoformat(item.closed_at or self.at)
        age = age_words((ended - opened).total_seconds())
        since = f"since {opened:%Y-%m-%d %H:%M} UTC"
        if item.what is What.SETTLED:
            return f"it lasted {age}, {since}"
        return f"{since}, for {age}" if item.what is What.OPEN else since

    def said(self, item: MachineItem) -> str:
        """Return what is told of one, as a sentence by itself begins."""
        told = plain(item.sentence)
        return told[:1].upper() + told[1:]

    def follows(self, item: MachineItem) -> list[str]:
        """Return what follows from a new one and what to do, once for each kind: it is the same for all of a rack."""
        first = next(its for its in self.items if its.kind is item.kind)
        told = (item.meaning, item.advice) if item is first and item.what is What.NEW else ()
        return [text for text in told if text]


def machine_sections(message: Message) -> list[MachineSection]:
    """Return the parts that have something in them."""
    if message.kind is MessageKind.MACHINES and len(message.machines) == 1:
        return [MachineSection("", message.machines, message.at)]
    found = []
    for what, title in MACHINE_TITLES.items():
        items = tuple(item for item in message.machines if item.what is what)
        n = sum(message.machine_counts.get(what, {}).values())
        if items:
            head = title if n == len(items) else f"{title} ({len(items)} of {n})"
            found.append(MachineSection(head, items, message.at))
    return found


def left_out_words(message: Message) -> str:
    """Return how many alerts and incidents are told by their number alone, empty for none."""
    told = [
        count(n, noun)
        for n, noun in (
            (message.left_out, "more alert"),
            (message.machines_left_out, "more incident"),
        )
        if n > 0
    ]
    return f"And {listing(told)}." if told else ""


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
