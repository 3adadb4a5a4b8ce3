"""Alerts, or incidents of machines, as an issue of the repository, in Markdown; names are shown without any effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.domain.notifications import AlertItem, MachineItem, Message, What
from app.reports.alert_words import ALERTS, extent
from app.reports.machine_words import status_words as machine_status
from app.reports.notifications.sections import machine_sections
from app.reports.notifications.titles import counts_words, settled_words
from app.reports.pull_request.markdown import as_many_as_fit, code, words
from app.reports.text import plain, shorten

LIMIT_B = 50_000
LONGEST_TITLE = 200


def issue_marker(key: str) -> str:
    """Return the line that an issue of ours begins with, and that no reader sees."""
    return f"<!-- ratchet:{key} -->"


def issue_title(items: Sequence[AlertItem], project: str) -> str:
    """Return the title: what became worse, or how many alerts there are. GitHub shows it as it is, mentions aside."""
    told = (
        plain(items[0].sentence) if len(items) == 1 else f"{project}: {counts_words({What.NEW: len(items)})}"
    )
    return _title(told)


def machine_issue_title(first: Message) -> str:
    """Return the title: what the issue was opened with, as it was then."""
    return _title(first.title.removeprefix(f"{first.project}: "))


def _title(told: str) -> str:
    return shorten(plain(told), LONGEST_TITLE).replace("@", "@\u200b")


def issue_body(items: Sequence[AlertItem], marker: str) -> str:
    """Return what the issue says now."""
    note = "This issue is kept true and closed by Ratchet. Answer the alert there: what is written here stays here."
    return _body(map(_item, items), marker, note)


def machine_issue_body(message: Message, marker: str) -> str:
    """Return what an issue of incidents says now."""
    note = "This issue is kept true by Ratchet, and closed when all of it is over. No commit of yours is to blame."
    rows = (_machine(item, part.facts(item)) for part in machine_sections(message) for item in part.items)
    return _body(rows, marker, note)


def _body(rows: Iterable[str], marker: str, note: str) -> str:
    kept, left_out = as_many_as_fit(rows, LIMIT_B)
    more = [f"And {left_out} more."] if left_out else []
    return "\n\n".join([marker, *kept, *more, f"<sub>{note}</sub>"])


def _item(item: AlertItem) -> str:
    state = ALERTS[item.state].name
    lines = [f"### [Alert {item.alert}]({item.url}): {state}", f"{words(shorten(item.sentence, 300))}"]
    lines += [f"- {extent(item.n_changes, item.n_checks)} on {code(item.branch)}" if item.branch else ""]
    subject = f" {words(shorten(item.subject, 160))}" if item.subject else ""
    lines += [f"- last commit that it can have come with: {code(item.commit[:10])}{subject}"]
    lines += [f"- pull request #{item.pull}"] if item.pull is not None else []
    lines += [f"- for {words(', '.join(item.owners))}"] if item.owners else []
    lines += [f"- {state} {words(settled_words(item))}"] if item.what is What.SETTLED else []
    return "\n".join([lines[0], "", lines[1], "", *filter(None, lines[2:])])


def _machine(item: MachineItem, facts: str) -> str:
    status = machine_status(item.what, item.kind, item.ended_by)
    head = f"### [{words(shorten(item.name, 100))}]({item.url}): {status}"
    more = [f"- {words(text)}" for text in (item.meaning, item.advice) if text]
    return "\n".join([head, "", words(shorten(item.sentence, 300)), "", f"- {facts}", *more])
