"""Alerts as an issue of their repository, in Markdown; names are shown in it without any effect."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.notifications import AlertItem, What
from app.reports.alert_words import ALERTS, extent
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
    return shorten(plain(told), LONGEST_TITLE).replace("@", "@\u200b")


def issue_body(items: Sequence[AlertItem], marker: str) -> str:
    """Return what the issue says now."""
    rows, left_out = as_many_as_fit(map(_item, items), LIMIT_B)
    more = [f"And {left_out} more."] if left_out else []
    note = "This issue is kept true and closed by Ratchet. Answer the alert there: what is written here stays here."
    return "\n\n".join([marker, *rows, *more, f"<sub>{note}</sub>"])


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
