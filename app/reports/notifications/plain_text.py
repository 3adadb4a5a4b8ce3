"""A message as plain text: the body of a mail, and what a terminal shows."""

from __future__ import annotations

from app.domain.notifications import AlertItem, Message, MessageKind, What
from app.reports.notifications.sections import Section, facts_of, left_out_words, period_words, sections
from app.reports.notifications.titles import settled_words, status_words
from app.reports.text import plain, plain_lines

NOTHING = "Nothing happened, and nothing is open."


def message_text(message: Message) -> str:
    """Return the message in lines."""
    if message.kind in (MessageKind.REPORT, MessageKind.TEST):
        return "\n".join([plain(message.title), "", *plain_lines(message.text), "", message.url, ""])
    parts = [plain(message.title), *([period_words(message)] if message.since else []), ""]
    for section in sections(message):
        parts += _section(section)
    if not message.items:
        parts += [NOTHING, ""]
    if left := left_out_words(message):
        parts += [left, ""]
    return "\n".join([*parts, f"All alerts: {message.url}" if len(message.items) != 1 else message.url, ""])


def _section(section: Section) -> list[str]:
    ages = section.ages()
    head = [f"{section.title}:", ""] if section.title else []
    return [*head, *(line for item in section.items for line in (*_item(item, ages[item.alert]), ""))]


def _item(item: AlertItem, age: str) -> list[str]:
    lines = [f"{status_words(item)}: {plain(item.sentence)}", f"  {' · '.join(facts_of(item, age))}"]
    if item.what is What.SETTLED:
        lines.append(f"  {settled_words(item)}")
    return [*lines, f"  {item.url}"]
