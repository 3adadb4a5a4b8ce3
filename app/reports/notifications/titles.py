"""What a message is in one line, and the words that all its forms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.notifications import AlertItem, MachineItem, What
from app.reports import machine_words, quantities
from app.reports.alert_words import ALERTS, extent
from app.reports.text import plain, shorten
from app.reports.words import count, listing

LONGEST_TITLE = 160

_WORDS: dict[str, str] = {
    What.NEW: "new",
    What.AGAIN: "back",
    What.WORSE: "worse",
    What.SETTLED: "settled",
    What.OPEN: "still open",
}


def title_of(project: str, counts: Mapping[str, int], items: Sequence[AlertItem]) -> str:
    """Return `acme/vision: new: resize latency_p50 +36 %`, or how many alerts there are of each kind."""
    name = shorten(plain(project), 60)
    if sum(counts.values()) == 1 and items:
        return shorten(f"{name}: {status_words(items[0])}: {plain(items[0].sentence)}", LONGEST_TITLE)
    return f"{name}: {counts_words(counts)}"


def machines_title(
    project: str, counts: Mapping[str, Mapping[str, int]], items: Sequence[MachineItem]
) -> str:
    """Return `acme/vision: agent edge-3 was lost …`, or how many incidents there are of each kind."""
    name = shorten(plain(project), 60)
    is_one = sum(n for kinds in counts.values() for n in kinds.values()) == 1
    told = plain(items[0].sentence) if is_one and items else machine_words.counts_words(counts)
    return shorten(f"{name}: {told}", LONGEST_TITLE)


def digest_title(
    project: str, counts: Mapping[str, int], machine_counts: Mapping[str, Mapping[str, int]]
) -> str:
    """Return `acme/vision: 2 new alerts, 1 device quarantined`."""
    machines = machine_words.counts_words(machine_counts)
    alerts = counts_words(counts) if counts or not machines else ""
    return f"{shorten(plain(project), 60)}: {', '.join(filter(None, (alerts, machines)))}"


def counts_words(counts: Mapping[str, int]) -> str:
    """Return `3 new alerts, 1 settled`."""
    told = [(n, _WORDS[what]) for what in What if (n := counts.get(what, 0))]
    if not told:
        return "no alerts"
    (n, first), *others = told
    noun = "alert" if n == 1 else "alerts"
    begin = f"{n:,} {first} {noun}".replace(",", " ")
    return listing([begin, *(f"{n:,} {word}".replace(",", " ") for n, word in others)])


def status_words(item: AlertItem) -> str:
    """Return what is said of an alert: `new`, `worse`, `fixed by ada`."""
    if item.what is What.SETTLED:
        return ALERTS[item.state].name
    return _WORDS[item.what]


def settled_words(item: AlertItem) -> str:
    """Return who settled an alert, and why."""
    who = "by itself" if item.by in ("", "ratchet") else f"by {plain(item.by)}"
    return f"{who}: {plain(item.comment)}" if item.comment else who


def facts(item: AlertItem) -> list[str]:
    """Return what else is to be known of an alert, each in a few words."""
    told = [extent(item.n_changes, item.n_checks)]
    told += [f"{plain(item.commit[:10])} {shorten(plain(item.subject), 80)}".strip()]
    told += [f"by {plain(item.author)}"] if item.author else []
    told += [f"on {plain(item.branch)}"] if item.branch else []
    told += [f"#{item.pull}"] if item.pull is not None else []
    told += [f"for {plain(listing(list(item.owners)))}"] if item.owners else []
    return [its for its in told if its]


def age_words(seconds: float) -> str:
    """Return how long an alert is open."""
    days = int(seconds // 86_400)
    return count(days, "day") if days else quantities.duration(seconds)
